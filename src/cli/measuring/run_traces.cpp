// SPDX-License-Identifier: Apache-2.0
#include "cli/measuring/run_traces.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "headroom/base/error.h"
#include "headroom/base/files.h"
#include "headroom/base/json.h"
#include "headroom/base/text.h"
#include "headroom/console/output.h"
#include "headroom/console/program.h"
#include "headroom/process/spawn.h"
#include "headroom/record/formats/seed_rows.h"
#include "headroom/record/metrics.h"
#include "headroom/runner/protocol.h"

namespace headroom::cli {
namespace {

/// What `headroom-trace --recorded-utilization` says of a trace.
struct BusyTime {
  double utilization_us = 0, mm_conv_us = 0;
  std::string problem;
};

BusyTime busy_time(const Json& answer) {
  if (const std::string problem = answer.value("error", ""); !problem.empty()) return {0, 0, problem};
  return {answer.at("utilization").get<double>(), answer.at("mm_conv_utilization").get<double>(), ""};
}

/// Busy microseconds of the GPUs in one iteration of each trace.
std::map<std::string, BusyTime> busy_times(const std::set<std::string>& files) {
  std::map<std::string, BusyTime> found;
  const auto fail = [&](const std::string& problem) {
    for (const std::string& file : files) found[file] = {0, 0, problem};
    return found;
  };
  SpawnOptions options;
  options.arguments = {find_program_of_ours("headroom-trace"), "--recorded-utilization",
                       std::to_string(kTracedIterations)};
  if (options.arguments.front().empty())
    return fail("headroom-trace, which reads traces, is neither beside this program nor in PATH");
  options.arguments.insert(options.arguments.end(), files.begin(), files.end());
  options.capture_bytes = std::size_t{1} << 24;
  try {
    Child child(options);
    const std::optional<ExitStatus> status = child.wait(std::chrono::milliseconds(-1));
    if (!status || !status->ok())
      return fail("headroom-trace: " + (status ? status->text() : "it does not end"));
    const Json answers = parse_json(child.captured_output(), "what headroom-trace printed");
    for (const Json& answer : answers) found[answer.at("file").get<std::string>()] = busy_time(answer);
  } catch (const std::exception& error) {
    return fail(error.what());
  }
  return found;
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

void require_traces(const std::string& folder, const std::vector<Group>& groups,
                    const std::vector<RunnerOffer>& offers) {
  std::set<std::string> runners;
  for (const Group& group : groups) {
    for (const PlannedCase& planned : group.cases) {
      if (offers.at(planned.runner).traces)
        return require_writable(std::filesystem::path(folder) / "trace.json");
      runners.insert(offers.at(planned.runner).label);
    }
  }
  throw Error("--trace: " + join(std::vector(runners.begin(), runners.end()), ", ") +
              " cannot record what a case does; headroom-torch (--backend aten, or --module FILE) "
              "and headroom-cuda (--backend cuda) can");
}

void report_traces(const std::string& folder, const std::vector<Record>& records) {
  std::set<std::string> files, said;
  std::string of_gpu;
  for (const Record& record : records) {
    const StringMap& extra = record.model.extra_info;
    if (const auto trace = extra.find("trace"); trace != extra.end()) {
      files.insert(trace->second);
      if (of_gpu.empty() && record.metric.name == kGpuUtilization) of_gpu = trace->second;
    }
    const auto untraced = extra.find("untraced");
    if (untraced == extra.end()) continue;
    const std::string what = "no trace of " + case_name(record) + " by " + record.model.backend + " [" +
                             record.runner + "]: " + untraced->second;
    if (said.insert(what).second) say_sentence(what);
  }
  if (files.empty()) return;
  say("{} trace{} in {}; for example: headroom trace {} {}", files.size(), files.size() == 1 ? "" : "s",
      folder, of_gpu.empty() ? "ops" : "kernels", in_quotes(of_gpu.empty() ? *files.begin() : of_gpu));
}

std::vector<std::string> append_utilization(std::vector<Record>& records) {
  std::set<std::string> files;
  const auto trace_of = [](const Record& record) -> std::string {
    const auto file = record.model.extra_info.find("trace");
    return file == record.model.extra_info.end() || record.metric.name != "latency" ? "" : file->second;
  };
  for (const Record& record : records) {
    if (std::string file = trace_of(record); !file.empty()) files.insert(std::move(file));
  }
  if (files.empty()) return {};
  std::map<std::string, BusyTime> times = busy_times(files);
  std::vector<std::string> problems;
  std::vector<Record> made;
  for (const Record& record : records) {
    const std::string file = trace_of(record);
    if (file.empty()) continue;
    const BusyTime& busy = times[file];
    if (!busy.problem.empty())
      problems.push_back("no GPU utilisation of " + case_name(record) + ": " + busy.problem);
    if (!(busy.utilization_us > 0)) continue;
    made.push_back(share_of(record, kGpuUtilization, busy.utilization_us));
    made.push_back(share_of(record, kMmConvUtilization, busy.mm_conv_us));
  }
  records.insert(records.end(), std::make_move_iterator(made.begin()), std::make_move_iterator(made.end()));
  return problems;
}

}  // namespace headroom::cli
