// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "headroom/trace/columns/attribution.h"
#include "headroom/trace/columns/trace.h"

namespace headroom::trace {

/// What a thread of the host does at a moment.
enum class HostDoing : std::uint8_t {
  kDataLoading,      ///< inside the annotation of a DataLoader
  kAllocation,       ///< cudaMalloc, cudaFree and their like: of the device's memory, or pinned
  kCompilation,      ///< torch.compile at work
  kCollector,        ///< Python's garbage collector
  kSynchronisation,  ///< a call that waits for the device
  kLaunch,           ///< a call of the runtime or driver; also from the launch to the start of its work
  kOperator,         ///< an operator of the framework, beside its calls of the runtime
  kProgram,          ///< a function of Python or an annotation of the program, beside its operators
  kNotRecorded,      ///< nothing of the thread is in the file
  kNotTheHost        ///< launched in time: the device waited for another stream, an event, or itself
};
inline constexpr std::size_t kHostDoings = 10;
/// "data loading"
const char* to_string(HostDoing doing);

/// What each event of the host is, by row of Trace::events; what an event that says nothing of itself is in
/// (a DataLoader, a compilation) it is, too. kNotRecorded for what is none of the host's, and for the steps.
std::vector<HostDoing> host_doings(const Trace& trace, const HostOrder& host);

/// Where a piece of host time belongs in tables: the outermost operator around the event; without one the
/// innermost function or annotation of the program, the steps excepted. kNone where there is neither.
std::uint32_t site_of(const Trace& trace, const std::vector<std::uint32_t>& parent, std::uint32_t event);

/// True for the calls that allocate or free memory of a device, or pinned memory.
bool is_allocation_call(std::string_view name);

}  // namespace headroom::trace
