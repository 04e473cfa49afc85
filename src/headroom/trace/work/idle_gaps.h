// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "headroom/trace/columns/trace.h"

namespace headroom::trace {

/// Why nothing ran before a piece of work: what the host did, not what the device could have done.
enum class IdleCause : std::uint8_t {
  kHostWait,    ///< its launch began after the work before it had ended: the host was late
  kKernelWait,  ///< launched in time, and the gap is shorter than the threshold: the cost of one after
                ///< another
  kOther        ///< launched in time, a longer gap: it waited for another stream, an event, a copy
};
const char* to_string(IdleCause cause);

/// A time in which none of some rows runs, between two of them.
struct IdleGap {
  std::int64_t start_ns = 0, end_ns = 0;
  std::uint32_t before = 0;  ///< row of Trace::gpu that ended at start_ns
  std::uint32_t next = 0;    ///< row of Trace::gpu that starts at end_ns
  IdleCause cause = IdleCause::kOther;
  std::int64_t length_ns() const { return end_ns - start_ns; }
};

/// The gaps between `rows` (of Trace::gpu, by start): from the latest end so far to the next start after it,
/// so that work inside longer work makes no gap. `launch` is what launches() gave. Work whose launch is not
/// in the file cannot be a host wait; the other two causes are told by the length alone.
std::vector<IdleGap> idle_gaps(const Trace& trace, std::span<const std::uint32_t> rows,
                               std::span<const std::uint32_t> launch, std::int64_t threshold_ns);

}  // namespace headroom::trace
