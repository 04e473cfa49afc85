// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "headroom_trace/columns/trace.h"
#include "headroom_trace/timeline/rank_timeline.h"
#include "headroom_trace/timeline/timeline.h"

namespace headroom::trace {

/// Sums host time by stacks of open names: a node for each path of names, over all threads and steps.
class StackSums {
 public:
  explicit StackSums(const Trace& trace);

  /// Adds the events of one thread, sorted. Counts only operators, calls, annotations and Python functions.
  void add_thread(std::span<const LaneEvent> events);
  /// Returns the tree with device time where it was launched. `launch` is launches(trace). Of more than
  /// `most` nodes, keeps those with the largest share of either time, and their ancestors.
  FlameTree take_tree(std::span<const std::uint32_t> launch, std::size_t most);

 private:
  std::uint32_t child(std::uint32_t parent, std::uint32_t event);
  std::uint32_t name_of(std::uint32_t event);
  void grow();

  const Trace& trace_;
  FlameTree tree_;
  std::vector<std::uint32_t> slots_;  ///< nodes by parent and name; open addressing, kNone: free
  std::vector<std::uint32_t> names_;  ///< by name of the trace: name in the tree; kNone: not seen
  std::unordered_map<std::string, std::uint32_t> changed_;  ///< names that differ from the trace's
  std::vector<std::uint32_t> node_of_event_;                ///< by row of Trace::events; kNone: none
};

/// Returns the modules (nn.Module) of a trace with the host time of their calls and the device time below
/// them; autograd's counts at its forward operator (python_work). Empty without modules. Needs those of
/// python_work.
FlameTree module_tree(const Trace& trace, std::size_t most);

}  // namespace headroom::trace
