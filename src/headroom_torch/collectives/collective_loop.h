// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <chrono>
#include <exception>
#include <utility>

#include "headroom_torch/collectives/collective_case.h"
#include "headroom_torch/collectives/collective_data.h"
#include "headroom_torch/dtensor/connection.h"
#include "headroom_torch/dtensor/noted_call.h"

namespace headroom::torch_runner {

/// The memory of a collective.
struct CollectiveBuffers {
  at::Tensor source;           ///< what goes into `in` before each call
  at::Tensor in, out;          ///< the same where the collective works in place
  ExpectedValue expected;      ///< in `out`, after a call
  bool receives_only = false;  ///< this rank puts nothing in
};

/// The loop around one collective. Run: void(), which starts it and waits for its end; known to the compiler,
/// so that what is timed is the collective and nothing of ours.
template <typename Run>
class CollectiveLoop final : public CollectiveCase {
 public:
  CollectiveLoop(const CollectiveSetup& setup, const dtensor::Group& group, CollectiveBuffers buffers,
                 Run run)
      : setup_(setup), group_(group), buffers_(std::move(buffers)), run_(std::move(run)) {}

  double time(std::uint64_t calls) override {
    double ns = 0;
    for (; calls > 0; --calls) {
      prepare();
      dtensor::barrier(group_);
      dtensor::NotedCall note(group_, setup_.op, setup_.dtype, buffers_.in.numel(), buffers_.out.numel());
      ns += time_run();
      note.completed();
    }
    // Who is done first must not work on where others need the processor for what is timed.
    dtensor::barrier(group_);
    return ns;
  }

  std::string what_is_wrong() const override {
    return torch_runner::what_is_wrong(buffers_.out, buffers_.expected);
  }

 private:
  /// New data before every call: an all-reduce in place would else add up what it gave before, and data that
  /// were not sent at all could look right.
  void prepare() {
    if (!buffers_.out.is_same(buffers_.in) || buffers_.receives_only) poison(buffers_.out);
    if (!buffers_.receives_only) buffers_.in.copy_(buffers_.source);
  }

  double time_run() {
    try {
      const auto begin = std::chrono::steady_clock::now();
      run_();
      const auto end = std::chrono::steady_clock::now();
      return std::chrono::duration<double, std::nano>(end - begin).count();
    } catch (const std::exception& error) {
      dtensor::refuse_call(group_, setup_.op, error);
    }
  }

  CollectiveSetup setup_;
  dtensor::Group group_;
  CollectiveBuffers buffers_;
  Run run_;
};

}  // namespace headroom::torch_runner
