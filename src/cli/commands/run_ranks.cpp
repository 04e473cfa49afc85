// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/run_ranks.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

#include "headroom/base/text.h"
#include "headroom/ranks/collectives/collective_sizes.h"
#include "headroom/ranks/ddp/ddp_records.h"
#include "headroom/ranks/dispatch/dispatch_records.h"
#include "headroom/ranks/dispatch/dispatch_setup.h"

namespace headroom::cli {
namespace {

bool is_collective(const std::string& name) {
  return std::ranges::find(kCollectives, name) != std::end(kCollectives);
}

bool is_of_ranks(const std::string& name) {
  return name.starts_with(kDdpPrefix) || name.starts_with(kDispatchPrefix) || is_collective(name) ||
         name == "limit.exchange";
}

int ranks_of_mesh(const std::string& mesh) {
  const std::vector<std::int64_t> sizes = parse_grid(mesh, "axis mesh", 1);
  return static_cast<int>(std::accumulate(sizes.begin(), sizes.end(), std::int64_t{1}, std::multiplies<>()));
}

/// What `name` takes where nothing else is asked for.
int ranks_by_default(const std::string& name) {
  if (name.starts_with(kDispatchPrefix)) return ranks_of_mesh(axes_of(DispatchSetup{}).front().second);
  return name.starts_with(kDdpPrefix) ? 1 : 2;
}

}  // namespace

bool any_of_ranks(const std::vector<std::string>& names) {
  return std::ranges::any_of(names, is_of_ranks);
}

bool all_of_ranks(const std::vector<std::string>& names) {
  return !names.empty() && std::ranges::all_of(names, is_of_ranks);
}

RankStart ranks_of_run(const std::vector<std::string>& names, const std::vector<AxisRequest>& axes,
                       std::vector<std::string> runners, int threads) {
  RankStart start;
  start.place = rank_place();
  start.runners = std::move(runners);
  start.threads = threads;
  int asked = 0;
  for (const AxisRequest& axis : axes) {
    for (const std::string& value : axis.values) {
      if (axis.name == "ranks") asked = std::max(asked, static_cast<int>(to_integer(value).value_or(0)));
      if (axis.name == "mesh") asked = std::max(asked, ranks_of_mesh(value));
    }
  }
  for (const std::string& name : names) {
    start.arguments += name + " ";
    if (asked == 0) start.ranks = std::max(start.ranks, ranks_by_default(name));
  }
  if (asked > 0) start.ranks = asked;
  if (start.place) start.ranks = start.place->size;
  settle_rank_programs(start, "run " + names.front());
  return start;
}

}  // namespace headroom::cli
