// SPDX-License-Identifier: Apache-2.0
#include "headroom/ranks/core_sharing.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "headroom/base/text.h"

namespace headroom {

std::string core_sharing(const std::vector<RankHello>& hellos, int threads, std::size_t cpus) {
  std::map<std::pair<std::string, int>, std::vector<int>> ranks_of;
  std::set<std::string> hosts;
  for (const RankHello& hello : hellos) {
    hosts.insert(hello.host);
    for (const int core : hello.cores) ranks_of[{hello.host, core}].push_back(hello.rank);
  }
  std::vector<std::string> shared;
  for (const auto& [core, ranks] : ranks_of) {
    if (ranks.size() < 2) continue;
    shared.push_back(fmt::format("ranks {} share core {}{}", fmt::join(ranks, ", "), core.second,
                                 hosts.size() > 1 ? " of " + core.first : ""));
  }
  const auto here = std::ranges::count(hellos, hellos.front().host, &RankHello::host);
  if (shared.empty() && static_cast<std::size_t>(here * threads) > cpus) {
    shared.push_back(fmt::format("{} ranks of {} thread{} share {} CPU{}", here, threads,
                                 threads == 1 ? "" : "s", cpus, cpus == 1 ? "" : "s"));
  }
  if (shared.empty()) return "";
  return join(shared, " and ") +
         ": they wait for each other to compute, which takes longer than with a core each";
}

}  // namespace headroom
