// SPDX-License-Identifier: Apache-2.0
#include "headroom/trace/report/trace_records.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>

#include "headroom/base/text.h"

namespace headroom {
namespace {

using EnvironmentPointer = std::shared_ptr<const Environment>;

/// "tesla-v100-sxm2-16gb": what a name is in a fingerprint.
std::string slug(const std::string& name) {
  std::string out;
  for (const char c : name) {
    const char lower = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    const bool plain = (lower >= 'a' && lower <= 'z') || (lower >= '0' && lower <= '9');
    if (plain) out += lower;
    if (!plain && !out.empty() && out.back() != '-') out += '-';
  }
  if (!out.empty() && out.back() == '-') out.pop_back();
  return out;
}

/// Each distinct device once, with the most of it that any trace names; the ranks of a job on one machine
/// name the same ones.
struct Device {
  std::uint32_t count = 0;
  double memory_bytes = 0;
};
std::map<std::string, Device> devices_of(const TraceReport& report) {
  std::map<std::string, Device> devices;
  for (const trace::TraceFacts& facts : report.files) {
    std::map<std::string, std::uint32_t> here;
    for (const trace::DeviceProperties& device : facts.devices) {
      if (device.name.empty()) continue;
      Device& entry = devices[device.name];
      entry.count = std::max(entry.count, ++here[device.name]);
      entry.memory_bytes = std::max(entry.memory_bytes, device.total_memory_bytes);
    }
  }
  return devices;
}

EnvironmentPointer environment_of(const TraceReport& report) {
  constexpr double kGibibyte = 1024.0 * 1024 * 1024;
  Environment environment;
  environment.headroom_version = HEADROOM_VERSION;
  environment.command = report.command;
  for (const trace::TraceFacts& facts : report.files) {
    environment.timestamp = std::max(environment.timestamp, facts.recorded_at_s);
  }
  std::vector<std::string> names;
  for (const auto& [name, device] : devices_of(report)) {
    names.push_back(slug(name));
    Environment::Runner runner;
    runner.name = "gpu";
    runner.type = slug(name);
    runner.gpu_info = name;
    runner.gpu_count = device.count;
    runner.avail_gpu_mem_in_gb = static_cast<std::uint32_t>(device.memory_bytes / kGibibyte);
    environment.machines.push_back(std::move(runner));
  }
  environment.fingerprint = "trace-" + (names.empty() ? "of-unnamed-device" : join(names, "-"));
  environment.extra_info["analysis"] = report.analysis;
  environment.extra_info["traces"] = std::to_string(report.files.size());
  return std::make_shared<const Environment>(std::move(environment));
}

void append(std::vector<Record>& records, const TraceReport& report, const EnvironmentPointer& environment,
            const trace::AnalysisResult& result, const std::string& rank) {
  for (const trace::Headline& headline : result.headlines) {
    if (!std::isfinite(headline.value)) continue;
    Record record;
    record.benchmark.mode = "trace";
    record.model.name = report.name;
    record.model.type = "trace";
    record.metric = {headline.metric,
                     trace_unit(headline.kind),
                     headline.lower_is_better ? Direction::kLowerIsBetter : Direction::kHigherIsBetter,
                     headline.value,
                     {},
                     {},
                     false,
                     {{"analysis", report.analysis}}};
    if (!rank.empty()) record.axes.emplace_back("rank", rank);
    if (!headline.device.empty()) record.axes.emplace_back("device", headline.device);
    record.device = "gpu";
    record.runner = "trace";
    record.environment = environment;
    records.push_back(std::move(record));
  }
}

}  // namespace

const char* trace_unit(trace::Kind kind) {
  switch (kind) {
    case trace::Kind::kTimeNs:
    case trace::Kind::kInstantNs:
      return "ns";
    case trace::Kind::kBytes:
      return "B";
    case trace::Kind::kGigabytesPerSecond:
      return "GB/s";
    case trace::Kind::kGigaflopsPerSecond:
      return "GFLOP/s";
    default:
      return "1";
  }
}

std::vector<Record> trace_records(const TraceReport& report) {
  std::vector<Record> records;
  const EnvironmentPointer environment = environment_of(report);
  append(records, report, environment, report.result, "");
  for (const trace::RankResult& rank : report.ranks) {
    append(records, report, environment, rank.result, std::to_string(rank.rank));
  }
  return records;
}

}  // namespace headroom
