// SPDX-License-Identifier: Apache-2.0
#include "headroom/schedule/dispatch_run.h"

#include <fmt/format.h>

#include <algorithm>

#include "headroom/base/error.h"
#include "headroom/base/text.h"
#include "headroom/schedule/round_values.h"
#include "headroom/stats/quantile.h"
#include "headroom/stats/series.h"
#include "headroom/stats/trend.h"

namespace headroom {
namespace {

/// How long the cycles between two looks at the precision take, about, and how many they are at most.
constexpr double kCyclesBatchNs = 0.2e9;
constexpr int kMostInBatch = 100;
/// Cycles that take their steps' times, which the timed ones do not: at least, at most.
constexpr int kFewestStepCycles = 5, kMostStepCycles = 60;

/// The hits of all ranks after their warm-up.
Series hits_of(const DispatchResult& result) {
  Series series;
  for (const DispatchRank& rank : result.ranks) {
    const std::vector<double>& hits = rank.cycles.hit_ns;
    const auto steady = std::span(hits).subspan(warmup_length(hits));
    series.values.insert(series.values.end(), steady.begin(), steady.end());
    if (!steady.empty()) series.group_sizes.push_back(steady.size());
  }
  return series;
}

/// How many cycles take `time_ns`, by those that were measured.
int cycles_within(double time_ns, double elapsed_ns, std::size_t cycles, int least, int most) {
  const double each_ns = std::max(elapsed_ns, 1.0) / static_cast<double>(std::max<std::size_t>(cycles, 1));
  return static_cast<int>(std::clamp<double>(time_ns / each_ns, least, most));
}

/// All columns that have values have as many.
void require_cycles(const DispatchCycles& cycles, int count) {
  const auto fits = [&](const std::vector<double>& values, bool may_be_empty) {
    return std::cmp_equal(values.size(), count) || (may_be_empty && values.empty());
  };
  if (fits(cycles.hit_ns, false) && fits(cycles.miss_ns, false) && fits(cycles.plain_ns, true) &&
      fits(cycles.local_ns, true)) {
    return;
  }
  throw Error(fmt::format("asked for {} cycles, a rank gave another number", count));
}

}  // namespace

DispatchRun::DispatchRun(RankGroup& ranks, DispatchSetup setup, DispatchLimits limits,
                         const std::function<bool()>& give_up)
    : setup_(std::move(setup)), limits_(limits), ranks_(ranks, limits.patience, give_up) {
  ranks_.require_backend(setup_.backend);
}

std::optional<StopReason> DispatchRun::add_cycles(DispatchResult& result, Stopping& stopping,
                                                  const std::function<void(const Progress&)>& report) {
  const int count = batch_;
  const auto replies = ranks_.ask({{"do", "cycles"}, {"count", count}},
                                  fmt::format("{} cycle{} of {}", count, count == 1 ? "" : "s", result.op));
  if (const std::string why = refusal(replies); !why.empty()) {
    result.outcome = {Outcome::Kind::kFailed, why};
    return StopReason::kNone;
  }
  for (std::size_t rank = 0; rank < replies.size(); ++rank) {
    const DispatchCycles more = dispatch_cycles_from_json(replies[rank]);
    require_cycles(more, count);
    DispatchCycles& cycles = result.ranks[rank].cycles;
    append_rounds(cycles.plain_ns, more.plain_ns);
    append_rounds(cycles.local_ns, more.local_ns);
    append_rounds(cycles.miss_ns, more.miss_ns);
    append_rounds(cycles.hit_ns, more.hit_ns);
  }
  const Series hits = hits_of(result);
  Progress progress;
  progress.title = result.op;
  progress.phase = "sampling";
  progress.rounds = static_cast<std::uint32_t>(result.ranks.front().cycles.hit_ns.size());
  progress.elapsed_ns =
      std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - began_).count();
  progress.max_time_ns = limits_.stop.max_time_ns;
  progress.median_ns = hits.values.empty() ? 0 : median(hits.values);
  progress.worst_half_width = sampling_half_width(hits);
  progress.goal = limits_.stop.precision;
  batch_ = cycles_within(kCyclesBatchNs, progress.elapsed_ns, progress.rounds, 1,
                         std::min(2 * batch_, kMostInBatch));
  if (report) report(progress);
  if (ranks_.gives_up()) return StopReason::kInterrupted;
  return stopping.check({progress.rounds, progress.elapsed_ns, progress.worst_half_width});
}

void DispatchRun::measure(const std::string& op, DispatchResult& result,
                          const std::function<void(const Progress&)>& report) {
  result.op = op;
  result.ranks.resize(hellos().size());
  for (std::size_t rank = 0; rank < hellos().size(); ++rank) result.ranks[rank].pid = hellos()[rank].pid;
  Json request = to_json(setup_);
  request["do"] = "dispatch";
  request["op"] = op;
  if (const std::string why = refusal(ranks_.ask(request, "its operands of " + op)); !why.empty()) {
    result.outcome = {Outcome::Kind::kFailed, why};
    return;
  }
  began_ = std::chrono::steady_clock::now();
  batch_ = 1;
  Stopping stopping(limits_.stop);
  std::optional<StopReason> stop;
  while (!stop) stop = add_cycles(result, stopping, report);
  result.stop = *stop;
  if (result.outcome.kind != Outcome::Kind::kMeasured || result.stop == StopReason::kInterrupted) return;
  const double elapsed_ns =
      std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - began_).count();
  const int steps = cycles_within(kCyclesBatchNs, elapsed_ns, result.ranks.front().cycles.hit_ns.size(),
                                  kFewestStepCycles, kMostStepCycles);
  const auto details = ranks_.ask({{"do", "steps"}, {"count", steps}}, "the steps of " + op);
  if (!refusal(details).empty()) return;
  for (std::size_t rank = 0; rank < details.size(); ++rank) {
    result.ranks[rank].details = dispatch_details_from_json(details[rank]);
  }
}

}  // namespace headroom
