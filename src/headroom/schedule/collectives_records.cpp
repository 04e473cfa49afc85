// SPDX-License-Identifier: Apache-2.0
#include "headroom/schedule/collectives_records.h"

#include <fmt/format.h>

#include "headroom/stats/interval.h"
#include "headroom/stats/quantile.h"

namespace headroom {
namespace {

void add_percentiles(const Record& latency, std::vector<Record>& records) {
  const Series series = steady(latency);
  for (const int percent : kLatencyPercentiles) {
    Record record = latency;
    record.samples.clear();
    record.modes = {};
    record.metric.headline = false;
    record.metric.extra_info.clear();
    record.metric.name = fmt::format("latency p{}", percent);
    record.metric.value = quantile(series.values, percent / 100.0);
    record.interval = series_quantile_interval(series.values, percent / 100.0, series.group_sizes);
    records.push_back(std::move(record));
  }
}

}  // namespace

std::vector<Record> collective_records(std::vector<Record> records) {
  std::vector<Record> all;
  for (Record& record : records) {
    record.model.type = "collective";
    all.push_back(std::move(record));
    const Record latency = all.back();
    if (latency.metric.name == "latency" && sample_count(latency) > 0) add_percentiles(latency, all);
  }
  return all;
}

}  // namespace headroom
