// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>

#include "headroom/experiment/buffer.h"
#include "headroom/experiment/state.h"

namespace headroom::native {

/// How a bandwidth limit walks over its memory: an iteration makes `passes` passes over working sets of
/// `bytes`, so that starting and joining the threads costs nothing beside them. When hot, all passes are over
/// the one working set; when cold, each is over the next of the copies that together exceed twice the
/// last-level cache.
struct LimitPlan {
  std::size_t bytes = 0;   ///< what one pass touches: whole lines, not more than was asked for
  std::size_t stride = 0;  ///< from the start of one pass to that of the next; 0 when hot
  std::size_t passes = 1;
  std::size_t iterations = 1;  ///< that State::measure cycles through
  std::shared_ptr<Buffer> memory;

  /// Start of the memory of iteration `index`.
  std::byte* start(std::size_t index) const { return memory->data() + index * passes * stride; }
  double bytes_per_iteration() const { return static_cast<double>(bytes) * static_cast<double>(passes); }
};

/// Plans for the axis `bytes`, rounded down to a multiple of `unit` bytes. Skips the case when that leaves
/// nothing, or when memory does not suffice. The memory is shared with the other limits that need as much.
LimitPlan plan_limit(State& state, std::size_t unit);

}  // namespace headroom::native
