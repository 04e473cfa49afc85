// SPDX-License-Identifier: Apache-2.0
#include "headroom_trace/report/trace_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string_view>

#include "headroom/base/text.h"
#include "headroom/base/units.h"
#include "headroom/files/csv.h"
#include "headroom/record/formats.h"
#include "headroom/tables/width.h"

namespace headroom {
namespace {

constexpr const char* kCut = "…";

bool is_inside_character(char c) {
  return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U;
}

std::string shortened_inside(const std::string& text, std::size_t most) {
  if (display_width(text) <= most) return text;
  const std::size_t head = most * 2 / 3, tail = most - head - 1;
  return fmt::format("{}{}{}", first_columns(text, head), kCut, last_columns(text, tail));
}

/// In whole characters.
std::size_t shared_beginning(const std::vector<const std::string*>& names) {
  const std::string& first = *names.front();
  std::size_t shared = first.size();
  for (const std::string* name : names) {
    const auto differing = std::mismatch(first.begin(), first.end(), name->begin(), name->end()).first;
    shared = std::min(shared, static_cast<std::size_t>(differing - first.begin()));
  }
  while (shared > 0 && shared < first.size() && is_inside_character(first[shared])) --shared;
  return shared;
}

/// Keeps the beginning, the text around byte `shared`, and the end.
std::string shortened_around(const std::string& name, std::size_t shared, std::size_t most) {
  constexpr std::size_t kBefore = 4;
  const std::size_t head = most / 3, around = most / 3, tail = most - head - around - 2;
  const std::string_view before = last_columns(std::string_view(name).substr(0, shared), kBefore);
  const std::size_t from = shared - before.size();
  const std::string_view differing = first_columns(std::string_view(name).substr(from), around);
  const std::size_t rest = from + differing.size();
  const std::string_view end = last_columns(std::string_view(name).substr(rest), tail);
  return fmt::format("{}{}{}{}{}", first_columns(std::string_view(name).substr(0, from), head), kCut,
                     differing, rest + end.size() < name.size() ? kCut : "", end);
}

using ByText = std::map<std::string, std::vector<const std::string*>>;

/// Shortens equal texts again around their first difference.
void settle(const ByText& by_text, std::size_t most, std::size_t looked_at,
            std::map<std::string, std::string>& chosen) {
  for (const auto& [text, names] : by_text) {
    if (names.size() == 1) {
      chosen[*names.front()] = text;
      continue;
    }
    const std::size_t shared = shared_beginning(names);
    ByText closer;
    for (const std::string* name : names) closer[shortened_around(*name, shared, most)].push_back(name);
    // Each recursion compares a later place; the first may not separate any names.
    if (closer.size() > 1 || shared > looked_at) {
      settle(closer, most, shared, chosen);
      continue;
    }
    std::size_t number = 0;
    for (const std::string* name : names) chosen[*name] = fmt::format("{} #{}", text, ++number);
  }
}

void number_repeats(const std::vector<std::string>& names, std::map<std::string, std::string>& chosen) {
  std::set<std::string> taken, done;
  for (const std::string& name : names) {
    if (!done.insert(name).second) continue;
    std::string& text = chosen[name];
    const std::string plain = text;
    for (std::size_t number = 2; !taken.insert(text).second; ++number)
      text = fmt::format("{} #{}", plain, number);
  }
}

using trace::Cell;
using trace::Kind;

constexpr const char* kNothing = "-";
/// Kernel names have up to thousands of characters.
constexpr std::size_t kNameWidth = 72, kShortestName = 24;

std::string instant_text(std::int64_t ns) {
  const auto whole = std::lldiv(ns, 1'000'000'000);
  return fmt::format("{}{}.{:09} s", ns < 0 ? "-" : "", std::llabs(whole.quot), std::llabs(whole.rem));
}

std::string rate_text(double giga, const char* unit) {
  constexpr double kThousand = 1000;
  if (std::abs(giga) < kThousand) return fmt::format("{} G{}", format_number(giga), unit);
  return fmt::format("{} T{}", format_number(giga / kThousand), unit);
}

std::string number_text(double value, Kind kind) {
  if (!std::isfinite(value)) return kNothing;
  switch (kind) {
    case Kind::kTimeNs:
      return format_time_ns(value);
    case Kind::kBytes:
      return format_bytes(value);
    case Kind::kShare:
      return format_percent(value);
    case Kind::kGigabytesPerSecond:
      return rate_text(value, "B/s");
    case Kind::kGigaflopsPerSecond:
      return rate_text(value, "FLOP/s");
    default:
      return format_number(value);
  }
}

std::size_t name_width(const TraceTextOptions& options) {
  const bool narrow = options.width > 0 && !options.markdown;
  return narrow ? std::clamp(options.width / 2, kShortestName, kNameWidth) : kNameWidth;
}

bool is_whole(Kind kind) {
  return kind == Kind::kCount || kind == Kind::kNumber || kind == Kind::kText;
}

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
  std::string_view analysis, metric, text;
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
    Phrase{"steps", "steps", "# steps"},
    Phrase{"steps", "step_time_ns", "median # each"},
    Phrase{"steps", "step_utilization", "GPU busy # of the time"},
    Phrase{"kernels", "gpu_events", "# GPU events"},
    Phrase{"kernels", "gpu_time_ns", "# in all"},
    Phrase{"ops", "calls", "# CPU calls"},
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
    Phrase{"modules", "modules", "# modules"},
    Phrase{"modules", "lines", "# Python lines"},
    Phrase{"modules", "placed_device_ns", "# of device time in them"},
    Phrase{"roofline", "roof_share", "operators reach # of the roofline"},
    Phrase{"roofline", "roofline_covered", "cost known for # of the time"},
    Phrase{"efficiency", "sm_efficiency", "SM efficiency is #"},
    Phrase{"efficiency", "achieved_occupancy", "achieved occupancy #"},
    Phrase{"validate", "problems", "# problems in the file"},
    Phrase{"validate", "events_left_out", "# events left out"},
    Phrase{"validate", "anomalies", "# anomalies among its events"},
    Phrase{"launch", "launch_delay_median_ns", "median wait # from launch to start"},
    Phrase{"launch", "launch_call_median_ns", "median launch call #"},
    Phrase{"critical-path", "critical_path", "the critical path takes #"},
    Phrase{"critical-path", "job_critical_path", "the job's critical path takes #"},
    Phrase{"collectives", "collectives", "# collectives"},
    Phrase{"collectives", "communication_time", "# of communication"},
    Phrase{"collectives", "collective_latency", "collectives take #"},
    Phrase{"collectives", "collective_skew", "ranks enter them # apart in all"},
    Phrase{"stragglers", "long_communication_kernels", "# long communication kernels"},
};

struct Leader {
  std::string_view analysis, table, share, what;
};

constexpr std::array kLeaders = {
    Leader{"kernels", "kernels", "share", "most"},
    Leader{"ops", "ops", "self_device_share", "most GPU time"},
    Leader{"ops", "ops", "self_cpu_share", "most CPU time"},
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
    std::string text(phrase.text);
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
  const auto share = column_of(*table, leader.share);
  if (!share) return {};
  const auto number = [&](const std::vector<Cell>& row) {
    const double* value = std::get_if<double>(&row.at(*share));
    return value == nullptr ? 0 : *value;
  };
  const std::vector<Cell>& row = *std::ranges::max_element(table->rows, {}, number);
  if (!(number(row) > 0)) return {};
  return fmt::format("{}: {}, {}", leader.what, trace_cell_text(row.front(), Kind::kText),
                     trace_cell_text(row[*share], Kind::kShare));
}

std::string plain_text(const trace::Cell& cell) {
  if (const auto* text = std::get_if<std::string>(&cell)) return *text;
  if (const auto* whole = std::get_if<std::int64_t>(&cell)) return std::to_string(*whole);
  const auto* number = std::get_if<double>(&cell);
  return number != nullptr && std::isfinite(*number) ? fmt::format("{}", *number) : "";
}

/// Distinct short texts; empty for columns of numbers.
std::vector<std::string> texts_of(const trace::DataTable& data, std::size_t column,
                                  const TraceTextOptions& options) {
  if (data.columns[column].kind != Kind::kText) return {};
  std::vector<std::string> texts;
  for (const std::vector<Cell>& row : data.rows)
    texts.push_back(trace_cell_text(row.at(column), Kind::kText, {.full_names = true}));
  return options.full_names ? texts : shortened_names(texts, name_width(options));
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

std::vector<std::string> shortened_names(const std::vector<std::string>& names, std::size_t most) {
  const std::set<std::string> distinct(names.begin(), names.end());
  ByText by_text;
  for (const std::string& name : distinct) by_text[shortened_inside(name, most)].push_back(&name);
  std::map<std::string, std::string> chosen;
  settle(by_text, most, 0, chosen);
  number_repeats(names, chosen);
  std::vector<std::string> texts;
  texts.reserve(names.size());
  for (const std::string& name : names) texts.push_back(chosen[name]);
  return texts;
}

std::string trace_cell_text(const Cell& cell, Kind kind, const TraceTextOptions& options) {
  if (const auto* text = std::get_if<std::string>(&cell)) {
    return options.full_names ? *text : shortened_names({*text}, name_width(options)).front();
  }
  if (const auto* whole = std::get_if<std::int64_t>(&cell)) {
    if (kind == Kind::kInstantNs) return instant_text(*whole - options.origin_ns);
    return is_whole(kind) ? std::to_string(*whole) : number_text(static_cast<double>(*whole), kind);
  }
  if (const auto* number = std::get_if<double>(&cell)) {
    if (kind != Kind::kInstantNs) return number_text(*number, kind);
    return instant_text(std::llround(*number) - options.origin_ns);
  }
  return kNothing;
}

Table trace_table(const trace::DataTable& data, const TraceTextOptions& options) {
  std::vector<Table::Column> columns;
  for (const trace::Column& column : data.columns) {
    columns.push_back({column.title, column.kind == Kind::kText ? Align::kLeft : Align::kRight});
  }
  Table table(std::move(columns));
  std::vector<std::vector<std::string>> texts;
  for (std::size_t i = 0; i < data.columns.size(); ++i) texts.push_back(texts_of(data, i, options));
  for (std::size_t place = 0; place < data.rows.size(); ++place) {
    const std::vector<Cell>& row = data.rows[place];
    std::vector<std::string> cells;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const Kind kind = data.columns.at(i).kind;
      cells.push_back(kind == Kind::kText ? texts[i][place] : trace_cell_text(row[i], kind, options));
    }
    table.row(std::move(cells));
  }
  return table;
}

View trace_view(const trace::AnalysisResult& result, const TraceTextOptions& options) {
  View view;
  for (const std::string& sentence : result.answer) view.answer(sentence);
  for (const trace::DataTable& data : result.tables) {
    if (data.is_for_combining || data.is_in_answer) continue;
    view.title(data.title + (data.rows.empty() ? ": none" : ""));
    view.table(trace_table(data, options));
  }
  if (result.tables.empty() && !result.headlines.empty()) view.table(headlines_table(result, options));
  const bool is_alone = result.answer.empty() && result.tables.empty() && result.headlines.empty();
  std::string notes = result.notes.empty() || options.markdown || is_alone ? "" : "\n";
  for (const std::string& note : result.notes) notes += "- " + note + "\n";
  return view.notes(notes, Tone::kPlain);
}

std::vector<std::string> trace_answer(const TraceReport& report) {
  std::vector<std::string> answer;
  if (!report.result.doubts.empty()) answer.push_back("warning: " + join(report.result.doubts, "; "));
  answer.insert(answer.end(), report.result.standing.begin(), report.result.standing.end());
  if (!report.result.answer.empty() || !report.result.standing.empty()) {
    answer.insert(answer.end(), report.result.answer.begin(), report.result.answer.end());
    return answer;
  }
  const std::size_t above = answer.size();
  if (std::string text = phrases_text(report); !text.empty()) answer.push_back(std::move(text));
  for (const Leader& leader : kLeaders) {
    if (leader.analysis != report.analysis) continue;
    if (std::string text = leader_text(report.result, leader); !text.empty())
      answer.push_back(std::move(text));
  }
  if (answer.size() == above && !report.result.notes.empty()) answer.push_back(report.result.notes.front());
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
