// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tuple>
#include <utility>

#include "headroom/record/record.h"

namespace headroom::record_json {

// What the kernel and a device said of the samples of a process, by the names of the columns in a headroom
// file.

inline constexpr std::tuple kNoiseColumns{
    std::pair{"steal_ms", &SampleNoise::steal_ms},
    std::pair{"involuntary_switches", &SampleNoise::involuntary_switches},
    std::pair{"page_faults", &SampleNoise::page_faults},
    std::pair{"frequency_mhz", &SampleNoise::frequency_mhz},
    std::pair{"placement_ns", &SampleNoise::placement_ns}};
inline constexpr std::tuple kDeviceColumns{
    std::pair{"sm_mhz", &DeviceNoise::sm_mhz}, std::pair{"memory_mhz", &DeviceNoise::memory_mhz},
    std::pair{"power_w", &DeviceNoise::power_w}, std::pair{"temperature_c", &DeviceNoise::temperature_c},
    std::pair{"throttle", &DeviceNoise::throttle}};

}  // namespace headroom::record_json
