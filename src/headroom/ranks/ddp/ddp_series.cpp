// SPDX-License-Identifier: Apache-2.0
#include "headroom/ranks/ddp/ddp_series.h"

#include <algorithm>

#include "headroom/base/text.h"

namespace headroom {
namespace {

std::vector<DdpStepRecords> steps_of(const std::vector<Record>& records) {
  std::vector<DdpStepRecords> steps;
  for (const Record& record : records) {
    if (record.benchmark.name != "ddp") continue;
    if (record.metric.headline || steps.empty()) {
      steps.emplace_back().latency = &record;
    }
    if (record.outcome.kind == Outcome::Kind::kMeasured) steps.back().metrics[record.metric.name] = &record;
  }
  return steps;
}

bool is_without_ddp(const DdpStepRecords& step) {
  return axis_text(*step.latency, "ddp") == "no";
}

bool is_of(const DdpSeries& series, const Record& record) {
  return series.model == record.model.name && series.batch_size == axis_text(record, "batch_size") &&
         series.image_size == axis_text(record, "image_size") && series.runner == record.runner;
}

DdpSeries series_for(const Record& record) {
  return {record.model.name,
          axis_text(record, "batch_size"),
          axis_text(record, "image_size"),
          axis_text(record, "bucket_size"),
          record.runner,
          {}};
}

}  // namespace

const Record* DdpStepRecords::find(const std::string& metric) const {
  const auto found = metrics.find(metric);
  return found == metrics.end() ? nullptr : found->second;
}

int DdpStepRecords::ranks() const {
  return static_cast<int>(whole_axis(*latency, "ranks").value_or(0));
}

std::string DdpStepRecords::label() const {
  const auto found = latency->model.extra_info.find("step");
  return found == latency->model.extra_info.end() ? "" : found->second;
}

const DdpStepRecords* DdpSeries::without_ddp() const {
  if (steps.empty() || !is_without_ddp(steps.front()) || steps.front().find("latency") == nullptr)
    return nullptr;
  return &steps.front();
}

std::vector<DdpSeries> ddp_series(const std::vector<Record>& records) {
  std::vector<DdpSeries> all;
  std::vector<DdpStepRecords> alone;
  for (const DdpStepRecords& step : steps_of(records)) {
    const Record& record = *step.latency;
    if (is_without_ddp(step)) {
      alone.push_back(step);
      all.push_back(series_for(record));
      all.back().steps.push_back(step);
      continue;
    }
    const std::string bucket = axis_text(record, "bucket_size");
    auto series = std::ranges::find_if(all, [&](const DdpSeries& known) {
      return is_of(known, record) && (known.bucket == bucket || known.bucket.empty());
    });
    if (series == all.end()) {
      all.push_back(series_for(record));
      series = all.end() - 1;
      for (const DdpStepRecords& shared : alone) {
        if (is_of(*series, *shared.latency)) series->steps.push_back(shared);
      }
    }
    series->bucket = bucket;
    series->steps.push_back(step);
  }
  return all;
}

}  // namespace headroom
