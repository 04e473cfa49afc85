// SPDX-License-Identifier: Apache-2.0
#include "headroom/schedule/collectives_records.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

#include "headroom/base/units.h"
#include "headroom/record/bus_factor.h"
#include "headroom/schedule/rank_record.h"
#include "headroom/stats/quantile.h"
#include "headroom/stats/trend.h"

namespace headroom {
namespace {

Record base_record(const CollectiveResult& result, const std::string& library,
                   const std::shared_ptr<const Environment>& environment) {
  const CollectiveSetup& setup = result.setup;
  Record record;
  record.benchmark.dtype = setup.dtype;
  record.model.name = setup.op;
  record.model.type = "collective";
  record.model.backend = "gloo";
  record.model.extra_info["library"] = library;
  if (!result.how.empty()) record.model.extra_info["composed of"] = result.how;
  record.axes = {
      {"bytes", std::to_string(setup.bytes)}, {"ranks", std::to_string(setup.ranks)}, {"dtype", setup.dtype}};
  record.device = "cpu";
  record.runner = "torch-rank";
  record.threads = 1;
  record.outcome = result.outcome;
  record.stop = result.stop;
  record.environment = environment;
  return record;
}

/// How much longer the slowest rank took than the fastest, call by call.
std::vector<double> skew_ns(const CollectiveResult& result) {
  std::vector<double> skew = slowest_ns(result);
  for (std::size_t call = 0; call < skew.size(); ++call) {
    double fastest = skew[call];
    for (const CollectiveResult::Rank& rank : result.ranks) fastest = std::min(fastest, rank.ns[call]);
    skew[call] -= fastest;
  }
  return skew;
}

class RecordMaker {
 public:
  RecordMaker(const CollectiveResult& result, Record base)
      : result_(result),
        base_(std::move(base)),
        slowest_(slowest_ns(result)),
        warmup_(warmup_length(slowest_)) {
    base_.verified = true;
  }

  std::vector<Record> records() {
    add_one("latency", "us", kNsPerUs, slowest_);
    tell_slowest(records_.front());
    add_percentiles();
    add_bandwidth("algbw", 1);
    if (const auto factor = bus_factor(result_.setup.op, result_.setup.ranks))
      add_bandwidth("busbw", *factor);
    std::vector<RankColumn> columns;
    for (const CollectiveResult::Rank& rank : result_.ranks) columns.push_back({rank.pid, rank.ns, warmup_});
    add(rank_record(base_, "rank latency", "us", kNsPerUs, std::move(columns), true));
    add_one("skew", "us", kNsPerUs, skew_ns(result_));
    return std::move(records_);
  }

 private:
  void add(std::optional<Record> record) {
    if (record) records_.push_back(std::move(*record));
  }

  /// One value a call, which is not of one rank: rank 0's process stands for the job's.
  void add_one(const std::string& metric, const std::string& unit, double divisor,
               std::vector<double> values) {
    auto record = rank_record(base_, metric, unit, divisor,
                              {{result_.ranks.front().pid, std::move(values), warmup_}}, true);
    if (!record) return;
    if (records_.empty()) record->metric.headline = true;
    add(std::move(record));
  }

  /// Bytes per ns are GB/s.
  void add_bandwidth(const std::string& metric, double factor) {
    std::vector<double> values;
    for (const double ns : slowest_) values.push_back(static_cast<double>(result_.setup.bytes) * factor / ns);
    add_one(metric, "GB/s", 1, std::move(values));
    records_.back().metric.direction = Direction::kHigherIsBetter;
  }

  void add_percentiles() {
    std::vector<double> steady(slowest_.begin() + static_cast<std::ptrdiff_t>(warmup_), slowest_.end());
    for (double& value : steady) value /= kNsPerUs;
    for (const int percent : kLatencyPercentiles) {
      Record record = base_;
      record.metric.name = fmt::format("latency p{}", percent);
      record.metric.unit = "us";
      record.metric.value = quantile(steady, percent / 100.0);
      record.interval = series_quantile_interval(steady, percent / 100.0);
      records_.push_back(std::move(record));
    }
  }

  /// Which rank was the slowest most often.
  void tell_slowest(Record& record) const {
    std::vector<std::size_t> times(result_.ranks.size());
    for (std::size_t call = warmup_; call < slowest_.size(); ++call) {
      const auto slowest = std::ranges::max_element(
          result_.ranks, {}, [&](const CollectiveResult::Rank& rank) { return rank.ns[call]; });
      ++times[static_cast<std::size_t>(slowest - result_.ranks.begin())];
    }
    const auto most = std::ranges::max_element(times);
    record.metric.extra_info["slowest rank"] = std::to_string(most - times.begin());
    record.metric.extra_info["slowest share"] =
        fmt::format("{:.3f}", static_cast<double>(*most) / static_cast<double>(slowest_.size() - warmup_));
  }

  const CollectiveResult& result_;
  Record base_;
  std::vector<double> slowest_;
  std::size_t warmup_;
  std::vector<Record> records_;
};

}  // namespace

std::vector<Record> collective_records(const CollectiveResult& result, const std::string& library,
                                       const std::shared_ptr<const Environment>& environment) {
  Record base = base_record(result, library, environment);
  const bool any = !result.ranks.empty() && !result.ranks.front().ns.empty();
  if (!any || result.outcome.kind != Outcome::Kind::kMeasured) {
    if (base.outcome.kind == Outcome::Kind::kMeasured) {
      base.outcome = {Outcome::Kind::kSkipped, "ended before its first call"};
    }
    base.metric.name = "latency";
    base.metric.unit = "us";
    base.metric.headline = true;
    return {base};
  }
  return RecordMaker(result, std::move(base)).records();
}

}  // namespace headroom
