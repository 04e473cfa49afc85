// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "headroom/trace/columns/trace.h"

namespace headroom::trace {

/// The calls of the host as torch.profiler sees them: operators, annotations, and calls of the runtime and
/// the driver, nested by time on each thread, with the GPU work that each launched. Columns by event of the
/// trace; kNone and zeros for events that are no calls.
struct OpTree {
  std::vector<std::uint32_t> calls;           ///< the events that are calls, parents before children
  std::vector<std::uint32_t> parent;          ///< the innermost call that encloses it
  std::vector<std::int64_t> self_ns;          ///< its time without its children's
  std::vector<std::int64_t> device_ns;        ///< GPU work that it launched itself
  std::vector<std::int64_t> device_total_ns;  ///< and that its children did
  /// The call that stands for it: itself, or its parent's stand-in where it is the only child of a parent of
  /// the same name (aten::arange in aten::arange), which torch counts as one call, and for the profiler's
  /// own.
  std::vector<std::uint32_t> stand_in;
  std::int64_t unattributed_device_ns = 0;  ///< GPU work of which no launching call is in the file
};

/// Needs kLaunches and kOps.
OpTree op_tree(const Trace& trace);

}  // namespace headroom::trace
