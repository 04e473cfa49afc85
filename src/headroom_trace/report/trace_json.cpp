// SPDX-License-Identifier: Apache-2.0
#include "headroom_trace/report/trace_json.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>

#include "headroom/base/text.h"
#include "headroom/record/formats.h"

namespace headroom {
namespace {

using EnvironmentPointer = std::shared_ptr<const Environment>;

/// A name's form in a fingerprint: "tesla-v100-sxm2-16gb".
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

Json table_json(const trace::DataTable& table) {
  Json rows = Json::array();
  for (const std::vector<trace::Cell>& cells : table.rows) {
    Json row = Json::object();
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
      row[table.columns[i].key] = i < cells.size() ? cell_json(cells[i]) : Json(nullptr);
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

/// What the columns of a table are called, and the unit of their numbers.
Json columns_json(const trace::DataTable& table) {
  Json list = Json::array();
  for (const trace::Column& column : table.columns) {
    const bool is_number = column.kind != trace::Kind::kText;
    list.push_back({{"key", column.key},
                    {"title", column.title},
                    {"unit", is_number ? Json(trace_unit(column.kind)) : Json(nullptr)}});
  }
  return list;
}

Json headlines_json(const trace::AnalysisResult& result) {
  Json list = Json::array();
  for (const trace::Headline& headline : result.headlines) {
    Json entry{{"metric", headline.metric},
               {"unit", trace_unit(headline.kind)},
               {"lower_is_better", headline.lower_is_better},
               {"value", headline.value}};
    if (!headline.device.empty()) entry["device"] = headline.device;
    list.push_back(std::move(entry));
  }
  return list;
}

Json file_json(const trace::TraceFacts& facts) {
  Json problems = Json::array();
  for (const trace::Problem& problem : facts.problems.first) {
    problems.push_back({{"offset", problem.offset}, {"what", problem.what}});
  }
  Json file{{"file", facts.source},
            {"file_bytes", facts.file_bytes},
            {"json_bytes", facts.json_bytes},
            {"events", facts.events_seen},
            {"is_complete", facts.is_complete},
            {"problems", facts.problems.count},
            {"events_skipped", facts.problems.events_skipped},
            {"first_problems", std::move(problems)}};
  if (facts.rank) file["rank"] = *facts.rank;
  if (facts.world_size) file["world_size"] = *facts.world_size;
  Json devices = Json::array();
  for (const trace::DeviceProperties& device : facts.devices) {
    devices.push_back({{"device", device.id}, {"name", device.name}});
  }
  file["devices"] = std::move(devices);
  return file;
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

Json cell_json(const trace::Cell& cell) {
  if (const auto* text = std::get_if<std::string>(&cell)) return *text;
  if (const auto* whole = std::get_if<std::int64_t>(&cell)) return *whole;
  if (const auto* number = std::get_if<double>(&cell)) return *number;
  return nullptr;
}

Json trace_json(const TraceReport& report) {
  Json files = Json::array();
  for (const trace::TraceFacts& facts : report.files) files.push_back(file_json(facts));
  Json tables = Json::object();
  Json columns = Json::object();
  for (const trace::DataTable& table : report.result.tables) {
    tables[table.key] = table_json(table);
    columns[table.key] = columns_json(table);
  }
  Json json{{"schema", 1},
            {"analysis", report.analysis},
            {"name", report.name},
            {"files", std::move(files)},
            {"headlines", headlines_json(report.result)},
            {"tables", std::move(tables)},
            {"columns", std::move(columns)},
            {"answer", report.result.answer},
            {"notes", report.result.notes}};
  if (report.ranks.empty()) return json;
  Json ranks = Json::array();
  for (const trace::RankResult& rank : report.ranks) {
    ranks.push_back({{"rank", rank.rank},
                     {"file", rank.source},
                     {"headlines", headlines_json(rank.result)},
                     {"notes", rank.result.notes}});
  }
  json["ranks"] = std::move(ranks);
  return json;
}

std::string trace_json_text(const TraceReport& report) {
  std::string text = to_json_text(trace_records(report));
  text.resize(text.rfind('}'));
  return text + ",\n\"trace\": " + dump_json_pretty(trace_json(report)) + "}\n";
}

}  // namespace headroom
