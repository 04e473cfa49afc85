// SPDX-License-Identifier: Apache-2.0
#include "headroom/trace/recording/recording_clock.h"

#include <fmt/format.h>

#include <chrono>
#include <cmath>

#include "headroom/base/error.h"

namespace headroom::trace {
namespace {

constexpr double kLeastForARateNs = 10e6;
constexpr double kMostRateError = 0.01;

template <typename Clock>
std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now().time_since_epoch()).count();
}

}  // namespace

ClockReading read_clocks() {
  const std::int64_t unix_ns = now_ns<std::chrono::system_clock>();
  return {now_ns<std::chrono::steady_clock>(), unix_ns};
}

ClockMap::ClockMap(ClockPair earlier, ClockPair later) : origin_(earlier) {
  const auto from = static_cast<double>(later.from_ns - earlier.from_ns);
  const auto to = static_cast<double>(later.to_ns - earlier.to_ns);
  const bool went_back = from < 0 || to < 0;
  const bool tells_rate = from >= kLeastForARateNs && to >= kLeastForARateNs;
  if (tells_rate) rate_ = to / from;
  if (went_back || std::abs(rate_ - 1) > kMostRateError) {
    throw Error(
        fmt::format("the recorder's clock went {:.6f} s while the system's went {:.6f} s: one of them was "
                    "set in between; record again",
                    from / 1e9, to / 1e9));
  }
}

std::int64_t ClockMap::operator()(std::int64_t from_ns) const {
  return origin_.to_ns + std::llround(static_cast<double>(from_ns - origin_.from_ns) * rate_);
}

}  // namespace headroom::trace
