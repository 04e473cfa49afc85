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

/// JSON lacks infinities and NaN; a plain string would be a text cell.
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

constexpr std::size_t count_of(FindingKind) {
  return kFindingKinds;
}
constexpr std::size_t count_of(PathClass) {
  return kPathClasses;
}
constexpr std::size_t count_of(DeviceTimeStatus) {
  return kDeviceTimeStatuses;
}
constexpr std::size_t count_of(Kind) {
  return static_cast<std::size_t>(Kind::kNumber) + 1;
}
constexpr std::size_t count_of(Importance) {
  return static_cast<std::size_t>(Importance::kDetail) + 1;
}

template <typename Value, typename Of>
concept Is = std::is_same_v<std::remove_const_t<Value>, Of>;

void fields(Is<CollectiveCall> auto& call, auto& visit) {
  visit(call.group, call.group_ranks, call.group_size, call.index, call.collective, call.kernel, call.dtype,
        call.elements_in, call.elements_out, call.bytes, call.device, call.stream, call.iteration,
        call.start_ns, call.duration_ns, call.exposed_ns, call.ready_for_ns, call.exposed_tail_ns);
}
void fields(Is<Finding> auto& finding, auto& visit) {
  visit(finding.kind, finding.recoverable_ns, finding.further_ns, finding.share, finding.partner,
        finding.together_ns, finding.rank, finding.step, finding.at_ns, finding.op, finding.module,
        finding.line, finding.evidence, finding.fix);
}
void fields(Is<OpTime> auto& op, auto& visit) {
  visit(op.name, op.device_ns, op.host_ns);
}
void fields(Is<PathStretch> auto& stretch, auto& visit) {
  visit(stretch.from_ns, stretch.to_ns, stretch.kind);
}
void fields(Is<RankPath> auto& path, auto& visit) {
  visit.named("start_ns", path.start_ns);
  visit.named("end_ns", path.end_ns);
  visit.named("stretches", path.stretches);
}
void fields(Is<NamedPath> auto& named, auto& visit) {
  visit(named.window, named.path);
}
void fields(Is<StepShares> auto& shares, auto& visit) {
  visit(shares.step_ns, shares.steps, shares.known, shares.busy, shares.exposed_communication,
        shares.exposed_copies, shares.not_recorded, shares.idle_during);
}
void fields(Is<Span> auto& span, auto& visit) {
  visit(span.start, span.end);
}
void fields(Is<RankSummary> auto& summary, auto& visit) {
  visit.named("steps", summary.steps);
  visit.named("recorded", summary.recorded);
  visit.named("shares", summary.shares);
  visit.named("calls", summary.calls);
  visit.named("findings", summary.findings);
  visit.named("ops", summary.ops);
  visit.named("path", summary.path);
}
void fields(Is<Column> auto& column, auto& visit) {
  visit(column.key, column.title, column.kind, column.importance);
}
void fields(Is<DataTable> auto& table, auto& visit) {
  visit(table.key, table.title, table.columns, table.rows, table.is_for_combining, table.is_in_answer);
}
void fields(Is<Headline> auto& headline, auto& visit) {
  visit(headline.metric, headline.kind, headline.lower_is_better, headline.value, headline.device);
}
void fields(Is<OutputFile> auto& file, auto& visit) {
  visit(file.path, file.content);
}
void fields(Is<AnalysisResult> auto& result, auto& visit) {
  visit(result.doubts, result.standing, result.answer, result.tables, result.headlines, result.notes,
        result.files, result.summary);
}
void fields(Is<Problem> auto& problem, auto& visit) {
  visit(problem.offset, problem.what);
}
void fields(Is<Problems> auto& problems, auto& visit) {
  visit(problems.count, problems.events_skipped, problems.first);
}
void fields(Is<DeviceProperties> auto& device, auto& visit) {
  visit(device.id, device.name, device.total_memory_bytes, device.multiprocessors,
        device.max_threads_per_multiprocessor, device.warp_size);
}
void fields(Is<TraceFacts> auto& facts, auto& visit) {
  visit(facts.source, facts.file_bytes, facts.json_bytes, facts.events_seen, facts.start_ns, facts.end_ns,
        facts.recorded_at_s, facts.is_complete, facts.problems, facts.devices, facts.rank, facts.world_size);
}
void fields(Is<FileAnalysis> auto& analysis, auto& visit) {
  visit(analysis.facts, analysis.error, analysis.result);
}

template <typename Value>
Json to_json(const Value& value);
template <typename Value>
void read_json(const Json& json, Value& value);

struct FieldWriter {
  Json json;
  void operator()(const auto&... values) { (json.push_back(to_json(values)), ...); }
  void named(const char* key, const auto& value) { json[key] = to_json(value); }
};

struct FieldReader {
  const Json& json;
  std::size_t next = 0;
  void operator()(auto&... values) { (read_json(json.at(next++), values), ...); }
  void named(const char* key, auto& value) { read_json(json.at(key), value); }
};

template <typename Value>
constexpr bool kIsPlain = std::is_integral_v<Value> || std::is_same_v<Value, std::string>;

template <typename Value>
Json to_json(const Value& value) {
  if constexpr (kIsPlain<Value>) {
    return value;
  } else if constexpr (std::is_enum_v<Value>) {
    return static_cast<std::size_t>(value);
  } else if constexpr (std::is_floating_point_v<Value>) {
    return real_json(value);
  } else if constexpr (std::is_same_v<Value, Cell>) {
    return cell_json(value);
  } else if constexpr (requires { *value; }) {
    Json list = Json::array();
    if (value) list.push_back(to_json(*value));
    return list;
  } else if constexpr (requires { value.begin(); }) {
    Json list = Json::array();
    for (const auto& one : value) list.push_back(to_json(one));
    return list;
  } else {
    FieldWriter writer;
    fields(value, writer);
    return std::move(writer.json);
  }
}

template <typename Value>
void read_json(const Json& json, Value& value) {
  if constexpr (kIsPlain<Value>) {
    json.get_to(value);
  } else if constexpr (std::is_enum_v<Value>) {
    const auto number = json.get<std::size_t>();
    if (number >= count_of(Value{})) throw Error(fmt::format("unknown kind: {}", number));
    value = static_cast<Value>(number);
  } else if constexpr (std::is_floating_point_v<Value>) {
    value = real_of(json);
  } else if constexpr (std::is_same_v<Value, Cell>) {
    value = cell_from_json(json);
  } else if constexpr (std::is_same_v<Value, std::shared_ptr<const RankSummary>>) {
    RankSummary summary;
    for (const Json& one : json) {
      read_json(one, summary);
      value = std::make_shared<const RankSummary>(std::move(summary));
    }
  } else if constexpr (requires { value.emplace(); }) {
    for (const Json& one : json) read_json(one, value.emplace());
  } else if constexpr (requires { value.emplace_back(); }) {
    for (const Json& one : json) read_json(one, value.emplace_back());
  } else if constexpr (requires { value.fill({}); }) {
    for (std::size_t i = 0; i < value.size(); ++i) read_json(json.at(i), value[i]);
  } else {
    FieldReader reader{json};
    fields(value, reader);
  }
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
  return dump_json(to_json(analyses));
}

std::vector<FileAnalysis> file_analyses_from_text(std::string_view text) {
  const Json list = parse_json(text, "the analyses of another process");
  std::vector<FileAnalysis> analyses;
  try {
    read_json(list, analyses);
  } catch (const JsonError& error) {
    throw Error(std::string("the analyses of another process come from another version: ") + error.what() +
                "; start the same build everywhere");
  }
  return analyses;
}

}  // namespace headroom::trace
