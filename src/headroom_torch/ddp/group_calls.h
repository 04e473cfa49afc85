// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "headroom_torch/ddp/work_clock.h"
#include "headroom_torch/dtensor/world.h"

namespace headroom::torch_runner {

/// A collective on its way.
class PendingCall {
 public:
  /// Until it is done; on a GPU what is given to the current stream from now on waits for it, and the host
  /// does not. Throws Error naming `what` and the ranks where it failed or took too long. Nothing where
  /// nothing was started.
  void wait(const dtensor::Group& group, const char* what);
  /// Whether one was started whose end was not asked for.
  bool is_started() const { return state_ != nullptr; }
  /// When it was done, by the device's clock. Asked for once it is (after wait(), and WorkClock::await() on a
  /// GPU), which ends the call. Throws std::logic_error where nothing was started.
  Moment completed();

 private:
  struct State;
  friend PendingCall start_sum(const dtensor::Group&, const at::Tensor&);
  std::shared_ptr<State> state_;
};

/// Starts to sum `flat` over the ranks in place. A group of more than one rank.
PendingCall start_sum(const dtensor::Group& group, const at::Tensor& flat);

// Of a group of one rank these do nothing. All throw Error where a rank is gone or late. Numbers on the CPU
// travel by way of the group's device.
void meet(const dtensor::Group& group);  ///< a barrier
void copy_of_first(const dtensor::Group& group, at::Tensor tensor);
void copy_of_first(const dtensor::Group& group, std::vector<std::int64_t>& numbers);
void largest_of(const dtensor::Group& group, std::vector<std::int64_t>& numbers);
/// Throws Error, on all ranks alike, where one has another checksum than the first: "rank 1 has other
/// parameters than rank 0", where `what` is "other parameters".
void require_same(const dtensor::Group& group, std::uint64_t checksum, const std::string& what);

}  // namespace headroom::torch_runner
