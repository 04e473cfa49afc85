// SPDX-License-Identifier: Apache-2.0
#include "headroom/schedule/dispatch_records.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>

#include "headroom/base/text.h"
#include "headroom/base/units.h"
#include "headroom/schedule/rank_record.h"
#include "headroom/schedule/round_values.h"
#include "headroom/stats/trend.h"

namespace headroom {
namespace {

/// The values of one rank, in ns or whatever the metric's unit is made of.
using RankValues = std::function<std::vector<double>(const DispatchRank&)>;

std::vector<double> step_of(const DispatchSteps& steps, const char* name) {
  const auto found = steps.find(name);
  return found == steps.end() ? std::vector<double>() : found->second;
}

class DispatchRecordMaker {
 public:
  DispatchRecordMaker(const DispatchResult& result, Record base) : result_(result), base_(std::move(base)) {}

  void add_time(const std::string& metric, const RankValues& values_ns, bool in_cycles = true) {
    add(metric, "us", kNsPerUs, values_ns, in_cycles);
  }
  /// Nothing where no rank has values. `in_cycles`: a value a timed cycle, with rounds to pair by.
  void add(const std::string& metric, const std::string& unit, double divisor, const RankValues& values,
           bool in_cycles) {
    std::vector<RankColumn> columns;
    for (const DispatchRank& rank : result_.ranks) {
      // One warm-up for all that the same cycles gave, so that they stay pairs.
      columns.push_back({rank.pid, values(rank), in_cycles ? warmup_length(rank.cycles.hit_ns) : 0});
    }
    auto record = rank_record(base_, metric, unit, divisor, std::move(columns), in_cycles);
    if (record) records_.push_back(std::move(*record));
  }

  std::vector<Record> take() { return std::move(records_); }

 private:
  const DispatchResult& result_;
  Record base_;
  std::vector<Record> records_;
};

Record base_record(const DispatchResult& result, const DispatchSetup& setup, const std::string& library,
                   const std::shared_ptr<const Environment>& environment) {
  std::vector<std::string> placements;
  for (const PlacementText& placement : setup.placements) placements.push_back(placement_text(placement));
  Record record;
  record.benchmark.dtype = setup.dtype;
  record.model.name = result.op;
  record.model.type = "operator dispatch";
  record.model.backend = "dtensor";
  record.model.extra_info["library"] = library;
  record.axes = {{"mesh", fmt::format("{}", fmt::join(setup.mesh, "x"))},
                 {"placements", join(placements, ",")},
                 {"shape", fmt::format("{}", fmt::join(setup.shape, "x"))},
                 {"dtype", setup.dtype}};
  record.device = setup.backend == "nccl" ? "cuda" : "cpu";
  record.runner = "torch-rank";
  record.threads = setup.threads;
  record.outcome = result.outcome;
  record.stop = result.stop;
  record.environment = environment;
  if (!result.ranks.empty()) {
    const DispatchDetails& details = result.ranks.front().details;
    record.model.extra_info["cache"] = fmt::format("{} hits, {} misses, {} plans", details.cache_hits,
                                                   details.cache_misses, details.cache_size);
  }
  return record;
}

void add_steps(DispatchRecordMaker& maker) {
  for (const bool hit : {false, true}) {
    for (const char* step : kDispatchSteps) {
      maker.add_time(
          fmt::format("{} {}", hit ? "hit" : "miss", step),
          [&](const DispatchRank& rank) { return step_of(hit ? rank.details.hit : rank.details.miss, step); },
          false);
    }
  }
}

void add_instructions(DispatchRecordMaker& maker) {
  for (const char* kind : {"plain", "local", "miss", "hit"}) {
    maker.add(
        fmt::format("instructions {}", kind), "1", 1,
        [&](const DispatchRank& rank) -> std::vector<double> {
          const auto found = rank.details.instructions.find(kind);
          if (found == rank.details.instructions.end()) return {};
          return {found->second};
        },
        false);
  }
}

}  // namespace

std::vector<Record> dispatch_records(const DispatchResult& result, const DispatchSetup& setup,
                                     const std::string& library,
                                     const std::shared_ptr<const Environment>& environment) {
  Record base = base_record(result, setup, library, environment);
  const bool any =
      std::ranges::any_of(result.ranks, [](const DispatchRank& rank) { return !rank.cycles.hit_ns.empty(); });
  if (!any || result.outcome.kind != Outcome::Kind::kMeasured) {
    if (base.outcome.kind == Outcome::Kind::kMeasured) {
      base.outcome = {Outcome::Kind::kSkipped, "ended before its first cycle"};
    }
    base.metric.name = "hit";
    base.metric.headline = true;
    return {base};
  }
  DispatchRecordMaker maker(result, std::move(base));
  maker.add_time("hit", [](const DispatchRank& rank) { return rank.cycles.hit_ns; });
  maker.add_time("miss", [](const DispatchRank& rank) { return rank.cycles.miss_ns; });
  maker.add_time("propagation", [](const DispatchRank& rank) {
    return round_differences(rank.cycles.miss_ns, rank.cycles.hit_ns);
  });
  maker.add_time("plain", [](const DispatchRank& rank) { return rank.cycles.plain_ns; });
  maker.add_time("local", [](const DispatchRank& rank) { return rank.cycles.local_ns; });
  maker.add_time("hit over local", [](const DispatchRank& rank) {
    return round_differences(rank.cycles.hit_ns, rank.cycles.local_ns);
  });
  maker.add_time("miss over local", [](const DispatchRank& rank) {
    return round_differences(rank.cycles.miss_ns, rank.cycles.local_ns);
  });
  add_steps(maker);
  add_instructions(maker);
  std::vector<Record> records = maker.take();
  records.front().metric.headline = true;
  return records;
}

}  // namespace headroom
