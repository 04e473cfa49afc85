// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/run_utilization.h"

#include <fmt/format.h>

#include <utility>

#include "headroom/base/error.h"
#include "headroom/base/text.h"
#include "headroom/record/gpu_shares.h"
#include "headroom/runner/protocol.h"
#include "headroom/trace/recording/seed_utilization.h"
#include "headroom/trace/tables/reading_notes.h"

namespace headroom::cli {
namespace {

constexpr double kMicroseconds = 1e-6;

/// Busy microseconds of the GPUs in one iteration of the trace: all, and those of products and convolutions.
trace::SeedUtilization busy_us(const std::string& file) {
  trace::ReadOptions options;
  options.needs = trace::kSeedUtilizationNeeds;
  const double length_s = kMicroseconds * static_cast<double>(kTracedIterations);
  const trace::Trace trace = trace::read(file, options);
  // It was recorded a moment ago: what is missing of it is missing in its figures.
  if (std::string missing = trace::what_is_missing(trace); !missing.empty()) throw Error(missing);
  return trace::seed_utilization(trace, length_s);
}

/// The record of a share of the time that `latency` measured.
Record share_of(const Record& latency, const char* metric, double busy_us) {
  Record record = latency;
  record.metric = {};
  record.metric.name = metric;
  record.metric.unit = "1";
  record.metric.direction = Direction::kHigherIsBetter;
  record.metric.value = busy_us / latency.metric.value;
  record.metric.extra_info = {{"busy_us", fmt::format("{:.9g}", busy_us)},
                              {"length_us", fmt::format("{:.9g}", latency.metric.value)},
                              {"traced_iterations", std::to_string(kTracedIterations)}};
  record.limit.reset();
  if (latency.interval)
    record.interval = Interval{busy_us / latency.interval->high, busy_us / latency.interval->low,
                               latency.interval->confidence};
  for (ProcessSamples& process : record.samples) {
    for (double& value : process.values) value = busy_us / value;
  }
  return record;
}

}  // namespace

std::vector<std::string> append_utilization(std::vector<Record>& records) {
  std::vector<std::string> problems;
  std::vector<Record> made;
  for (const Record& record : records) {
    const auto file = record.model.extra_info.find("trace");
    if (file == record.model.extra_info.end() || record.metric.name != "latency") continue;
    try {
      const trace::SeedUtilization busy = busy_us(file->second);
      if (!(busy.utilization > 0)) continue;
      made.push_back(share_of(record, kGpuUtilization, busy.utilization));
      made.push_back(share_of(record, kMmConvUtilization, busy.mm_conv_utilization));
    } catch (const Error& error) {
      problems.push_back("no GPU utilisation of " + case_name(record) + ": " + error.what());
    }
  }
  records.insert(records.end(), std::make_move_iterator(made.begin()), std::make_move_iterator(made.end()));
  return problems;
}

}  // namespace headroom::cli
