// SPDX-License-Identifier: Apache-2.0
#include "headroom/schedule/rank_record.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "headroom/stats/quantile.h"
#include "headroom/stats/series.h"

namespace headroom {
namespace {

void tell_ranks(const std::vector<double>& medians, StringMap& info) {
  for (std::size_t rank = 0; rank < medians.size(); ++rank) {
    info[fmt::format("rank {}", rank)] = fmt::format("{:.6g}", medians[rank]);
  }
  const auto worst = std::ranges::max_element(medians) - medians.begin();
  info["worst rank"] = std::to_string(worst);
}

}  // namespace

std::optional<Record> rank_record(const Record& base, const std::string& metric, const std::string& unit,
                                  double divisor, std::vector<RankColumn> ranks, bool in_rounds) {
  Record record = base;
  record.metric.name = metric;
  record.metric.unit = unit;
  Series series;
  std::vector<double> medians;
  for (RankColumn& rank : ranks) {
    if (rank.values.size() <= rank.warmup) return std::nullopt;
    ProcessSamples samples;
    samples.pid = rank.pid;
    samples.iterations = 1;
    samples.warmup = rank.warmup;
    samples.values = std::move(rank.values);
    for (double& value : samples.values) value /= divisor;
    for (std::uint32_t i = 0; in_rounds && i < samples.values.size(); ++i) samples.rounds.push_back(i);
    const auto steady = std::span(samples.values).subspan(samples.warmup);
    series.values.insert(series.values.end(), steady.begin(), steady.end());
    series.group_sizes.push_back(steady.size());
    medians.push_back(median(steady));
    record.samples.push_back(std::move(samples));
  }
  if (medians.empty()) return std::nullopt;
  if (const auto found = estimate(series)) {
    record.metric.value = found->median;
    record.interval = found->interval;
  }
  tell_ranks(medians, record.metric.extra_info);
  return record;
}

}  // namespace headroom
