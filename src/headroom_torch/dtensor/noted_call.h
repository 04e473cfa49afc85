// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <exception>
#include <string_view>

#include "headroom_torch/dtensor/world.h"

namespace headroom::torch_runner::dtensor {

/// A collective that is noted in the ring of this rank while it runs: created with this object, failed where
/// that ends before completed() was said. Nothing where the group has no ring.
class NotedCall {
 public:
  NotedCall(const Group& group, std::string_view op, std::string_view dtype, std::int64_t elements_in,
            std::int64_t elements_out);
  ~NotedCall();
  NotedCall(const NotedCall&) = delete;
  NotedCall& operator=(const NotedCall&) = delete;

  void started();
  void completed();

 private:
  CollectiveRing* ring_;  ///< of the group, which outlives the call
  std::uint64_t call_ = 0;
  bool completed_ = false;
};

/// Throws Error for a collective that failed: which, among whom, and what to look for.
[[noreturn]] void refuse_call(const Group& group, std::string_view what, const std::exception& error);

/// Until all ranks of the group are here. Nothing for a group of one. Throws Error.
void barrier(const Group& group);

}  // namespace headroom::torch_runner::dtensor
