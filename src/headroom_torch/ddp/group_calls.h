// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "headroom_torch/dtensor/world.h"

namespace headroom::torch_runner {

/// A collective on its way.
class PendingCall {
 public:
  /// Until it is done, after which this is empty. Throws Error naming `what` and the ranks where it failed or
  /// took too long.
  void wait(const dtensor::Group& group, const char* what);

 private:
  friend PendingCall start_sum(const dtensor::Group&, const at::Tensor&,
                               const std::shared_ptr<std::atomic<std::int64_t>>&);
  std::shared_ptr<void> work_;
};

/// Starts to sum `flat` over the ranks in place; the moment at which that is done (steady clock) goes to
/// `completed_ns`. A group of more than one rank.
PendingCall start_sum(const dtensor::Group& group, const at::Tensor& flat,
                      const std::shared_ptr<std::atomic<std::int64_t>>& completed_ns);

// Of a group of one rank these do nothing. All throw Error where a rank is gone or late.
void meet(const dtensor::Group& group);  ///< a barrier
void copy_of_first(const dtensor::Group& group, at::Tensor tensor);
void copy_of_first(const dtensor::Group& group, std::vector<std::int64_t>& numbers);
void largest_of(const dtensor::Group& group, std::vector<std::int64_t>& numbers);

}  // namespace headroom::torch_runner
