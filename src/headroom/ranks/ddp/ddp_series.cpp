// SPDX-License-Identifier: Apache-2.0
#include "headroom/ranks/ddp/ddp_series.h"

#include <algorithm>
#include <utility>

#include "headroom/base/text.h"

namespace headroom {
namespace {

bool is_without_ddp(const DdpStepRecords& step) {
  return axis_text(*step.first, "ddp") == "no";
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

std::vector<MeasuredCase> ddp_cases(const std::vector<Record>& records) {
  std::vector<MeasuredCase> cases = measured_cases(records);
  std::erase_if(cases, [](const MeasuredCase& one) { return one.first->benchmark.name != "ddp"; });
  return cases;
}

std::string ddp_step_label(const Record& record) {
  const auto found = record.model.extra_info.find("step");
  return found == record.model.extra_info.end() ? "" : found->second;
}

int DdpStepRecords::ranks() const {
  return static_cast<int>(whole_axis(*first, "ranks").value_or(0));
}

const DdpStepRecords* DdpSeries::without_ddp() const {
  if (steps.empty() || !is_without_ddp(steps.front()) || steps.front().find("latency") == nullptr)
    return nullptr;
  return &steps.front();
}

std::vector<DdpSeries> ddp_series(const std::vector<Record>& records) {
  std::vector<DdpSeries> all;
  std::vector<DdpStepRecords> alone;
  for (MeasuredCase& one : ddp_cases(records)) {
    const DdpStepRecords step{std::move(one)};
    const Record& record = *step.first;
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
        if (is_of(*series, *shared.first)) series->steps.push_back(shared);
      }
    }
    series->bucket = bucket;
    series->steps.push_back(step);
  }
  return all;
}

}  // namespace headroom
