// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headroom/base/error.h"
#include "headroom/base/json.h"
#include "headroom/base/text.h"
#include "headroom_trace/analysis.h"
#include "headroom_trace/collectives/collective_calls.h"
#include "headroom_trace/collectives/collective_matching.h"
#include "headroom_trace/columns/kernel_names.h"
#include "headroom_trace/columns/trace.h"
#include "headroom_trace/columns/trace_facts.h"
#include "headroom_trace/critical_path/critical_path.h"
#include "headroom_trace/critical_path/job_path.h"
#include "headroom_trace/findings/advice.h"
#include "headroom_trace/index/trace_index.h"
#include "headroom_trace/ranks/rank_summary.h"
#include "headroom_trace/tables/data_table.h"
#include "headroom_trace/work/device_work.h"

namespace headroom::trace {
namespace {

constexpr const char* kPathPid = "2147483647";  ///< the largest pid, not used by processes

std::string exact_us(std::int64_t ns) {
  const bool is_negative = ns < 0;
  const auto size = is_negative ? 0 - static_cast<std::uint64_t>(ns) : static_cast<std::uint64_t>(ns);
  return fmt::format("{}{}.{:03}", is_negative ? "-" : "", size / 1000, size % 1000);
}

std::string json_text(std::string_view text) {
  return dump_json(Json(std::string(text)));
}

/// Keeps numbers, which the viewer sorts.
std::string id_of(const std::string& text) {
  const auto number = to_integer(text);
  return number ? std::to_string(*number) : json_text(text);
}

/// Chrome trace for ui.perfetto.dev, in µs: events on their own tracks (args.critical: on the path), the
/// process "critical path", and arrows between tracks.
class Overlay {
 public:
  Overlay(const Trace& trace, std::span<const PathLink> path)
      : trace_(trace), events_(trace.events), path_(path), is_critical_(trace.events.size()) {
    for (const PathLink& link : path) {
      if (link.event != kNone) is_critical_[link.event] = true;
    }
  }

  std::string text() {
    text_ = "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n";
    add(fmt::format(
        R"({{"ph":"M","name":"process_name","pid":{},"tid":0,"args":{{"name":"critical path"}}}})",
        kPathPid));
    add_threads();
    for (std::uint32_t event = 0; event < events_.size(); ++event) {
      if (is_in_path_time(event)) add_event(event);
    }
    for (const PathLink& link : path_) add_link(link);
    text_ += "\n]}\n";
    return std::move(text_);
  }

 private:
  void add(const std::string& event) {
    if (text_.back() == '}') text_ += ",\n";
    text_ += event;
  }

  bool is_in_path_time(std::uint32_t event) const {
    const Category category = events_.category[event];
    if (path_.empty() || (!is_gpu_work(category) && (mask_of(category) & kOnCpu) == 0)) return false;
    return events_.start_ns[event] < path_.back().time.end &&
           events_.end_ns(event) > path_.front().time.start;
  }

  std::string track_of(std::uint32_t event) const {
    const Thread& thread = trace_.threads[events_.thread[event]];
    return fmt::format(R"("pid":{},"tid":{})", id_of(thread.pid), id_of(thread.tid));
  }

  void add_threads() {
    for (const Thread& thread : trace_.threads) {
      const auto name = [&](const char* what, const std::string& value) {
        if (value.empty()) return;
        add(fmt::format(R"({{"ph":"M","name":"{}","pid":{},"tid":{},"args":{{"{}":{}}}}})", what,
                        id_of(thread.pid), id_of(thread.tid),
                        std::string_view(what) == "process_labels" ? "labels" : "name", json_text(value)));
      };
      name("process_name", thread.process_name);
      name("process_labels", thread.process_labels);
      name("thread_name", thread.thread_name);
    }
  }

  void add_event(std::uint32_t event) {
    add(fmt::format(R"({{"ph":"X","cat":"{}","name":{},{},"ts":{},"dur":{},"args":{{"critical":{}}}}})",
                    is_gpu_work(events_.category[event]) ? "kernel" : "cpu_op",
                    json_text(trace_.names[events_.name[event]]), track_of(event),
                    exact_us(events_.start_ns[event]), exact_us(events_.duration_ns[event]),
                    is_critical_[event] ? 1 : 0));
  }

  void add_link(const PathLink& link) {
    const std::string event =
        link.event == kNone ? ""
                            : fmt::format(R"("event":{})", json_text(trace_.names[events_.name[link.event]]));
    add(fmt::format(
        R"({{"ph":"X","cat":"critical_path","name":{},"pid":{},"tid":0,"ts":{},"dur":{},"args":{{{}}}}})",
        json_text(to_string(link.kind)), kPathPid, exact_us(link.time.start), exact_us(link.length_ns()),
        event));
    if (link.event == kNone) return;
    const std::uint32_t last = std::exchange(last_, link.event);
    if (last != kNone && events_.thread[last] != events_.thread[link.event]) add_arrow(last, link);
  }

  /// Starts the arrow inside the slice that ends there or is still open.
  void add_arrow(std::uint32_t from, const PathLink& to) {
    const std::int64_t leaves =
        std::min(to.time.start, std::max(events_.start_ns[from], events_.end_ns(from) - 1));
    const auto end = [&](const char* phase, std::uint32_t event, std::int64_t at_ns) {
      add(fmt::format(R"({{{},"cat":"critical_path","name":{},"id":{},{},"ts":{}}})", phase,
                      json_text(to_string(to.kind)), arrows_, track_of(event), exact_us(at_ns)));
    };
    end(R"("ph":"s")", from, leaves);
    end(R"("ph":"f","bp":"e")", to.event, to.time.start);
    ++arrows_;
  }

  const Trace& trace_;
  const Events& events_;
  std::span<const PathLink> path_;
  std::vector<bool> is_critical_;
  std::string text_;
  std::uint32_t last_ = kNone;
  std::uint64_t arrows_ = 0;
};

struct Window {
  std::string text;
  Span span;
};

std::vector<Window> annotated(const Trace& trace, const std::string& text) {
  std::vector<Window> found;
  for (std::size_t i = 0; i < trace.events.size(); ++i) {
    const std::string_view name = trace.event_name(i);
    if (trace.events.category[i] != Category::kUserAnnotation || name.find(text) == std::string_view::npos)
      continue;
    found.push_back({std::string(name), {trace.events.start_ns[i], trace.events.end_ns(i)}});
  }
  std::ranges::stable_sort(found, {}, [](const Window& window) { return window.span.start; });
  return found;
}

std::string numbers_of(const std::vector<Step>& all) {
  std::vector<std::string> numbers;
  for (const Step& step : all) numbers.push_back(std::to_string(step.number));
  return join(numbers, ", ");
}

Window annotation_window(const Trace& trace, const AnalysisOptions& options) {
  const std::string text = options.text("annotation");
  const std::vector<Window> found = annotated(trace, text);
  if (found.empty())
    throw Error(fmt::format("--annotation {}: no annotation of the trace contains it", quote(text)));
  const std::size_t middle = found.size() / 2;
  const double number = options.number("step", static_cast<double>(middle));
  if (number < 0 || number >= static_cast<double>(found.size()))
    throw Error(fmt::format("--step {}: the trace has {} annotations with {}: give 0 to {}",
                            options.text("step"), found.size(), quote(text), found.size() - 1));
  return found[static_cast<std::size_t>(number)];
}

Window window_of(const TraceIndex& index, const AnalysisOptions& options, std::vector<std::string>& notes) {
  const Trace& trace = index.trace();
  if (options.flag("annotation")) return annotation_window(trace, options);
  const std::vector<Step>& all = index.steps().steps;
  const Extent extent = trace_extent(trace);
  const Window whole{"the whole trace", {extent.start_ns, extent.end_ns}};
  const std::string asked = options.text("step");
  if (asked == "all") return whole;
  if (all.empty()) {
    if (!asked.empty())
      throw Error(fmt::format("--step {}: the trace has no steps; leave --step out, or {}", asked,
                              advice(Advice::kMarkSteps, trace.writer)));
    notes.push_back(fmt::format("no steps in the file: the path covers all GPU work and its launches; {}",
                                advice(Advice::kMarkSteps, trace.writer)));
    return {"the device work", index.window()};
  }
  std::size_t chosen = all.size() / 2;
  if (!asked.empty()) {
    const double number = options.number("step", 0);
    const auto found =
        std::ranges::find(all, number, [](const Step& step) { return static_cast<double>(step.number); });
    if (found == all.end())
      throw Error(fmt::format("--step {}: the trace has the steps {}", asked, numbers_of(all)));
    chosen = static_cast<std::size_t>(found - all.begin());
  } else if (all.size() > 1) {
    notes.push_back(fmt::format("{}, the middle one of {} steps; choose another with --step N, or 'all'",
                                all[chosen].name, all.size()));
  }
  return {all[chosen].name, {all[chosen].start_ns, all[chosen].end_ns}};
}

struct PathSum {
  std::int64_t time_ns = 0, links = 0;
  void add(const PathLink& link) {
    time_ns += link.length_ns();
    ++links;
  }
};
using ClassSums = std::array<PathSum, kPathClasses>;

ClassSums sums_of(std::span<const PathLink> path) {
  ClassSums sums;
  for (const PathLink& link : path) sums[static_cast<std::size_t>(link.kind)].add(link);
  return sums;
}

std::int64_t length_of(std::span<const PathLink> path) {
  return path.empty() ? 0 : path.back().time.end - path.front().time.start;
}

DataTable class_table(const ClassSums& sums, std::int64_t path_ns) {
  DataTable table{"classes",
                  "the critical path by class",
                  {Column::text("class"), Column::time("time_ns").main(),
                   Column::share("share", "of path").main(), Column::count("links")}};
  for (std::size_t kind = 0; kind < kPathClasses; ++kind) {
    const PathSum& sum = sums[kind];
    if (sum.links > 0)
      table.rows.push_back({to_string(static_cast<PathClass>(kind)), sum.time_ns,
                            share_cell(sum.time_ns, path_ns), sum.links});
  }
  return table;
}

std::string name_of(const Trace& trace, std::uint32_t event) {
  return event == kNone ? "" : std::string(trace.event_name(event));
}

DataTable name_table(const Trace& trace, std::span<const PathLink> path) {
  std::map<std::pair<PathClass, std::string>, PathSum> by_name;
  for (const PathLink& link : path) by_name[{link.kind, name_of(trace, link.event)}].add(link);
  std::vector<std::pair<std::pair<PathClass, std::string>, PathSum>> sorted(by_name.begin(), by_name.end());
  std::ranges::stable_sort(sorted, std::greater{}, [](const auto& entry) { return entry.second.time_ns; });
  DataTable table{"names",
                  "the critical path by event",
                  {Column::text("class"), Column::text("name", "event").identifying(), Column::count("links"),
                   Column::time("time_ns").main(), Column::share("share", "of path").main()}};
  for (const auto& [key, sum] : sorted) {
    table.rows.push_back(
        {to_string(key.first), key.second, sum.links, sum.time_ns, share_cell(sum.time_ns, length_of(path))});
  }
  return table;
}

std::string place_of(const Trace& trace, std::uint32_t event) {
  if (event == kNone) return "";
  if (is_gpu_work(trace.events.category[event])) {
    const GpuDetail& work = trace.gpu[trace.events.detail[event]];
    return fmt::format("device {} stream {}", device_text(device_of(trace, work)), work.stream);
  }
  return "thread " + trace.threads[trace.events.thread[event]].tid;
}

DataTable link_table(const Trace& trace, std::span<const PathLink> path, std::size_t top) {
  std::vector<PathLink> sorted(path.begin(), path.end());
  std::ranges::stable_sort(sorted, std::greater{}, &PathLink::length_ns);
  if (top > 0 && sorted.size() > top) sorted.resize(top);
  DataTable table{"longest_links",
                  "the longest links of the critical path",
                  {Column::text("class"), Column::text("name", "event").identifying(),
                   Column::text("place", "on").detail(), Column::instant("start_ns", "at").detail(),
                   Column::time("time_ns").main(), Column::share("share", "of path").main()}};
  for (const PathLink& link : sorted) {
    table.rows.push_back({to_string(link.kind), name_of(trace, link.event), place_of(trace, link.event),
                          link.time.start, link.length_ns(), share_cell(link.length_ns(), length_of(path))});
  }
  return table;
}

DataTable path_table(const Window& window, std::span<const PathLink> path) {
  return {"path",
          "the critical path",
          {Column::text("window"), Column::time("window_ns", "window time"), Column::time("path_ns").main(),
           Column::count("links")},
          {{window.text, window.span.end - window.span.start, length_of(path), std::ssize(path)}}};
}

void add_notes(const TraceIndex& index, const ClassSums& sums, std::int64_t path_ns,
               std::vector<std::string>& notes) {
  const SyncWaits& syncs = index.syncs();
  if (syncs.is_inferred) {
    notes.push_back(
        fmt::format("no synchronisations in the file: waits for the GPU are inferred from call names ({})",
                    advice(Advice::kRecordSyncs, index.trace().writer)));
  }
  if (!syncs.unmatched.empty())
    notes.push_back(
        fmt::format("{} of {} synchronisations refer to a call or event record that is not in the file",
                    syncs.unmatched.size(), index.trace().syncs.size()));
  const std::int64_t unknown = sums[static_cast<std::size_t>(path_class(HostActivity::kNotRecorded))].time_ns;
  if (unknown > path_ns / 10)
    notes.push_back(fmt::format(
        "{:.0f} % of the path is not recorded: Python outside operators, or work without a recorded launch",
        100.0 * static_cast<double>(unknown) / static_cast<double>(path_ns)));
}

/// Keeps the path only if collectives may join it to other ranks'.
void keep_for_job(const TraceIndex& index, const Window& window, std::span<const PathLink> path,
                  AnalysisResult& result) {
  RankSummary summary;
  summary.calls = index.calls();
  summary.path = NamedPath{window.text, {window.span.start, window.span.end, {}}};
  if (!summary.calls.empty() && !path.empty()) summary.path->path = rank_path(path);
  result.summary = std::make_shared<const RankSummary>(std::move(summary));
}

AnalysisResult analyze_critical_path(const TraceIndex& index, const AnalysisOptions& options) {
  const Trace& trace = index.trace();
  AnalysisResult result;
  const Window window = window_of(index, options, result.notes);
  const std::vector<PathLink> path = critical_path(index, window.span);
  const std::int64_t path_ns = length_of(path);
  const ClassSums sums = sums_of(path);
  if (path.empty()) result.notes.emplace_back("no critical path: the window is empty");
  add_notes(index, sums, path_ns, result.notes);
  result.tables = {path_table(window, path), class_table(sums, path_ns), name_table(trace, path),
                   link_table(trace, path, options.top)};
  keep_top(result.tables[2], options.top);
  keep_for_job(index, window, path, result);
  result.headlines.push_back({"critical_path", Kind::kTimeNs, true, static_cast<double>(path_ns)});
  for (std::size_t kind = 0; kind < kPathClasses; ++kind) {
    if (sums[kind].links == 0) continue;
    std::string name = to_string(static_cast<PathClass>(kind));
    std::ranges::replace(name, ' ', '_');
    result.headlines.push_back(
        {"critical_path_" + name, Kind::kTimeNs, true, static_cast<double>(sums[kind].time_ns)});
  }
  if (options.flag("overlay")) result.files.push_back({options.text("overlay"), Overlay(trace, path).text()});
  return result;
}

const NamedPath& path_of(const RankResult& rank) {
  const std::optional<NamedPath>& path = summary_of(rank).path;
  if (!path) throw Error(fmt::format("the result of rank {} has no critical path", rank.rank));
  return *path;
}

void add_job_notes(std::span<const RankResult> ranks, const CollectiveMatches& matches,
                   AnalysisResult& result) {
  const std::string& window = path_of(ranks.front()).window;
  const auto other =
      std::ranges::find_if(ranks, [&](const RankResult& rank) { return path_of(rank).window != window; });
  if (other != ranks.end())
    result.notes.push_back(fmt::format(
        "the windows of the ranks differ ({} of rank {}, {} of rank {}): choose one for all with --step",
        window, ranks.front().rank, path_of(*other).window, other->rank));
  for (const std::string& group : matches.groups_by_time)
    result.notes.push_back(
        fmt::format("group {}: the traces hold different collectives, so they are paired by time, which "
                    "needs clocks that agree",
                    group));
}

AnalysisResult combine(std::span<const RankResult> ranks, const AnalysisOptions& options) {
  AnalysisResult result = combine_headlines(ranks);
  const std::vector<std::vector<CollectiveCall>> calls = calls_of(ranks);
  std::vector<RankPath> paths;
  for (const RankResult& rank : ranks) paths.push_back(path_of(rank).path);
  const CollectiveMatches matches = match_collectives(calls);
  if (matches.matched.empty()) {
    result.notes.emplace_back(
        "no collective appears in the traces of several ranks: waits between ranks are unknown");
    return result;
  }
  const std::vector<JobStretch> path =
      job_path(paths, matches.matched, clock_offsets(ranks.size(), matches.matched));
  add_job_notes(ranks, matches, result);
  if (path.empty()) return result;
  result.answer.push_back(job_path_sentence(path, ranks));
  DataTable stretches = job_path_table(path, ranks, options.top);
  if (stretches.rows.size() < path.size())
    result.notes.push_back(fmt::format("the job's path has {} stretches; the longest {} are shown",
                                       path.size(), stretches.rows.size()));
  result.tables.insert(result.tables.begin(), {std::move(stretches), job_class_table(path, ranks)});
  keep_top(result.tables[1], options.top);
  result.headlines.push_back(
      {"job_critical_path", Kind::kTimeNs, true, static_cast<double>(length_ns(path))});
  return result;
}

constexpr AnalysisOption kPathOptions[] = {
    {"step", "N", "the middle one", "analyse step N, or 'all' for the whole trace"},
    {"annotation", "NAME", "",
     "analyse an annotation whose name contains NAME; --step then counts these from 0"},
    {"overlay", "FILE", "", "write a trace with the path marked to FILE, for ui.perfetto.dev"}};

}  // namespace

namespace analysis {

extern const Analysis critical_path{
    .name = "critical-path",
    .summary = "show the CPU and GPU work that sets the time of a step",
    .needs = Needs::kLaunches | Needs::kOps | Needs::kSyncs | Needs::kGpuArguments | Needs::kPython,
    .analyze = analyze_critical_path,
    .options = kPathOptions,
    .combine = combine,
    .needs_times = true};

}  // namespace analysis

}  // namespace headroom::trace
