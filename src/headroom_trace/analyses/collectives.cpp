// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <tuple>

#include "headroom/base/error.h"
#include "headroom/base/units.h"
#include "headroom/stats/quantile.h"
#include "headroom_trace/analysis.h"
#include "headroom_trace/collectives/collective_calls.h"
#include "headroom_trace/collectives/collective_matching.h"
#include "headroom_trace/columns/trace_facts.h"
#include "headroom_trace/index/trace_index.h"
#include "headroom_trace/peers/hta_stragglers.h"
#include "headroom_trace/ranks/lateness.h"
#include "headroom_trace/ranks/rank_summary.h"
#include "headroom_trace/tables/data_table.h"

namespace headroom::trace {
namespace {

constexpr const char* kOneRank =
    "one rank: kernel times include the wait for other ranks, so the bandwidths are lower bounds; give the "
    "traces of all ranks to see who waits for whom";

AnalysisResult analyze_collectives(const TraceIndex& index, const AnalysisOptions& options) {
  AnalysisResult result;
  result.summary = std::make_shared<const RankSummary>(rank_summary(index));
  const std::vector<CollectiveCall>& calls = result.summary->calls;
  result.tables.push_back(kinds_of_calls(calls));
  keep_top(result.tables.back(), options.top);
  result.tables.push_back(collective_table(calls));
  double total = 0;
  for (const CollectiveCall& call : calls) total += static_cast<double>(call.duration_ns);
  result.headlines = {{"communication_time", Kind::kTimeNs, true, total},
                      {"collectives", Kind::kCount, true, static_cast<double>(calls.size())}};
  if (calls.empty()) {
    result.answer = {"no communication kernel in the file"};
    return result;
  }
  result.notes.emplace_back(kOneRank);
  if (std::ranges::any_of(calls,
                          [](const CollectiveCall& call) { return call.group.starts_with("stream "); }))
    result.notes.emplace_back(
        "the file does not name the process groups of all kernels: streams are used instead");
  return result;
}

void add_notes(const CollectiveMatches& matches, std::span<const double> offsets, std::size_t unmatched_shown,
               std::vector<std::string>& notes) {
  notes.emplace_back(
      "starts are compared by the clocks of the ranks, which may differ by more than the skew between hosts: "
      "'aligned' subtracts each rank's median offset at the ends of collectives");
  if (!offsets.empty()) {
    const auto [least, most] = std::ranges::minmax(offsets);
    if (most - least > 0) notes.push_back("the clocks differ by up to " + format_time_ns(most - least));
  }
  for (const std::string& group : matches.groups_by_time)
    notes.push_back(
        fmt::format("group {}: the traces hold different collectives, so they are paired by time instead of "
                    "by index, which needs clocks that agree",
                    group));
  if (!matches.unmatched.empty())
    notes.push_back(fmt::format(
        "{} communication kernels have no match on other ranks{}", matches.unmatched.size(),
        unmatched_shown < matches.unmatched.size() ? fmt::format("; {} are listed", unmatched_shown) : ""));
}

AnalysisResult combine_collectives(std::span<const RankResult> ranks, const AnalysisOptions& options) {
  const JobCollectives job = job_collectives(ranks);
  const std::vector<MatchedCollective>& matched = job.matches.matched;
  AnalysisResult result;
  result.tables = {kinds_of_matches(matched, job.offsets), skew_table(matched, job.offsets, ranks),
                   rank_table(matched, job.offsets, job.lateness.last, ranks),
                   unmatched_table(job.matches.unmatched, ranks), wait_table(matched, job.offsets, ranks)};
  for (std::size_t i : {0, 1, 3}) keep_top(result.tables[i], options.top);
  result.headlines = match_headlines(matched, job.offsets);
  add_notes(job.matches, job.offsets, result.tables[3].rows.size(), result.notes);
  return result;
}

constexpr double kMinShare = 0.01;

Iterations iterations_of(const RankSummary& summary) {
  const std::int64_t length = summary.recorded.end - summary.recorded.start;
  return {summary.steps > 0 ? summary.steps : length > 0 ? 1 : 0, summary.recorded.start, length};
}

double min_share_of(const AnalysisOptions& options) {
  return options.flag("min-share")
             ? with_context("--min-share", [&] { return parse_share(options.text("min-share")); })
             : kMinShare;
}

DataTable long_table(const std::vector<CollectiveCall>& calls, const Iterations& iterations,
                     double min_share) {
  DataTable table{"long_communication",
                  "long communication kernels of this rank",
                  {Column::count("iteration"), Column::count("stream"), Column::text("kernel"),
                   Column::instant("start_ns", "at"), Column::time("duration_ns", "time"),
                   Column::share("share_of_iteration", "of the mean iteration")}};
  if (iterations.count == 0) return table;
  const double mean = static_cast<double>(iterations.total_ns) / static_cast<double>(iterations.count);
  for (const CollectiveCall& call : calls) {
    const double share = static_cast<double>(call.duration_ns) / mean;
    if (share >= min_share)
      table.rows.push_back({number_cell(call.iteration), number_cell(call.stream), call.kernel, call.start_ns,
                            call.duration_ns, share});
  }
  return table;
}

AnalysisResult analyze_stragglers(const TraceIndex& index, const AnalysisOptions& options) {
  AnalysisResult result;
  const double min_share = min_share_of(options);
  result.summary = std::make_shared<const RankSummary>(rank_summary(index));
  if (result.summary->steps == 0)
    result.notes.emplace_back("no steps in the file: the whole trace counts as one iteration");
  result.tables = {long_table(result.summary->calls, iterations_of(*result.summary), min_share)};
  result.headlines.push_back({"long_communication_kernels", Kind::kCount, true,
                              static_cast<double>(result.tables.front().rows.size())});
  keep_top(result.tables.front(), options.top);
  result.answer = {"cannot look for a straggler in one rank: give the traces of all ranks"};
  return result;
}

DataTable cost_table(const JobCollectives& job, std::span<const RankResult> ranks) {
  DataTable table{"ranks",
                  "ranks by how long the others wait for them per iteration",
                  {Column::count("rank"), Column::text("file"), Column::time("imposed_ns", "others wait"),
                   Column::time("waited_ns", "waits for others"), Column::count("last", "times last")}};
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    table.rows.push_back({ranks[i].rank, ranks[i].source, job.lateness.cost_ns[i] / job.steps,
                          job.lateness.waited_ns[i] / job.steps, job.lateness.last[i]});
  }
  std::ranges::stable_sort(table.rows, std::greater{},
                           [](const std::vector<Cell>& row) { return std::get<double>(row[2]); });
  return table;
}

void add_verdict(const JobCollectives& job, std::span<const RankResult> ranks, AnalysisResult& result) {
  const Lateness& late = job.lateness;
  const auto worst = std::ranges::max_element(late.cost_ns);
  const auto rank = static_cast<std::size_t>(worst - late.cost_ns.begin());
  const double cost_ns = *worst / job.steps;
  result.headlines = {{"straggler_cost", Kind::kTimeNs, true, cost_ns},
                      {"straggler_cost_share", Kind::kShare, true, cost_ns / job.step_ns}};
  if (cost_ns < kMinStragglerShare * job.step_ns) {
    result.answer.push_back(
        fmt::format("no straggler: without the latest rank, an iteration of {} would be only {} shorter",
                    format_time_ns(job.step_ns), format_time_ns(cost_ns)));
  } else {
    result.answer.push_back(fmt::format(
        "the other ranks wait {} of each {} iteration ({}) for rank {}, last to reach {} of {} collectives",
        format_time_ns(cost_ns), format_time_ns(job.step_ns), format_percent(cost_ns / job.step_ns),
        ranks[rank].rank, late.last[rank], late.collectives[rank]));
  }
  result.notes.emplace_back(
      "cost of a rank: how much sooner the last collective would end if its own work took no longer than "
      "that of the ranks it meets; clocks are aligned at the ends of collectives");
}

AnalysisResult combine_stragglers(std::span<const RankResult> ranks, const AnalysisOptions& options) {
  const JobCollectives job = job_collectives(ranks);
  std::vector<Iterations> iterations;
  for (const RankResult& rank : ranks) iterations.push_back(iterations_of(summary_of(rank)));
  const HtaStragglerSearch search = hta_straggler_search(job.calls, iterations, min_share_of(options));
  AnalysisResult result;
  result.tables = {cost_table(job, ranks), hta_lateness_table(hta_late_starts(search, ranks.size()), ranks),
                   hta_candidate_table(search), hta_start_table(search, ranks)};
  keep_top(result.tables[2], options.top);
  const bool have_steps =
      std::ranges::all_of(ranks, [](const RankResult& rank) { return summary_of(rank).steps > 0; });
  if (std::string note = start_note(job.lateness, ranks, job.step_ns, have_steps); !note.empty())
    result.notes.push_back(std::move(note));
  if (!job.matches.matched.empty() && job.step_ns > 0) add_verdict(job, ranks, result);
  if (search.candidates.empty()) {
    result.notes.push_back(
        fmt::format("no communication kernel takes {} of an iteration on two ranks: Holistic Trace Analysis' "
                    "rule does not apply",
                    format_percent(min_share_of(options))));
  }
  return result;
}

constexpr AnalysisOption kStragglerOptions[] = {
    {"min-share", "SHARE", "1%", "leave out communication kernels below this share of the mean iteration"}};

}  // namespace

namespace analysis {

extern const Analysis collectives{
    .name = "collectives",
    .summary = "show collectives by process group: bandwidth, waits for ranks",
    .needs = Needs::kLaunches | Needs::kOps | Needs::kOpArguments | Needs::kGpuArguments,
    .analyze = analyze_collectives,
    .combine = combine_collectives,
    .needs_times = true};

extern const Analysis stragglers{.name = "stragglers",
                                 .summary = "find the rank that the others wait for in collectives",
                                 .needs = Needs::kLaunches | Needs::kGpuArguments,
                                 .analyze = analyze_stragglers,
                                 .options = kStragglerOptions,
                                 .combine = combine_stragglers,
                                 .needs_times = true};

}  // namespace analysis

}  // namespace headroom::trace
