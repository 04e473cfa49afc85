// SPDX-License-Identifier: Apache-2.0
#include "headroom_trace/report/file_analysis.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <exception>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <set>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>

#include "headroom/base/error.h"
#include "headroom/base/json.h"
#include "headroom/base/text.h"
#include "headroom_trace/columns/kernel_names.h"
#include "headroom_trace/columns/process_spaces.h"
#include "headroom_trace/index/trace_index.h"
#include "headroom_trace/index/trace_trust.h"
#include "headroom_trace/ranks/rank_summary.h"
#include "headroom_trace/readers/read.h"

namespace headroom::trace {
namespace {

/// JSON has no infinities and NaN; a plain string would be a text cell.
Json real_json(double value) {
  if (std::isfinite(value)) return value;
  return Json{{"real", std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf"}};
}

double real_of(const Json& json) {
  if (json.is_number()) return json.get<double>();
  const auto text = json.at("real").get<std::string>();
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  return text == "nan" ? std::numeric_limits<double>::quiet_NaN() : text == "inf" ? kInfinity : -kInfinity;
}

constexpr std::size_t count_of(FindingKind) {
  return kFindingKinds;
}
constexpr std::size_t count_of(PathClass) {
  return kPathClasses;
}
constexpr std::size_t count_of(DeviceTimeStatus) {
  return kDeviceTimeStatuses;
}

class FieldWriter {
 public:
  template <typename... Values>
  void operator()(const Values&... values) {
    (list_.push_back(json(values)), ...);
  }
  Json list() { return std::move(list_); }

 private:
  template <typename Value>
  static Json json(const Value& value) {
    if constexpr (std::is_enum_v<Value>) {
      return static_cast<std::size_t>(value);
    } else if constexpr (std::is_floating_point_v<Value>) {
      return real_json(value);
    } else {
      return value;
    }
  }
  Json list_ = Json::array();
};

class FieldReader {
 public:
  explicit FieldReader(const Json& list) : list_(list) {}
  template <typename... Values>
  void operator()(Values&... values) {
    (read(list_.at(next_++), values), ...);
  }

 private:
  template <typename Value>
  static void read(const Json& json, Value& value) {
    if constexpr (std::is_enum_v<Value>) {
      const auto number = json.get<std::size_t>();
      if (number >= count_of(Value{})) throw Error(fmt::format("unknown kind: {}", number));
      value = static_cast<Value>(number);
    } else if constexpr (std::is_floating_point_v<Value>) {
      value = real_of(json);
    } else {
      json.get_to(value);
    }
  }
  const Json& list_;
  std::size_t next_ = 0;
};

// Field lists for both directions.

template <typename Value>
requires std::is_same_v<std::remove_const_t<Value>, CollectiveCall>
void fields(Value& call, auto& visit) {
  visit(call.group, call.group_ranks, call.group_size, call.index, call.collective, call.kernel, call.dtype,
        call.elements_in, call.elements_out, call.bytes, call.device, call.stream, call.iteration,
        call.start_ns, call.duration_ns, call.exposed_ns, call.ready_for_ns, call.exposed_tail_ns);
}
template <typename Value>
requires std::is_same_v<std::remove_const_t<Value>, Finding>
void fields(Value& finding, auto& visit) {
  visit(finding.kind, finding.recoverable_ns, finding.further_ns, finding.share, finding.partner,
        finding.together_ns, finding.rank, finding.step, finding.at_ns, finding.op, finding.module,
        finding.line, finding.evidence, finding.fix);
}
template <typename Value>
requires std::is_same_v<std::remove_const_t<Value>, OpTime>
void fields(Value& op, auto& visit) {
  visit(op.name, op.device_ns, op.host_ns);
}
template <typename Value>
requires std::is_same_v<std::remove_const_t<Value>, PathStretch>
void fields(Value& stretch, auto& visit) {
  visit(stretch.from_ns, stretch.to_ns, stretch.kind);
}

template <typename Value>
requires std::is_same_v<std::remove_const_t<Value>, StepShares>
void fields(Value& shares, auto& visit) {
  visit(shares.step_ns, shares.steps, shares.known, shares.busy, shares.exposed_communication,
        shares.exposed_copies, shares.not_recorded);
  for (auto& share : shares.idle_during) visit(share);
}

template <typename Value>
Json fields_json(const Value& value) {
  FieldWriter writer;
  fields(value, writer);
  return writer.list();
}

template <typename Value>
Json list_json(const std::vector<Value>& values) {
  Json list = Json::array();
  for (const Value& value : values) list.push_back(fields_json(value));
  return list;
}

template <typename Value>
std::vector<Value> list_from(const Json& json) {
  std::vector<Value> values;
  for (const Json& one : json) {
    FieldReader reader(one);
    fields(values.emplace_back(), reader);
  }
  return values;
}

Json rank_summary_json(const RankSummary& summary) {
  Json json{{"steps", summary.steps},
            {"start_ns", summary.recorded.start},
            {"end_ns", summary.recorded.end},
            {"shares", fields_json(summary.shares)},
            {"calls", list_json(summary.calls)},
            {"findings", list_json(summary.findings)},
            {"ops", list_json(summary.ops)}};
  if (summary.path) {
    json["path"] = {{"window", summary.path->window},
                    {"start_ns", summary.path->path.start_ns},
                    {"end_ns", summary.path->path.end_ns},
                    {"stretches", list_json(summary.path->path.stretches)}};
  }
  return json;
}

RankSummary rank_summary_from(const Json& json) {
  RankSummary summary;
  json.at("steps").get_to(summary.steps);
  json.at("start_ns").get_to(summary.recorded.start);
  json.at("end_ns").get_to(summary.recorded.end);
  FieldReader shares(json.at("shares"));
  fields(summary.shares, shares);
  summary.calls = list_from<CollectiveCall>(json.at("calls"));
  summary.findings = list_from<Finding>(json.at("findings"));
  summary.ops = list_from<OpTime>(json.at("ops"));
  if (json.contains("path")) {
    const Json& path = json.at("path");
    summary.path = NamedPath{path.at("window").string(),
                             {path.at("start_ns").get<std::int64_t>(), path.at("end_ns").get<std::int64_t>(),
                              list_from<PathStretch>(path.at("stretches"))}};
  }
  return summary;
}

namespace fs = std::filesystem;
using TraceCallback = std::function<void(std::size_t, const Trace&)>;

std::uint64_t size_of(const fs::path& path) {
  std::error_code error;
  const auto size = fs::file_size(path, error);
  return error ? 0 : size;
}

bool is_lost(const Trace& trace) {
  return trace.problems.events_skipped > 0 && trace.events_skipped_by_need == 0 && trace.events.size() == 0 &&
         trace.memory.empty() && trace.flows.empty();
}

[[noreturn]] void throw_unreadable(const Trace& trace) {
  const Problem& first = trace.problems.first.front();
  throw Error(fmt::format(
      "cannot use the trace {}: no event could be read, {} of {} are lost; the first at byte {}: {}; "
      "headroom trace validate FILE shows more",
      quote(trace.source), trace.problems.events_skipped, trace.events_seen, first.offset, first.what));
}

void note_unused_patterns(const Trace& trace, AnalysisResult& result) {
  if (trace.communication_patterns.empty()) return;
  std::set<NameId> names;
  for (const GpuDetail& work : trace.gpu) names.insert(trace.events.name[work.event]);
  for (const std::string& pattern : trace.communication_patterns) {
    const auto fits = [&](NameId name) { return matches_kernel(pattern, trace.names[name]); };
    if (std::ranges::none_of(names, fits)) {
      result.notes.push_back(fmt::format("--communication {}: no kernel name matches", quote(pattern)));
    }
  }
}

class FileQueue {
 public:
  FileQueue(std::span<const fs::path> files, const FileNeeds& needs, const FilesOptions& how,
            const TraceCallback& use)
      : files_(files), needs_(needs), how_(how), use_(use), errors_(files.size()) {
    for (const fs::path& file : files) sizes_.push_back(size_of(file));
    progress_.files = files.size();
    progress_.bytes = std::accumulate(sizes_.begin(), sizes_.end(), std::uint64_t{0});
    order_.resize(files.size());
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    // Largest first: a long last file would keep one thread busy alone.
    std::ranges::stable_sort(order_, std::greater{}, [this](std::size_t i) { return sizes_[i]; });
    read_.resize(files.size());
  }

  void work(int threads_per_file) {
    for (;;) {
      const std::size_t place = next_.fetch_add(1);
      if (place >= order_.size()) return;
      read_one(order_[place], threads_per_file);
    }
  }

  std::vector<std::string> errors() { return std::move(errors_); }

 private:
  void read_one(std::size_t i, int threads) {
    try {
      ReadOptions reading;
      reading.needs = needs_(files_[i], sizes_[i]);
      reading.threads = threads;
      reading.is_cancelled = how_.is_cancelled;
      if (how_.progress) {
        reading.progress = [this, i](std::uint64_t bytes, std::uint64_t) {
          report_progress(i, bytes, false);
        };
      }
      Trace trace = read(files_[i], reading);
      if (is_lost(trace) && !has(reading.needs, Needs::kSyntax)) throw_unreadable(trace);
      trace.communication_patterns = how_.communication_patterns;
      use_(i, trace);
    } catch (const std::bad_alloc&) {
      errors_[i] = files_[i].string() +
                   ": not enough memory for this trace; --max-memory allows more, fewer --threads need less";
    } catch (const std::exception& error) {
      errors_[i] = error.what();
    }
    report_progress(i, sizes_[i], true);
  }

  void report_progress(std::size_t i, std::uint64_t bytes, bool is_done) {
    if (!how_.progress) return;
    const std::lock_guard lock(mutex_);
    bytes = std::min(bytes, sizes_[i]);
    progress_.bytes_done += bytes - read_[i];
    read_[i] = bytes;
    if (is_done) ++progress_.files_done;
    how_.progress(progress_);
  }

  std::span<const fs::path> files_;
  const FileNeeds& needs_;
  const FilesOptions& how_;
  const TraceCallback& use_;
  std::vector<std::string> errors_;
  std::vector<std::uint64_t> sizes_, read_;
  std::vector<std::size_t> order_;
  std::atomic<std::size_t> next_{0};
  std::mutex mutex_;
  FilesProgress progress_;
};

Json cell_json(const Cell& cell) {
  if (const auto* text = std::get_if<std::string>(&cell)) return *text;
  if (const auto* whole = std::get_if<std::int64_t>(&cell)) return *whole;
  if (const auto* real = std::get_if<double>(&cell)) return real_json(*real);
  return nullptr;
}

Cell cell_from_json(const Json& json) {
  if (json.is_null()) return {};
  if (json.is_string()) return json.get<std::string>();
  // Doubles are written with a point or an exponent.
  if (json.is_number_integer()) return json.get<std::int64_t>();
  return real_of(json);
}

Json table_json(const DataTable& table) {
  Json columns = Json::array(), rows = Json::array();
  for (const Column& column : table.columns) {
    columns.push_back(Json::array({column.key, column.title, static_cast<int>(column.kind)}));
  }
  for (const std::vector<Cell>& cells : table.rows) {
    Json row = Json::array();
    for (const Cell& cell : cells) row.push_back(cell_json(cell));
    rows.push_back(std::move(row));
  }
  return {{"key", table.key},
          {"title", table.title},
          {"columns", columns},
          {"rows", rows},
          {"for_combining", table.is_for_combining},
          {"in_answer", table.is_in_answer}};
}

DataTable table_of(const Json& json) {
  DataTable table{json.at("key").string(), json.at("title").string(), {}, {}};
  for (const Json& column : json.at("columns")) {
    table.columns.push_back(
        {column.at(0).string(), column.at(1).string(), static_cast<Kind>(column.at(2).get<int>())});
  }
  for (const Json& cells : json.at("rows")) {
    std::vector<Cell>& row = table.rows.emplace_back();
    for (const Json& cell : cells) row.push_back(cell_from_json(cell));
  }
  table.is_for_combining = json.at("for_combining").get<bool>();
  table.is_in_answer = json.at("in_answer").get<bool>();
  return table;
}

Json result_json(const AnalysisResult& result) {
  Json tables = Json::array(), headlines = Json::array();
  for (const DataTable& table : result.tables) tables.push_back(table_json(table));
  for (const Headline& headline : result.headlines) {
    headlines.push_back(Json::array({headline.metric, static_cast<int>(headline.kind),
                                     headline.lower_is_better, real_json(headline.value), headline.device}));
  }
  Json files = Json::array();
  for (const OutputFile& file : result.files) files.push_back(Json::array({file.path, file.content}));
  Json json{{"doubts", result.doubts}, {"standing", result.standing}, {"answer", result.answer},
            {"tables", tables},        {"headlines", headlines},      {"notes", result.notes},
            {"files", files}};
  if (result.summary != nullptr) json["summary"] = rank_summary_json(*result.summary);
  return json;
}

AnalysisResult result_of(const Json& json) {
  AnalysisResult result;
  result.doubts = json.at("doubts").get<std::vector<std::string>>();
  result.standing = json.at("standing").get<std::vector<std::string>>();
  result.answer = json.at("answer").get<std::vector<std::string>>();
  for (const Json& table : json.at("tables")) result.tables.push_back(table_of(table));
  for (const Json& headline : json.at("headlines")) {
    result.headlines.push_back({headline.at(0).string(), static_cast<Kind>(headline.at(1).get<int>()),
                                headline.at(2).get<bool>(), real_of(headline.at(3)),
                                headline.at(4).string()});
  }
  result.notes = json.at("notes").get<std::vector<std::string>>();
  for (const Json& file : json.at("files"))
    result.files.push_back({file.at(0).string(), file.at(1).string()});
  if (json.contains("summary"))
    result.summary = std::make_shared<const RankSummary>(rank_summary_from(json.at("summary")));
  return result;
}

Json problems_json(const Problems& problems) {
  Json first = Json::array();
  for (const Problem& problem : problems.first) first.push_back(Json::array({problem.offset, problem.what}));
  return {{"count", problems.count}, {"events_skipped", problems.events_skipped}, {"first", first}};
}

Problems problems_of(const Json& json) {
  Problems problems{
      json.at("count").get<std::uint64_t>(), json.at("events_skipped").get<std::uint64_t>(), {}};
  for (const Json& problem : json.at("first"))
    problems.first.push_back({problem.at(0).get<std::uint64_t>(), problem.at(1).string()});
  return problems;
}

Json devices_json(const std::vector<DeviceProperties>& devices) {
  Json list = Json::array();
  for (const DeviceProperties& device : devices) {
    list.push_back(Json::array({device.id, device.name, device.total_memory_bytes, device.multiprocessors,
                                device.max_threads_per_multiprocessor, device.warp_size}));
  }
  return list;
}

std::vector<DeviceProperties> devices_of(const Json& json) {
  std::vector<DeviceProperties> devices;
  for (const Json& device : json) {
    const auto whole = [&](int index) { return device.at(index).get<std::int32_t>(); };
    devices.push_back(
        {whole(0), device.at(1).string(), device.at(2).get<double>(), whole(3), whole(4), whole(5)});
  }
  return devices;
}

Json facts_json(const TraceFacts& facts) {
  Json json{{"source", facts.source},
            {"file_bytes", facts.file_bytes},
            {"json_bytes", facts.json_bytes},
            {"events_seen", facts.events_seen},
            {"start_ns", facts.start_ns},
            {"end_ns", facts.end_ns},
            {"recorded_at_s", facts.recorded_at_s},
            {"is_complete", facts.is_complete},
            {"problems", problems_json(facts.problems)},
            {"devices", devices_json(facts.devices)}};
  if (facts.rank) json["rank"] = *facts.rank;
  if (facts.world_size) json["world_size"] = *facts.world_size;
  return json;
}

TraceFacts facts_from(const Json& json) {
  TraceFacts facts;
  json.at("source").get_to(facts.source);
  json.at("file_bytes").get_to(facts.file_bytes);
  json.at("json_bytes").get_to(facts.json_bytes);
  json.at("events_seen").get_to(facts.events_seen);
  json.at("start_ns").get_to(facts.start_ns);
  json.at("end_ns").get_to(facts.end_ns);
  json.at("recorded_at_s").get_to(facts.recorded_at_s);
  json.at("is_complete").get_to(facts.is_complete);
  facts.problems = problems_of(json.at("problems"));
  facts.devices = devices_of(json.at("devices"));
  if (json.contains("rank")) facts.rank = json.at("rank").get<std::int64_t>();
  if (json.contains("world_size")) facts.world_size = json.at("world_size").get<std::int64_t>();
  return facts;
}

/// Splits a merged trace if the analysis combines ranks.
AnalysisResult analyzed_ranks(const TraceIndex& index, const Analysis& analysis,
                              const AnalysisOptions& options) {
  const Trace& trace = index.trace();
  const bool may_have_ranks = analysis.combine != nullptr && !index.steps().steps.empty();
  const ProcessSpaces spaces = may_have_ranks ? process_spaces(trace) : ProcessSpaces{};
  if (spaces.count < 2) return analysis.analyze(index, options);
  std::vector<RankResult> ranks;
  for (std::uint32_t space = 0; space < spaces.count; ++space) {
    const Trace rank = rank_of(trace, spaces, space);
    ranks.push_back({trace.source, spaces.rank[space], analysis.analyze(TraceIndex(rank), options)});
    if (!ranks.back().result.files.empty()) return analysis.analyze(index, options);
  }
  return combined(ranks, analysis, options);
}

std::vector<std::string> joined_doubts(std::span<const RankResult> ranks) {
  std::map<std::string, std::vector<std::int64_t>> by_text;
  for (const RankResult& rank : ranks) {
    for (const std::string& doubt : rank.result.doubts) by_text[doubt].push_back(rank.rank);
  }
  constexpr std::size_t kMost = 3;
  std::vector<std::string> doubts;
  for (const auto& [text, of_ranks] : by_text) {
    if (of_ranks.size() == ranks.size()) {
      doubts.push_back(text);
    } else if (doubts.size() < kMost) {
      doubts.push_back(fmt::format("rank {}: {}", of_ranks.front(), text));
    }
  }
  if (by_text.size() > doubts.size())
    doubts.push_back(fmt::format("{} more", by_text.size() - doubts.size()));
  return doubts;
}

}  // namespace

AnalysisResult analyze_trace(const Trace& trace, const Analysis& analysis, const AnalysisOptions& options) {
  if (analysis.needs_times && !options.flag("pytorch-compat") && trace.events.size() > 0 &&
      !has_times(trace)) {
    AnalysisResult result;
    result.answer = {kNoTimes};
    return result;
  }
  const TraceIndex index(trace);
  // `validate` shows impossible events; PyTorch's function counts them.
  if (has(analysis.needs, Needs::kSyntax) || options.flag("pytorch-compat"))
    return analyzed_ranks(index, analysis, options);
  const ImpossibleEvents impossible = impossible_events(index);
  const auto add_doubts = [](const std::vector<Doubt>& doubts, AnalysisResult& result) {
    for (const Doubt& doubt : doubts) result.doubts.push_back(doubt_text(doubt));
  };
  const auto trusted = [&](const TraceIndex& of) {
    AnalysisResult result = analyzed_ranks(of, analysis, options);
    result.doubts.clear();  // those of the ranks
    add_doubts(impossible.doubts, result);
    add_doubts(missing_parts(of), result);
    return result;
  };
  if (impossible.rows.empty()) return trusted(index);
  const Trace kept = without(trace, impossible);
  return trusted(TraceIndex(kept));
}

std::vector<std::string> impossible_events_kept(const Trace& trace) {
  std::vector<std::string> texts;
  for (const Doubt& doubt : impossible_events(TraceIndex(trace)).doubts)
    texts.push_back(doubt_text(doubt, "kept") + "; figures leave it out");
  return texts;
}

std::vector<std::string> read_files(std::span<const fs::path> files, const FileNeeds& needs,
                                    const FilesOptions& how, const TraceCallback& use) {
  const int threads =
      how.threads > 0 ? how.threads : static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  const int workers =
      static_cast<int>(std::min<std::size_t>(files.size(), static_cast<std::size_t>(threads)));
  FileQueue queue(files, needs, how, use);
  const int threads_per_file = workers > 0 ? threads / workers : 1;
  {
    std::vector<std::jthread> others;
    for (int i = 1; i < workers; ++i) others.emplace_back([&] { queue.work(threads_per_file); });
    queue.work(threads_per_file);
  }
  return queue.errors();
}

std::uint64_t text_bytes(const fs::path& file, std::uint64_t bytes) {
  constexpr std::uint64_t kPacked = 16;
  const std::string end = file.extension().string();
  return end == ".gz" || end == ".zst" || end == ".zip" ? kPacked * bytes : bytes;
}

std::vector<FileAnalysis> analyze_files(std::span<const fs::path> files, const Analysis& analysis,
                                        const AnalysisOptions& options, const FilesOptions& how) {
  std::vector<FileAnalysis> analyses(files.size());
  const Needs needs = needs_of(analysis, options);
  const FileNeeds needs_of_file = [&](const fs::path& file, std::uint64_t bytes) {
    return analysis.needs_of_large && text_bytes(file, bytes) > kLargeTrace ? *analysis.needs_of_large
                                                                            : needs;
  };
  std::vector<std::string> errors =
      read_files(files, needs_of_file, how, [&](std::size_t i, const Trace& trace) {
        analyses[i].facts = facts_of(trace);
        analyses[i].result = analyze_trace(trace, analysis, options);
        note_unused_patterns(trace, analyses[i].result);
      });
  for (std::size_t i = 0; i < analyses.size(); ++i) {
    analyses[i].facts.source = files[i].string();
    analyses[i].error = std::move(errors[i]);
  }
  return analyses;
}

AnalysisResult combined(std::span<const RankResult> ranks, const Analysis& analysis,
                        const AnalysisOptions& options) {
  // A rank with only a sentence cannot be combined.
  const auto empty = std::ranges::find_if(ranks, [](const RankResult& rank) {
    return rank.result.tables.empty() && rank.result.summary == nullptr;
  });
  const bool can_combine = analysis.combine != nullptr && empty == ranks.end();
  AnalysisResult result = can_combine ? analysis.combine(ranks, options) : combine_headlines(ranks);
  if (empty != ranks.end()) result.answer = empty->result.answer;
  result.doubts = joined_doubts(ranks);
  result.ranks = ranks.size();
  if (!result.standing.empty())
    result.standing.front() = fmt::format("{} ranks: {}", ranks.size(), result.standing.front());
  return result;
}

std::string to_text(std::span<const FileAnalysis> analyses) {
  Json list = Json::array();
  for (const FileAnalysis& analysis : analyses) {
    list.push_back({{"facts", facts_json(analysis.facts)},
                    {"error", analysis.error},
                    {"result", result_json(analysis.result)}});
  }
  return dump_json(list);
}

std::vector<FileAnalysis> file_analyses_from_text(std::string_view text) {
  const Json list = parse_json(text, "the analyses of another process");
  std::vector<FileAnalysis> analyses;
  try {
    for (const Json& json : list) {
      analyses.push_back(
          {facts_from(json.at("facts")), json.at("error").string(), result_of(json.at("result"))});
    }
  } catch (const JsonError& error) {
    throw Error(std::string("the analyses of another process come from another version: ") + error.what() +
                "; start the same build everywhere");
  }
  return analyses;
}

}  // namespace headroom::trace
