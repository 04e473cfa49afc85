// SPDX-License-Identifier: Apache-2.0
#include "headroom_trace/peers/hta_stragglers.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <utility>

#include "headroom/stats/quantile.h"
#include "headroom_trace/collectives/collective_matching.h"

namespace headroom::trace {
namespace {

using CandidateKey = std::pair<std::int64_t, std::string>;
using LastCalls = std::map<std::int64_t, std::map<std::size_t, const CollectiveCall*>>;

HtaStragglerCandidate candidate_of(const CandidateKey& key, const LastCalls& calls,
                                   double mean_iteration_ns) {
  HtaStragglerCandidate candidate{key.first, key.second};
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

std::map<std::int64_t, MatchedCollective> by_iteration(const HtaStragglerSearch& search) {
  std::map<std::int64_t, MatchedCollective> found;
  for (const HtaLongCall& call : search.calls) found[call.iteration].parts.push_back({call.rank, call.call});
  std::erase_if(found, [](const auto& entry) { return entry.second.parts.size() < 2; });
  return found;
}

}  // namespace

HtaStragglerSearch hta_straggler_search(std::span<const std::vector<CollectiveCall>> ranks,
                                        std::span<const Iterations> iterations, double min_share) {
  HtaStragglerSearch search;
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
  std::erase_if(search.candidates, [](const HtaStragglerCandidate& one) { return one.iterations == 0; });
  std::ranges::stable_sort(search.candidates, std::greater{}, &HtaStragglerCandidate::spread);
  if (search.candidates.empty()) return search;
  const HtaStragglerCandidate& first = search.candidates.front();
  for (const auto& [iteration, by_rank] : last.at({first.stream, first.kernel})) {
    for (const auto& [rank, call] : by_rank) search.calls.push_back({iteration, rank, call});
  }
  return search;
}

std::vector<HtaLateStarts> hta_late_starts(const HtaStragglerSearch& search, std::size_t ranks) {
  std::vector<HtaLateStarts> found(ranks);
  std::vector<MatchedCollective> collectives;
  for (auto& [iteration, collective] : by_iteration(search)) collectives.push_back(std::move(collective));
  const std::vector<double> offsets = clock_offsets(ranks, collectives);
  for (const MatchedCollective& collective : collectives) {
    const Arrival raw = arrival_of(collective, {}), aligned = arrival_of(collective, offsets);
    for (std::size_t i = 0; i < collective.parts.size(); ++i) {
      HtaLateStarts& rank = found[collective.parts[i].rank];
      rank.starts.push_back(search.start_of({0, 0, collective.parts[i].call}));
      rank.late_ns.push_back(raw.skew_ns - raw.waits_ns[i]);
      rank.aligned_ns.push_back(aligned.skew_ns - aligned.waits_ns[i]);
    }
    ++found[raw.last_rank].last;
  }
  return found;
}

DataTable hta_candidate_table(const HtaStragglerSearch& search) {
  DataTable table{
      "candidates",
      "kernels by how much their time differs between ranks",
      {Column::count("stream"), Column::text("kernel").identifying(), Column::count("iterations").detail(),
       Column::share("spread", "deviation, of the mean iteration")}};
  for (const HtaStragglerCandidate& one : search.candidates)
    table.rows.push_back({number_cell(one.stream), one.kernel, one.iterations, one.spread});
  return table;
}

DataTable hta_lateness_table(const std::vector<HtaLateStarts>& late, std::span<const RankResult> ranks) {
  DataTable table{
      "lateness",
      "by Holistic Trace Analysis' rule: how late each rank starts the last long kernel of an iteration",
      {Column::count("rank"), Column::text("file").detail(), Column::count("iterations").detail(),
       Column::number("normalized_start", "start / mean iteration"),
       Column::time("late_ns", "after the first rank").main(),
       Column::time("aligned_late_ns", "the same, clocks aligned"), Column::count("last", "last to start")}};
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const HtaLateStarts& rank = late[i];
    const bool has_any = !rank.starts.empty();
    const auto mean_cell = [&](const std::vector<double>& values) {
      return has_any ? Cell{mean(values)} : Cell{};
    };
    table.rows.push_back({ranks[i].rank, ranks[i].source, count_cell(rank.starts.size()),
                          mean_cell(rank.starts), mean_cell(rank.late_ns), mean_cell(rank.aligned_ns),
                          rank.last});
  }
  std::ranges::stable_sort(table.rows, std::greater{}, [](const std::vector<Cell>& row) {
    const auto* late_ns = std::get_if<double>(&row[4]);
    return late_ns != nullptr ? *late_ns : -1.0;
  });
  return table;
}

DataTable hta_start_table(const HtaStragglerSearch& search, std::span<const RankResult> ranks) {
  DataTable table{
      "starts",
      "kernel starts",
      {Column::count("iteration"), Column::count("rank"), Column::instant("start_ns", "at"),
       Column::time("duration_ns", "time"), Column::number("normalized_start", "start / mean iteration")}};
  for (const HtaLongCall& one : search.calls)
    table.rows.push_back({number_cell(one.iteration), ranks[one.rank].rank, one.call->start_ns,
                          one.call->duration_ns, search.start_of(one)});
  return table;
}

}  // namespace headroom::trace
