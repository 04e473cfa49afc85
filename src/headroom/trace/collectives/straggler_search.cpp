// SPDX-License-Identifier: Apache-2.0
#include "headroom/trace/collectives/straggler_search.h"

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

#include "headroom/stats/quantile.h"

namespace headroom::trace {
namespace {

using CandidateKey = std::pair<std::int64_t, std::string>;
/// By iteration, by rank: the last long call.
using LastCalls = std::map<std::int64_t, std::map<std::size_t, const CollectiveCall*>>;

/// Mean over the iterations that several ranks have of the deviation of the durations between them.
StragglerCandidate candidate_of(const CandidateKey& key, const LastCalls& calls, double mean_iteration_ns) {
  StragglerCandidate candidate{key.first, key.second};
  double sum = 0;
  for (const auto& [iteration, by_rank] : calls) {
    if (by_rank.size() < 2) continue;
    std::vector<double> durations;
    for (const auto& [rank, call] : by_rank)
      durations.push_back(static_cast<double>(call->duration_ns) / mean_iteration_ns);
    sum += standard_deviation(durations);
    ++candidate.iterations;
  }
  if (candidate.iterations > 0) candidate.spread = sum / static_cast<double>(candidate.iterations);
  return candidate;
}

}  // namespace

StragglerSearch search_stragglers(std::span<const std::vector<CollectiveCall>> ranks,
                                  std::span<const Iterations> iterations, double min_share) {
  StragglerSearch search;
  double total = 0, count = 0;
  search.origin_ns = std::numeric_limits<std::int64_t>::max();
  for (const Iterations& rank : iterations) {
    if (rank.count == 0) continue;
    search.origin_ns = std::min(search.origin_ns, rank.first_start_ns);
    total += static_cast<double>(rank.total_ns);
    count += static_cast<double>(rank.count);
  }
  if (count == 0 || total <= 0) return {};
  search.mean_iteration_ns = total / count;
  const bool has_steps = std::ranges::any_of(ranks, [](const std::vector<CollectiveCall>& calls) {
    return std::ranges::any_of(calls, [](const CollectiveCall& call) { return call.iteration >= 0; });
  });
  std::map<CandidateKey, LastCalls> last;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    for (const CollectiveCall& call : ranks[rank]) {
      if (has_steps && call.iteration < 0) continue;
      if (static_cast<double>(call.duration_ns) < min_share * search.mean_iteration_ns) continue;
      const CollectiveCall*& known = last[{call.stream, call.kernel}][call.iteration][rank];
      if (known == nullptr || call.start_ns >= known->start_ns) known = &call;
    }
  }
  for (const auto& [key, calls] : last)
    search.candidates.push_back(candidate_of(key, calls, search.mean_iteration_ns));
  std::erase_if(search.candidates, [](const StragglerCandidate& one) { return one.iterations == 0; });
  std::ranges::stable_sort(search.candidates, std::greater{}, &StragglerCandidate::spread);
  if (search.candidates.empty()) return search;
  const StragglerCandidate& first = search.candidates.front();
  for (const auto& [iteration, by_rank] : last.at({first.stream, first.kernel})) {
    for (const auto& [rank, call] : by_rank) search.calls.push_back({iteration, rank, call});
  }
  return search;
}

}  // namespace headroom::trace
