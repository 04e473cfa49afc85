// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "headroom_trace/columns/trace.h"
#include "headroom_trace/work/idle_culprits.h"

namespace headroom::trace {

enum class HtaIdleCause : std::uint8_t {
  kHostWait,    ///< launched after the previous work had ended
  kKernelWait,  ///< shorter than the threshold
  kOther        ///< waits for a stream, an event, a copy
};
inline constexpr std::size_t kHtaIdleCauses = 3;
const char* to_string(HtaIdleCause cause);

/// HTA's default of 30: its help says nanoseconds, its times are microseconds.
inline constexpr std::int64_t kHtaThresholdNs = 30'000;

/// `launch` is launches(trace). Work without a known launch is never kHostWait.
HtaIdleCause hta_idle_cause(const Trace& trace, const IdleGap& gap, std::span<const std::uint32_t> launch,
                            std::int64_t threshold_ns = kHtaThresholdNs);

}  // namespace headroom::trace
