// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "headroom/base/units.h"
#include "headroom/stats/quantile.h"
#include "headroom/trace/analysis.h"
#include "headroom/trace/collectives/collective_calls.h"
#include "headroom/trace/collectives/collective_matching.h"
#include "headroom/trace/collectives/collective_tables.h"
#include "headroom/trace/tables/cells.h"

namespace headroom::trace {
namespace {

constexpr const char* kOneRank =
    "one rank: the time of a kernel includes its wait for the other ranks, so that the bandwidths are at "
    "least what is said; give the traces of all ranks to see who waits for whom";

AnalysisResult analyze(const Trace& trace, const AnalysisOptions& options) {
  AnalysisResult result;
  const std::vector<CollectiveCall> calls = collective_calls(trace);
  result.tables.push_back(kinds_of_calls(calls));
  keep_top(result.tables.back(), options.top);
  result.tables.push_back(collective_table(calls));
  double total = 0;
  for (const CollectiveCall& call : calls) total += static_cast<double>(call.duration_ns);
  result.headlines = {{"communication_time", Kind::kTimeNs, true, total, ""},
                      {"collectives", Kind::kCount, true, static_cast<double>(calls.size()), ""}};
  if (calls.empty()) {
    result.notes.emplace_back("no communication kernel in the file");
    return result;
  }
  result.notes.emplace_back(kOneRank);
  if (std::ranges::any_of(calls,
                          [](const CollectiveCall& call) { return call.group.starts_with("stream "); }))
    result.notes.emplace_back(
        "the file does not say the process groups of all kernels: their streams stand in for them");
  return result;
}

/// What to know before reading the skews.
void add_notes(const CollectiveMatches& matches, std::span<const double> offsets, std::size_t unmatched_shown,
               std::vector<std::string>& notes) {
  notes.emplace_back(
      "starts are compared by the clocks of the ranks, and those of different hosts may be apart by more "
      "than the "
      "skew: 'aligned' takes away how far each rank's collectives end, in the median, from those of the "
      "others");
  if (!offsets.empty()) {
    const auto [least, most] = std::ranges::minmax(offsets);
    if (most - least > 0) notes.push_back("the clocks are apart by " + format_time_ns(most - least));
  }
  for (const std::string& group : matches.groups_by_time)
    notes.push_back(
        fmt::format("group {}: the traces do not hold the same collectives, so that the index in the group "
                    "pairs wrong ones: paired by time, which needs clocks that agree",
                    group));
  if (!matches.unmatched.empty())
    notes.push_back(fmt::format(
        "{} communication kernels are matched with no other rank's{}", matches.unmatched.size(),
        unmatched_shown < matches.unmatched.size() ? fmt::format("; {} of them are listed", unmatched_shown)
                                                   : ""));
}

AnalysisResult combine(std::span<const RankResult> ranks, const AnalysisOptions& options) {
  std::vector<std::vector<CollectiveCall>> calls;
  for (const RankResult& rank : ranks) calls.push_back(stored_calls(rank.result));
  const CollectiveMatches matches = match_collectives(calls);
  const std::vector<double> offsets = clock_offsets(ranks.size(), matches.matched);
  AnalysisResult result;
  result.tables = {kinds_of_matches(matches.matched, offsets), skew_table(matches.matched, offsets, ranks),
                   rank_table(matches.matched, offsets, ranks), unmatched_table(matches.unmatched, ranks),
                   wait_table(matches.matched, offsets, ranks)};
  for (std::size_t i : {0, 1, 3}) keep_top(result.tables[i], options.top);
  result.headlines = match_headlines(matches.matched, offsets);
  add_notes(matches, offsets, result.tables[3].rows.size(), result.notes);
  return result;
}

}  // namespace

namespace analysis {

extern const Analysis collectives{
    "collectives",
    "communication kernels by process group: size, bandwidth, and across ranks who waits for whom",
    Needs::kLaunches | Needs::kOps | Needs::kOpArguments | Needs::kGpuArguments,
    analyze,
    {},
    combine};

}  // namespace analysis
}  // namespace headroom::trace
