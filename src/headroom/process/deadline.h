// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <limits>
#include <optional>

namespace headroom {

/// A moment after which to stop waiting; made from a negative time-out it never comes.
class Deadline {
 public:
  explicit Deadline(std::chrono::milliseconds timeout) {
    if (timeout.count() >= 0) at_ = Clock::now() + std::min(timeout, kLongest);
  }

  bool over() const { return at_ && Clock::now() >= *at_; }

  /// What is left as an argument of poll(): milliseconds rounded up (rounding down would spin), -1 for ever.
  int poll_ms() const {
    if (!at_) return -1;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(*at_ - Clock::now()).count();
    return static_cast<int>(std::clamp<long long>(left, 0, std::numeric_limits<int>::max()));
  }

 private:
  using Clock = std::chrono::steady_clock;
  /// Keeps milliseconds::max() from overflowing the clock.
  static constexpr std::chrono::milliseconds kLongest = std::chrono::hours(24 * 365);
  std::optional<Clock::time_point> at_;
};

}  // namespace headroom
