// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "headroom/trace/tables/data_table.h"
#include "headroom/trace/work/allocations.h"

namespace headroom::trace {

/// Whether any allocation of the file says which lines of Python made it.
bool has_memory_stacks(const Trace& trace);

/// What each device held at the moment of its peak, by the stack that allocated it. The bytes of a device sum
/// to its peak; what was held before the file begins has a row without a stack. The first `top` rows of each
/// device, and one of what all others held; 0: all.
DataTable peak_stacks_table(const Trace& trace, const MemoryHistory& history, std::size_t top);
/// What was allocated in the file and is not freed in it, by stack, and when. Rows as those of the peak.
DataTable leaks_table(const Trace& trace, const MemoryHistory& history, std::size_t top);
/// The segments in the end: what is in use, and in which pieces the rest is. Sums to what is reserved.
DataTable pools_table(const Trace& trace);

}  // namespace headroom::trace
