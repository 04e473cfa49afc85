// SPDX-License-Identifier: Apache-2.0
#include "headroom/trace/tables/cells.h"

#include <algorithm>

#include "headroom/stats/quantile.h"
#include "headroom/trace/tables/duration_stats.h"

namespace headroom::trace {

TimeSpread time_spread(const std::vector<std::int64_t>& times_ns) {
  TimeSpread spread;
  if (times_ns.empty()) return spread;
  spread.count = times_ns.size();
  spread.max_ns = std::ranges::max(times_ns);
  std::vector<double> values;
  values.reserve(times_ns.size());
  for (const std::int64_t time : times_ns) {
    spread.total_ns = saturating_add(spread.total_ns, time);
    values.push_back(static_cast<double>(time));
  }
  spread.median_ns = quantile(values, 0.5);
  spread.p95_ns = quantile(values, 0.95);
  spread.p99_ns = quantile(values, 0.99);
  return spread;
}

}  // namespace headroom::trace
