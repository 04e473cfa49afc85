// SPDX-License-Identifier: Apache-2.0
#include "headroom_trace/report/trace_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <string_view>

#include "headroom/base/text.h"
#include "headroom/base/units.h"
#include "headroom/files/csv.h"
#include "headroom/record/formats.h"

namespace headroom {
namespace {

Table headlines_table(const trace::AnalysisResult& result, const TraceTextOptions& options) {
  Table table({{"metric"}, {"device"}, {"value", Align::kRight}});
  for (const trace::Headline& headline : result.headlines) {
    table.row({headline.metric, headline.device.empty() ? "all" : headline.device,
               trace_cell_text(headline.value, headline.kind, options)});
  }
  return table;
}

using trace::AnalysisResult;
using trace::Cell;
using trace::DataTable;
using trace::Kind;

/// The sentence of a headline; its value replaces '#'.
struct Phrase {
  std::string_view analysis, metric, text, of_one = {};
};

constexpr std::array kPhrases = {
    Phrase{"utilization", "utilization", "GPU busy # of the time"},
    Phrase{"utilization", "matmul_convolution_share", "matrix products and convolutions take # of the time"},
    Phrase{"utilization", "exposed_communication_share", "exposed communication #"},
    Phrase{"summary", "utilization", "GPU busy # of the time"},
    Phrase{"summary", "exposed_communication_share", "exposed communication # of the time"},
    Phrase{"findings", "recoverable_ns", "# could be gained"},
    Phrase{"overlap", "overlap", "# of communication overlaps compute"},
    Phrase{"overlap", "exposed_communication_share", "exposed communication # of the time"},
    Phrase{"overlap", "exposed_memory_share", "exposed copies # of the time"},
    Phrase{"steps", "steps", "# steps", "# step"},
    Phrase{"steps", "step_time_ns", "median # each"},
    Phrase{"steps", "step_utilization", "GPU busy # of the time"},
    Phrase{"kernels", "gpu_events", "# GPU events", "# GPU event"},
    Phrase{"kernels", "gpu_time_ns", "# in all"},
    Phrase{"ops", "calls", "# CPU calls", "# CPU call"},
    Phrase{"ops", "self_cpu_ns", "# of CPU time"},
    Phrase{"ops", "self_device_ns", "# of device time"},
    Phrase{"queue", "queue_empty_share", "queues empty # of the time"},
    Phrase{"queue", "queue_length_mean", "mean length #"},
    Phrase{"queue", "queue_blocked_ns", "launching blocks for #"},
    Phrase{"idle", "idle_share", "GPU idle # of the time"},
    Phrase{"idle", "host_wait_share", "waiting for the CPU # of the time"},
    Phrase{"memory", "transfer_bytes", "# copied"},
    Phrase{"memory", "transfer_ns", "in #"},
    Phrase{"memory", "peak_allocated_bytes", "peak # allocated"},
    Phrase{"memory", "peak_reserved_bytes", "peak # reserved"},
    Phrase{"modules", "modules", "# modules", "# module"},
    Phrase{"modules", "lines", "# Python lines", "# Python line"},
    Phrase{"modules", "placed_device_ns", "# of device time in them"},
    Phrase{"roofline", "roof_share", "operators reach # of the roofline"},
    Phrase{"roofline", "roofline_covered", "cost known for # of the time"},
    Phrase{"efficiency", "sm_efficiency", "SM efficiency is #"},
    Phrase{"efficiency", "achieved_occupancy", "achieved occupancy #"},
    Phrase{"validate", "problems", "# problems in the file", "# problem in the file"},
    Phrase{"validate", "events_left_out", "# events left out", "# event left out"},
    Phrase{"validate", "anomalies", "# anomalies among its events", "# anomaly among its events"},
    Phrase{"launch", "launch_delay_median_ns", "median wait # from launch to start"},
    Phrase{"launch", "launch_call_median_ns", "median launch call #"},
    Phrase{"critical-path", "critical_path", "the critical path takes #"},
    Phrase{"critical-path", "job_critical_path", "the job's critical path takes #"},
    Phrase{"collectives", "collectives", "# collectives", "# collective"},
    Phrase{"collectives", "communication_time", "# of communication"},
    Phrase{"collectives", "collective_latency", "collectives take #"},
    Phrase{"collectives", "collective_skew", "ranks enter them # apart in all"},
    Phrase{"stragglers", "long_communication_kernels", "# long communication kernels",
           "# long communication kernel"},
};

struct Leader {
  std::string_view analysis, table, column, what;
};

constexpr std::array kLeaders = {
    Leader{"kernels", "kernels", "share", "most"},
    Leader{"ops", "ops", "self_device_share", "most GPU time"},
    Leader{"ops", "ops", "self_cpu_share", "most CPU time"},
    Leader{"modules", "modules", "own_device_ns", "module with most GPU time of its own"},
    Leader{"modules", "lines", "own_device_ns", "line with most GPU time of its own"},
    Leader{"critical-path", "classes", "share", "most"},
    Leader{"roofline", "roofline", "above_roof_ns", "furthest above the roofline"},
};

/// One value, or one per rank.
std::vector<trace::Headline> values_of(const TraceReport& report, std::string_view metric) {
  std::vector<trace::Headline> values;
  const auto take = [&](const AnalysisResult& result) {
    for (const trace::Headline& one : result.headlines) {
      if (one.metric == metric && one.device.empty()) values.push_back(one);
    }
  };
  take(report.result);
  if (!values.empty()) return values;
  for (const trace::RankResult& rank : report.ranks) take(rank.result);
  return values;
}

/// "57.6 %" or "44.8 % to 47.1 %"; nothing if the metric is absent.
std::optional<std::string> value_text(const TraceReport& report, std::string_view metric) {
  const std::vector<trace::Headline> values = values_of(report, metric);
  if (values.empty()) return std::nullopt;
  const auto [least, most] = std::ranges::minmax(values, {}, &trace::Headline::value);
  const auto text = [](const trace::Headline& one) {
    const bool is_whole = one.kind == Kind::kCount;
    return trace_cell_text(is_whole ? Cell{static_cast<std::int64_t>(one.value)} : Cell{one.value}, one.kind);
  };
  return least.value == most.value ? text(least) : text(least) + " to " + text(most);
}

std::string phrases_text(const TraceReport& report) {
  std::vector<std::string> parts;
  for (const Phrase& phrase : kPhrases) {
    if (phrase.analysis != report.analysis) continue;
    const auto value = value_text(report, phrase.metric);
    if (!value) continue;
    std::string text(*value == "1" && !phrase.of_one.empty() ? phrase.of_one : phrase.text);
    parts.push_back(text.replace(text.find('#'), 1, *value));
  }
  if (parts.empty()) return {};
  const std::string of = report.result.ranks == 0 ? "" : fmt::format("{} ranks: ", report.result.ranks);
  return of + join(parts, ", ");
}

std::optional<std::size_t> column_of(const DataTable& table, std::string_view key) {
  const auto found = std::ranges::find(table.columns, key, &trace::Column::key);
  if (found == table.columns.end()) return std::nullopt;
  return static_cast<std::size_t>(found - table.columns.begin());
}

std::string leader_text(const AnalysisResult& result, const Leader& leader) {
  const auto table = std::ranges::find(result.tables, leader.table, &DataTable::key);
  if (table == result.tables.end() || table->rows.empty()) return {};
  const auto column = column_of(*table, leader.column);
  if (!column) return {};
  const auto number = [&](const std::vector<Cell>& row) {
    const Cell& cell = row.at(*column);
    if (const auto* whole = std::get_if<std::int64_t>(&cell)) return static_cast<double>(*whole);
    const auto* value = std::get_if<double>(&cell);
    return value == nullptr ? 0 : *value;
  };
  const std::vector<Cell>& row = *std::ranges::max_element(table->rows, {}, number);
  if (!(number(row) > 0)) return {};
  return fmt::format("{}: {}, {}", leader.what, trace_cell_text(row.front(), Kind::kText),
                     trace_cell_text(row[*column], table->columns[*column].kind));
}

std::string plain_text(const trace::Cell& cell) {
  if (const auto* text = std::get_if<std::string>(&cell)) return *text;
  if (const auto* whole = std::get_if<std::int64_t>(&cell)) return std::to_string(*whole);
  const auto* number = std::get_if<double>(&cell);
  return number != nullptr && std::isfinite(*number) ? fmt::format("{}", *number) : "";
}

using EnvironmentPointer = std::shared_ptr<const Environment>;

/// "tesla-v100-sxm2-16gb".
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

/// Ranks on one machine name the same devices: the maximum counts.
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

bool writes_file(const TraceReport& report) {
  const auto writes = [](const trace::AnalysisResult& result) { return !result.files.empty(); };
  return writes(report.result) || std::ranges::any_of(report.ranks, writes, &trace::RankResult::result);
}

EnvironmentPointer environment_of(const TraceReport& report) {
  constexpr double kGibibyte = 1024.0 * 1024 * 1024;
  Environment environment;
  environment.headroom_version = HEADROOM_VERSION;
  environment.command = report.command;
  environment.options.traces = report.operands;
  environment.options.writes_file = writes_file(report);
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
    record.instrument = Instrument::kTrace;
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

View trace_view(const trace::AnalysisResult& result, const TraceTextOptions& options) {
  View view;
  for (const std::string& sentence : result.answer) view.answer(with_short_words(sentence, options));
  for (const trace::DataTable& data : result.tables) {
    if (data.is_for_combining || data.is_in_answer) continue;
    view.title(with_short_words(data.title, options) + (data.rows.empty() ? ": none" : ""));
    view.table(trace_table(data, options));
  }
  if (result.tables.empty() && !result.headlines.empty()) view.table(headlines_table(result, options));
  const bool is_alone = result.answer.empty() && result.tables.empty() && result.headlines.empty();
  std::string notes = result.notes.empty() || options.markdown || is_alone ? "" : "\n";
  for (const std::string& note : result.notes) notes += "- " + with_short_words(note, options) + "\n";
  return view.notes(notes, Tone::kPlain);
}

std::vector<std::string> trace_answer(const TraceReport& report) {
  const AnalysisResult& result = report.result;
  std::vector<std::string> answer;
  if (!result.doubts.empty()) answer.push_back("warning: " + join(result.doubts, "; "));
  if (!result.answer.empty() || !result.standing.empty()) {
    // The step, what to fix, then how complete that is.
    const auto first = result.standing.begin() + (result.standing.empty() ? 0 : 1);
    answer.insert(answer.end(), result.standing.begin(), first);
    answer.insert(answer.end(), result.answer.begin(), result.answer.end());
    answer.insert(answer.end(), first, result.standing.end());
    return answer;
  }
  const std::size_t above = answer.size();
  if (std::string text = phrases_text(report); !text.empty()) answer.push_back(std::move(text));
  for (const Leader& leader : kLeaders) {
    if (leader.analysis != report.analysis) continue;
    if (std::string text = leader_text(result, leader); !text.empty()) answer.push_back(std::move(text));
  }
  if (answer.size() == above && !result.notes.empty()) answer.push_back(result.notes.front());
  return answer;
}

std::string trace_csv(const trace::DataTable& table) {
  CsvRow line;
  for (const trace::Column& column : table.columns) line.push_back(column.key);
  std::string out = csv_line(line);
  for (const std::vector<trace::Cell>& row : table.rows) {
    line.clear();
    for (const trace::Cell& cell : row) line.push_back(plain_text(cell));
    out += csv_line(line);
  }
  return out;
}

std::string trace_csv(const trace::AnalysisResult& result) {
  std::string out;
  for (const trace::DataTable& table : result.tables) {
    if (!out.empty()) out += "\n";
    out += fmt::format("# {}: {}\n", table.key, table.title) + trace_csv(table);
  }
  return out;
}

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
            {"trust", report.result.doubts},
            {"standing", report.result.standing},
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
