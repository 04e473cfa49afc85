// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "headroom/trace/columns/trace.h"
#include "headroom/trace/timeline/lanes.h"
#include "headroom/trace/timeline/timeline.h"

namespace headroom::trace {

/// Sums what the threads of the host did by the names that were open: a node for each path of names, of all
/// threads and steps together.
class StackSums {
 public:
  explicit StackSums(const Trace& trace);

  /// The events of one thread, sorted. What is no operator, call, annotation or function of Python is left
  /// out.
  void add_thread(std::span<const LaneEvent> events);
  /// The tree, with the time of the devices where it was launched. `launch` is launches(trace). Of more than
  /// `most` nodes those with the largest share of either time stay, and what is around them.
  FlameTree take_tree(std::span<const std::uint32_t> launch, std::size_t most);

 private:
  std::uint32_t child(std::uint32_t parent, std::uint32_t event);
  std::uint32_t name_of(std::uint32_t event);
  void grow();

  const Trace& trace_;
  FlameTree tree_;
  std::vector<std::uint32_t> slots_;  ///< nodes by parent and name: open addressing, kNone is free
  std::vector<std::uint32_t> names_;  ///< by name of the trace: of the tree; kNone: not seen
  std::unordered_map<std::string, std::uint32_t> changed_;  ///< names that are not as the trace has them
  std::vector<std::uint32_t> node_of_event_;                ///< by row of Trace::events; kNone: none
};

/// The modules (nn.Module) of a trace with the host time of their calls and the device time below them, that
/// of autograd where its forward operator was called (python_work); without nodes where the trace knows of
/// none. Needs what python_work needs.
FlameTree module_tree(const Trace& trace, std::size_t most);

}  // namespace headroom::trace
