// SPDX-License-Identifier: Apache-2.0
#include "headroom/schedule/process_share.h"

#include <algorithm>
#include <cmath>

namespace headroom {

StopRule process_share(const StopRule& rule, int processes) {
  const auto count = static_cast<std::size_t>(processes);
  StopRule share = rule;
  share.precision = rule.precision * std::sqrt(static_cast<double>(processes));
  share.min_samples = (rule.min_samples + count - 1) / count;
  share.max_samples = std::max<std::size_t>(1, rule.max_samples / count);
  share.min_time_ns = rule.min_time_ns / processes;
  share.max_time_ns = rule.max_time_ns / processes;
  return share;
}

}  // namespace headroom
