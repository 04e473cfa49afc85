// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace headroom::torch_runner {

struct OpTimes {
  std::vector<double> first_ns;   ///< first run of each call
  std::vector<double> repeat_ns;  ///< for each repeated call, the median of its later runs
};

/// Times every operator of the thread. Each call runs `runs` times; the first run, which misses caches, is
/// kept apart. Calls that write to an argument or draw random numbers run once. Composite operators are split
/// into parts. Overhead: about 0.3 µs per run. In each thread only the newest timer is active.
class OpTimer {
 public:
  /// {"aten::add.Tensor", "[512,512] [512,512]"}.
  using Key = std::pair<std::string, std::string>;

  /// Throws Error if another library in this process holds the dispatch key.
  explicit OpTimer(std::size_t runs = 10);
  ~OpTimer();
  OpTimer(const OpTimer&) = delete;
  OpTimer& operator=(const OpTimer&) = delete;

  const std::map<Key, OpTimes>& times() const { return times_; }

 private:
  friend void time_op(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack);
  void run(const c10::OperatorHandle& op, torch::jit::Stack& stack);

  std::size_t runs_;
  std::map<Key, OpTimes> times_;
  OpTimer* outer_;
  c10::impl::IncludeDispatchKeyGuard seen_;
};

}  // namespace headroom::torch_runner
