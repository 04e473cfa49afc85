// SPDX-License-Identifier: Apache-2.0
#include "headroom/schedule/rank_record.h"

namespace headroom {
std::optional<Record> rank_record(const Record& base, const std::string& metric, const std::string& unit,
                                  double divisor, std::vector<RankColumn> ranks, bool in_rounds) {
  Record record = base;
  record.metric.name = metric;
  record.metric.unit = unit;
  for (RankColumn& rank : ranks) {
    if (rank.values.size() <= rank.warmup) return std::nullopt;
    ProcessSamples samples;
    samples.pid = rank.pid;
    samples.iterations = 1;
    samples.warmup = rank.warmup;
    samples.values = std::move(rank.values);
    for (double& value : samples.values) value /= divisor;
    for (std::uint32_t i = 0; in_rounds && i < samples.values.size(); ++i) samples.rounds.push_back(i);
    record.samples.push_back(std::move(samples));
  }
  if (record.samples.empty()) return std::nullopt;
  estimate(record);
  return record;
}

}  // namespace headroom
