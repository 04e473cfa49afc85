// SPDX-License-Identifier: Apache-2.0
#include "headroom/record/metrics.h"

namespace headroom {

std::optional<double> bus_factor(std::string_view collective, std::int64_t ranks) {
  if (ranks < 2) return std::nullopt;
  const auto n = static_cast<double>(ranks);
  if (collective == "all_reduce") return 2 * (n - 1) / n;
  if (collective == "reduce_scatter" || collective == "all_gather" || collective == "all_to_all")
    return (n - 1) / n;
  if (collective == "broadcast" || collective == "reduce") return 1;
  return std::nullopt;
}

}  // namespace headroom
