// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>

namespace headroom {

/// A reason for which a device runs below the clocks that it could have: bits of DeviceNoise::throttle.
/// Source: nvmlClocksEventReason* of NVIDIA's NVML, whose numbers these are (nvmlClocksThrottleReason* in
/// drivers before 535).
struct ThrottleReason {
  std::uint32_t bit;
  const char* name;
  bool is_chosen;  ///< somebody asked for these clocks: they do not come and go with heat and power
};

inline constexpr std::array<ThrottleReason, 8> kThrottleReasons{{
    {0x002, "application clocks", true},
    {0x004, "power cap", false},
    {0x008, "hardware slowdown", false},
    {0x010, "sync boost", true},
    {0x020, "software thermal slowdown", false},
    {0x040, "hardware thermal slowdown", false},
    {0x080, "power brake", false},
    {0x100, "display clocks", true},
}};

/// Not a reason to distrust a sample: nothing runs on the device.
inline constexpr std::uint32_t kDeviceIdle = 0x001;

/// Whether heat, power or the hardware held the clocks down.
constexpr bool is_throttled(std::uint32_t reasons) {
  for (const ThrottleReason& reason : kThrottleReasons) {
    if (!reason.is_chosen && (reasons & reason.bit) != 0) return true;
  }
  return false;
}

}  // namespace headroom
