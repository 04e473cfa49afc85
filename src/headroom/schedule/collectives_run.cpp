// SPDX-License-Identifier: Apache-2.0
#include "headroom/schedule/collectives_run.h"

#include <fmt/format.h>

#include <algorithm>

#include "headroom/base/error.h"
#include "headroom/base/units.h"
#include "headroom/stats/quantile.h"
#include "headroom/stats/series.h"
#include "headroom/stats/trend.h"

namespace headroom {
namespace {

/// How long the calls between two looks at the precision take, about, and how many they are at most.
constexpr double kLoopsBatchNs = 0.2e9;
constexpr int kMostCalls = 1000;

std::string title_of(const CollectiveSetup& setup) {
  return fmt::format("{} of {}", setup.op, format_bytes(static_cast<double>(setup.bytes)));
}

Series steady_calls(const std::vector<double>& ns) {
  Series series;
  series.values.assign(ns.begin() + static_cast<std::ptrdiff_t>(warmup_length(ns)), ns.end());
  return series;
}

/// What is wrong with the data, of the first rank that says so.
std::string wrong_data(const std::vector<Json>& replies) {
  for (std::size_t rank = 0; rank < replies.size(); ++rank) {
    const CollectiveSamples samples = collective_samples_from_json(replies[rank]);
    if (!samples.wrong.empty()) return fmt::format("wrong data on rank {}: {}", rank, samples.wrong);
  }
  return {};
}

}  // namespace

std::vector<double> slowest_ns(const CollectiveResult& result) {
  std::vector<double> slowest;
  for (const CollectiveResult::Rank& rank : result.ranks) {
    slowest.resize(std::max(slowest.size(), rank.ns.size()));
    for (std::size_t call = 0; call < rank.ns.size(); ++call)
      slowest[call] = std::max(slowest[call], rank.ns[call]);
  }
  return slowest;
}

CollectivesRun::CollectivesRun(RankGroup& ranks, CollectiveLimits limits, std::function<bool()> give_up)
    : limits_(limits), ranks_(ranks, limits.patience, std::move(give_up)) {}

bool CollectivesRun::prepare(CollectiveResult& result) {
  Json request = to_json(result.setup);
  request["do"] = "collective";
  const auto replies = ranks_.ask(request, "its memory for " + title_of(result.setup));
  if (const std::string why = refusal(replies); !why.empty()) {
    result.outcome = {Outcome::Kind::kFailed, why};
    return false;
  }
  for (const Json& reply : replies) {
    const CollectiveReady ready = collective_ready_from_json(reply);
    if (ready.idle) continue;
    result.setup.bytes = ready.bytes;
    result.how = ready.how;
    if (!ready.skipped.empty()) result.outcome = {Outcome::Kind::kSkipped, ready.skipped};
  }
  return result.outcome.kind == Outcome::Kind::kMeasured;
}

std::optional<StopReason> CollectivesRun::add_samples(CollectiveResult& result, Stopping& stopping,
                                                      const std::function<void(const Progress&)>& report) {
  const auto replies =
      ranks_.ask({{"do", "collective_samples"}, {"count", batch_}},
                 fmt::format("{} call{} of {}", batch_, batch_ == 1 ? "" : "s", title_of(result.setup)));
  std::string why = refusal(replies);
  if (why.empty()) why = wrong_data(replies);
  if (!why.empty()) {
    result.outcome = {Outcome::Kind::kFailed, why};
    return StopReason::kNone;
  }
  for (std::size_t rank = 0; rank < result.ranks.size(); ++rank) {
    const CollectiveSamples more = collective_samples_from_json(replies[rank]);
    if (std::cmp_not_equal(more.ns.size(), batch_)) {
      throw Error(fmt::format("asked for {} calls, rank {} gave {}", batch_, rank, more.ns.size()));
    }
    std::vector<double>& ns = result.ranks[rank].ns;
    ns.insert(ns.end(), more.ns.begin(), more.ns.end());
  }
  const Series series = steady_calls(slowest_ns(result));
  Progress progress;
  progress.title = title_of(result.setup);
  progress.phase = "sampling";
  progress.rounds = static_cast<std::uint32_t>(result.ranks.front().ns.size());
  progress.elapsed_ns =
      std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - began_).count();
  progress.max_time_ns = limits_.stop.max_time_ns;
  progress.median_ns = median(series.values);
  progress.worst_half_width = sampling_half_width(series);
  progress.goal = limits_.stop.precision;
  batch_ = static_cast<int>(std::clamp<double>(kLoopsBatchNs / (progress.elapsed_ns / progress.rounds), 1,
                                               std::min(2 * batch_, kMostCalls)));
  if (report) report(progress);
  if (ranks_.gives_up()) return StopReason::kInterrupted;
  return stopping.check({progress.rounds, progress.elapsed_ns, progress.worst_half_width});
}

void CollectivesRun::measure(const CollectiveSetup& setup, CollectiveResult& result,
                             const std::function<void(const Progress&)>& report) {
  result.setup = setup;
  result.ranks.resize(static_cast<std::size_t>(setup.ranks));
  for (std::size_t rank = 0; rank < result.ranks.size(); ++rank)
    result.ranks[rank].pid = hellos().at(rank).pid;
  if (!prepare(result)) return;
  began_ = std::chrono::steady_clock::now();
  batch_ = 1;
  Stopping stopping(limits_.stop);
  std::optional<StopReason> stop;
  while (!stop) stop = add_samples(result, stopping, report);
  result.stop = *stop;
}

}  // namespace headroom
