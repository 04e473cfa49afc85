// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "headroom_trace/columns/trace.h"
#include "headroom_trace/work/idle_culprits.h"

namespace headroom::trace {

/// Holistic Trace Analysis' cause of a gap. What the host did in it: idle_culprits.
enum class HtaIdleCause : std::uint8_t {
  kHostWait,    ///< the next launch began after the work before it had ended: the host was late
  kKernelWait,  ///< launched in time, and the gap is shorter than the threshold: the cost of one after
                ///< another
  kOther        ///< launched in time, a longer gap: it waited for another stream, an event, a copy
};
inline constexpr std::size_t kHtaIdleCauses = 3;
const char* to_string(HtaIdleCause cause);

/// HTA's default of 30: its help calls it nanoseconds, its times are microseconds.
inline constexpr std::int64_t kHtaThresholdNs = 30'000;

/// `launch` is launches(trace). Work without a launch in the file is never kHostWait; the length alone
/// decides between the other two causes.
HtaIdleCause hta_idle_cause(const Trace& trace, const IdleGap& gap, std::span<const std::uint32_t> launch,
                            std::int64_t threshold_ns = kHtaThresholdNs);

}  // namespace headroom::trace
