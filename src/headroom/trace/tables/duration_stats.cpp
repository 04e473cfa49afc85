// SPDX-License-Identifier: Apache-2.0
#include "headroom/trace/tables/duration_stats.h"

#include <algorithm>
#include <cmath>

namespace headroom::trace {

void DurationStats::add(std::int64_t duration_ns) {
  min_ = count_ == 0 ? duration_ns : std::min(min_, duration_ns);
  max_ = count_ == 0 ? duration_ns : std::max(max_, duration_ns);
  ++count_;
  total_ = saturating_add(total_, duration_ns);
  const double value = static_cast<double>(duration_ns), off = value - mean_;
  mean_ += off / static_cast<double>(count_);
  squares_ += off * (value - mean_);
}

double DurationStats::standard_deviation_ns() const {
  return count_ < 2 ? 0 : std::sqrt(squares_ / static_cast<double>(count_ - 1));
}

}  // namespace headroom::trace
