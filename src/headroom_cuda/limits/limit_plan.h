// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "headroom/experiment/state.h"
#include "headroom_cuda/device/device_buffer.h"
#include "headroom_cuda_device/device.h"

namespace headroom::cuda {

/// How a bandwidth limit uses its memory: an iteration makes `passes` passes over working sets of `bytes`, so
/// that starting and ending a kernel costs little beside them. When hot, all passes are over the one working
/// set; when cold, each is over the next of the copies that together exceed twice the L2.
struct LimitPlan {
  std::size_t bytes = 0;   ///< what one pass touches: whole units, not more than was asked for
  std::size_t stride = 0;  ///< from the start of one pass to that of the next; 0 when hot
  std::size_t passes = 1;
  std::shared_ptr<DeviceBuffer> memory;

  /// Start of the memory of input copy `copy`, one for each iteration in turn.
  std::byte* start(std::size_t copy) const { return memory->data() + copy * passes * stride; }
  double bytes_per_iteration() const { return static_cast<double>(bytes) * static_cast<double>(passes); }
};

/// Plans for the axis `bytes`, rounded down to a multiple of `unit`. Skips the case when that leaves nothing,
/// or when the device's memory does not suffice. The memory is shared with the other limits that need as
/// much.
LimitPlan plan_limit(State& state, std::size_t unit);

/// The sum, modulo 2^32, of the words that `bytes` (a multiple of 16) at `from` hold now, as the device reads
/// them.
std::uint32_t sum_on_device(const State& state, const Device& device, const std::byte* from,
                            std::size_t bytes);

}  // namespace headroom::cuda
