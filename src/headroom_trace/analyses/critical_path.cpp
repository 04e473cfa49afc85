// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headroom/base/error.h"
#include "headroom/base/json.h"
#include "headroom/base/text.h"
#include "headroom_trace/analysis.h"
#include "headroom_trace/collectives/clock_offsets.h"
#include "headroom_trace/collectives/collective_calls.h"
#include "headroom_trace/collectives/collective_matching.h"
#include "headroom_trace/columns/kernel_names.h"
#include "headroom_trace/columns/trace.h"
#include "headroom_trace/columns/trace_facts.h"
#include "headroom_trace/critical_path/job_path.h"
#include "headroom_trace/findings/advice.h"
#include "headroom_trace/index/trace_index.h"
#include "headroom_trace/peers/hta_critical_path.h"
#include "headroom_trace/ranks/rank_summary.h"
#include "headroom_trace/tables/data_table.h"
#include "headroom_trace/work/device_work.h"

namespace headroom::trace {
namespace {

constexpr const char* kPathPid = "2147483647";  ///< no process of the file has it: the largest there can be

/// Nanoseconds as exact_us, exactly.
std::string exact_us(std::int64_t ns) {
  const bool is_negative = ns < 0;
  const auto size = is_negative ? 0 - static_cast<std::uint64_t>(ns) : static_cast<std::uint64_t>(ns);
  return fmt::format("{}{}.{:03}", is_negative ? "-" : "", size / 1000, size % 1000);
}

std::string json_text(std::string_view text) {
  return dump_json(Json(std::string(text)));
}

/// A pid or tid as the file had it: a number stays one, so that the viewer sorts it as one.
std::string id_of(const std::string& text) {
  const auto number = to_integer(text);
  return number ? std::to_string(*number) : json_text(text);
}

class Overlay {
 public:
  Overlay(const Trace& trace, const PathGraph& graph, const CriticalPath& path)
      : trace_(trace), graph_(graph), path_(path), is_critical_(trace.events.size()) {
    for (const PathEdge& edge : path.edges) {
      is_critical_[event_of(edge.from)] = true;
      is_critical_[event_of(edge.to)] = true;
    }
  }

  std::string text() {
    text_ = "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n";
    add(fmt::format(
        R"({{"ph":"M","name":"process_name","pid":{},"tid":0,"args":{{"name":"critical path"}}}})",
        kPathPid));
    add_threads();
    for (const PathNode node : graph_.order) {
      if (node == start_of(event_of(node))) add_event(event_of(node));
    }
    for (const PathEdge& edge : path_.edges) add_edge(edge);
    text_ += "\n]}\n";
    return std::move(text_);
  }

 private:
  void add(const std::string& event) {
    if (text_.back() == '}') text_ += ",\n";
    text_ += event;
  }

  std::string track_of(std::uint32_t event) const {
    const Thread& thread = trace_.threads[trace_.events.thread[event]];
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
    const Events& events = trace_.events;
    add(fmt::format(R"({{"ph":"X","cat":"{}","name":{},{},"ts":{},"dur":{},"args":{{"critical":{}}}}})",
                    is_gpu_work(events.category[event]) ? "kernel" : "cpu_op",
                    json_text(trace_.names[events.name[event]]), track_of(event),
                    exact_us(events.start_ns[event]), exact_us(events.duration_ns[event]),
                    is_critical_[event] ? 1 : 0));
  }

  /// Where an arrow touches a node: inside its slice, which ends before its end.
  std::string arrow_at(PathNode node) const {
    const std::uint32_t event = event_of(node);
    const bool is_at_end = node == end_of(event) && graph_.at_ns[node] > trace_.events.start_ns[event];
    return fmt::format(R"({},"ts":{})", track_of(event), exact_us(graph_.at_ns[node] - (is_at_end ? 1 : 0)));
  }

  void add_edge(const PathEdge& edge) {
    if (edge.weight_ns > 0) {
      add(fmt::format(
          R"({{"ph":"X","cat":"critical_path","name":{},"pid":{},"tid":0,"ts":{},"dur":{},"args":{{"event":{}}}}})",
          json_text(to_string(edge.kind)), kPathPid, exact_us(graph_.at_ns[edge.from]),
          exact_us(edge.weight_ns), json_text(trace_.names[trace_.events.name[edge.event]])));
    }
    if (trace_.events.thread[event_of(edge.from)] == trace_.events.thread[event_of(edge.to)]) return;
    add(fmt::format(R"({{"ph":"s","cat":"critical_path","name":{},"id":{},{}}})",
                    json_text(to_string(edge.kind)), arrows_, arrow_at(edge.from)));
    add(fmt::format(R"({{"ph":"f","bp":"e","cat":"critical_path","name":{},"id":{},{}}})",
                    json_text(to_string(edge.kind)), arrows_, arrow_at(edge.to)));
    ++arrows_;
  }
  const Trace& trace_;
  const PathGraph& graph_;
  const CriticalPath& path_;
  std::vector<bool> is_critical_;
  std::string text_;
  std::uint64_t arrows_ = 0;
};

/// Returns a Chrome trace of the window with the path marked, for ui.perfetto.dev: every event of the graph
/// on its own track (args.critical: whether it is on the path), a process "critical path" with one slice per
/// weighed edge, named by class, and arrows where the path changes tracks. Times in µs with three decimals.
std::string critical_path_overlay(const Trace& trace, const PathGraph& graph, const CriticalPath& path) {
  return Overlay(trace, graph, path).text();
}

struct Window {
  std::string text;  ///< "ProfilerStep#551"
  Span span;
  std::int64_t length_ns = span.end - span.start;
};

/// The annotations of the host whose name contains `text`, by start.
std::vector<Window> annotated(const Trace& trace, const std::string& text) {
  std::vector<Window> found;
  for (std::size_t i = 0; i < trace.events.size(); ++i) {
    const std::string_view name = trace.names[trace.events.name[i]];
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
    throw Error(fmt::format("--annotation {}: no annotation of the trace contains it", in_quotes(text)));
  const std::size_t middle = found.size() / 2;
  const double number = options.number("step", static_cast<double>(middle));
  if (number < 0 || number >= static_cast<double>(found.size()))
    throw Error(fmt::format("--step {}: the trace has {} annotations with {}: give 0 to {}",
                            options.text("step"), found.size(), in_quotes(text), found.size() - 1));
  return found[static_cast<std::size_t>(number)];
}

/// The step that was asked for, the middle one, or the whole trace.
Window window_of(const TraceIndex& index, const AnalysisOptions& options, std::vector<std::string>& notes) {
  const Trace& trace = index.trace();
  if (options.flag("annotation")) return annotation_window(trace, options);
  const std::vector<Step>& all = index.steps().steps;
  const Extent extent = whole_extent(trace);
  // Half open, but includes events that start exactly at the end.
  const Window whole{"the whole trace", {extent.start_ns, extent.end_ns + 1}, extent.length_ns()};
  const std::string asked = options.text("step");
  if (asked == "all") return whole;
  if (all.empty()) {
    if (!asked.empty())
      throw Error(fmt::format("--step {}: the trace has no steps; leave --step out, or {}", asked,
                              advice(Advice::kMarkSteps, trace.writer)));
    notes.push_back(fmt::format("no steps in the file: the path is that of the whole trace; {}",
                                advice(Advice::kMarkSteps, trace.writer)));
    return whole;
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
    notes.push_back(fmt::format("{}, the middle one of {} steps; --step takes another, or 'all'",
                                all[chosen].name, all.size()));
  }
  return {all[chosen].name, {all[chosen].start_ns, all[chosen].end_ns}};
}

struct PathSum {
  std::int64_t time_ns = 0, elapsed_ns = 0, edges = 0;
};
using ClassSums = std::array<PathSum, kPathClasses>;

ClassSums sums_of(const PathGraph& graph, const CriticalPath& path) {
  ClassSums sums;
  for (const PathEdge& edge : path.edges) {
    PathSum& sum = sums[static_cast<std::size_t>(edge.kind)];
    sum.time_ns += edge.weight_ns;
    sum.elapsed_ns += graph.at_ns[edge.to] - graph.at_ns[edge.from];
    ++sum.edges;
  }
  return sums;
}

bool is_weighed(std::size_t kind) {
  return kind < static_cast<std::size_t>(PathClass::kBetweenOps);
}

/// Every weighed class, and the other classes on the path. Times sum to the length of the path, elapsed times
/// to the time from its first node to its last.
DataTable class_table(const ClassSums& sums, const CriticalPath& path) {
  DataTable table{"classes",
                  "the critical path by what its time goes to",
                  {{"class", "class", Kind::kText},
                   {"time_ns", "time", Kind::kTimeNs},
                   {"share", "of path", Kind::kShare},
                   {"edges", "edges", Kind::kCount},
                   {"elapsed_ns", "elapsed", Kind::kTimeNs}},
                  {}};
  for (std::size_t kind = 0; kind < kPathClasses; ++kind) {
    const PathSum& sum = sums[kind];
    if (!is_weighed(kind) && sum.edges == 0) continue;
    table.rows.push_back({to_string(static_cast<PathClass>(kind)), sum.time_ns,
                          share_cell(sum.time_ns, path.length_ns), sum.edges, sum.elapsed_ns});
  }
  return table;
}

DataTable name_table(const Trace& trace, const CriticalPath& path) {
  std::map<std::pair<PathClass, NameId>, PathSum> by_name;
  for (const PathEdge& edge : path.edges) {
    if (edge.weight_ns <= 0) continue;
    PathSum& sum = by_name[{edge.kind, trace.events.name[edge.event]}];
    sum.time_ns += edge.weight_ns;
    ++sum.edges;
  }
  std::vector<std::pair<std::pair<PathClass, NameId>, PathSum>> sorted(by_name.begin(), by_name.end());
  std::ranges::stable_sort(sorted, std::greater{}, [](const auto& entry) { return entry.second.time_ns; });
  DataTable table{"names",
                  "the critical path by event",
                  {{"class", "class", Kind::kText},
                   {"name", "event", Kind::kText},
                   {"edges", "edges", Kind::kCount},
                   {"time_ns", "time", Kind::kTimeNs},
                   {"share", "of path", Kind::kShare}},
                  {}};
  for (const auto& [key, sum] : sorted) {
    table.rows.push_back({to_string(key.first), std::string(trace.names[key.second]), sum.edges, sum.time_ns,
                          share_cell(sum.time_ns, path.length_ns)});
  }
  return table;
}

std::string place_of(const Trace& trace, std::uint32_t event) {
  if (is_gpu_work(trace.events.category[event])) {
    const GpuDetail& work = trace.gpu[trace.events.detail[event]];
    return fmt::format("device {} stream {}", device_text(device_of(trace, work)), work.stream);
  }
  return "thread " + trace.threads[trace.events.thread[event]].tid;
}

DataTable edge_table(const Trace& trace, const PathGraph& graph, const CriticalPath& path) {
  std::vector<PathEdge> sorted(path.edges);
  std::erase_if(sorted, [](const PathEdge& edge) { return edge.weight_ns <= 0; });
  std::ranges::stable_sort(sorted, std::greater{}, &PathEdge::weight_ns);
  DataTable table{"longest_edges",
                  "the longest edges of the critical path",
                  {{"class", "class", Kind::kText},
                   {"name", "event", Kind::kText},
                   {"place", "on", Kind::kText},
                   {"start_ns", "at", Kind::kInstantNs},
                   {"time_ns", "time", Kind::kTimeNs},
                   {"share", "of path", Kind::kShare}},
                  {}};
  for (const PathEdge& edge : sorted) {
    table.rows.push_back({to_string(edge.kind), std::string(trace.names[trace.events.name[edge.event]]),
                          place_of(trace, edge.event), graph.at_ns[edge.from], edge.weight_ns,
                          share_cell(edge.weight_ns, path.length_ns)});
  }
  return table;
}

DataTable path_table(const Window& window, const PathGraph& graph, const CriticalPath& path) {
  return {"path",
          "the critical path",
          {{"window", "window", Kind::kText},
           {"window_ns", "its time", Kind::kTimeNs},
           {"path_ns", "path", Kind::kTimeNs},
           {"elapsed_ns", "from first to last", Kind::kTimeNs},
           {"path_edges", "edges", Kind::kCount},
           {"graph_nodes", "nodes in graph", Kind::kCount},
           {"graph_edges", "edges in graph", Kind::kCount}},
          {{window.text, window.length_ns, path.length_ns, path.end_ns - path.start_ns,
            std::ssize(path.edges), std::ssize(graph.order), std::ssize(graph.edges)}}};
}

void add_notes(const PathGraph& graph, const ClassSums& sums, const CriticalPath& path, Writer writer,
               std::vector<std::string>& notes) {
  if (graph.syncs_are_inferred) {
    notes.push_back(
        fmt::format("no synchronisations are in the file: who waited for the device is taken from the names "
                    "of the calls ({})",
                    advice(Advice::kRecordSyncs, writer)));
  }
  if (graph.syncs_unmatched > 0)
    notes.push_back(fmt::format("{} of {} synchronisations name a call or a record that is not in the file",
                                graph.syncs_unmatched, graph.syncs));
  if (graph.edges_left_out > 0)
    notes.push_back(fmt::format("{} dependencies run against the order of the launches and are left out",
                                graph.edges_left_out));
  const std::int64_t between = sums[static_cast<std::size_t>(PathClass::kBetweenOps)].elapsed_ns;
  const std::int64_t elapsed = path.end_ns - path.start_ns;
  if (elapsed > 0 && between > elapsed / 10)
    notes.push_back(
        fmt::format("{:.0f} % of the time from the path's first event to its last lies between operators, "
                    "where the trace records nothing: Python, or a thread that has nothing to do",
                    100.0 * static_cast<double>(between) / static_cast<double>(elapsed)));
}

/// Stores what combine reads: the path by time only if collectives may join it to those of other ranks.
void keep_for_job(const TraceIndex& index, const Window& window, const PathGraph& graph,
                  const CriticalPath& path, AnalysisResult& result) {
  const std::vector<CollectiveCall>& calls = index.calls();
  const Span span{window.span.start, window.span.start + window.length_ns};
  RankPath rank{span.start, span.end, {}};
  if (!calls.empty()) {
    Spans computing;
    for (const DeviceTimes& device : index.devices())
      computing = unite(computing, unite(device.compute, device.memory));
    rank = rank_path(graph, path, span, computing);
  }
  RankSummary summary;
  summary.calls = calls;
  summary.path = NamedPath{window.text, std::move(rank)};
  result.summary = std::make_shared<const RankSummary>(std::move(summary));
}

AnalysisResult analyze_critical_path(const TraceIndex& index, const AnalysisOptions& options) {
  const Trace& trace = index.trace();
  AnalysisResult result;
  const Window window = window_of(index, options, result.notes);
  const PathGraph graph = hta_path_graph(trace, window.span);
  const CriticalPath path = hta_critical_path(graph);
  const ClassSums sums = sums_of(graph, path);
  if (path.edges.empty())
    result.notes.emplace_back("no operator, runtime call or GPU work in it: there is no path");
  add_notes(graph, sums, path, trace.writer, result.notes);
  result.tables = {path_table(window, graph, path), class_table(sums, path), name_table(trace, path),
                   edge_table(trace, graph, path)};
  for (DataTable* table : {&result.tables[2], &result.tables[3]}) keep_top(*table, options.top);
  keep_for_job(index, window, graph, path, result);
  result.headlines.push_back({"critical_path", Kind::kTimeNs, true, static_cast<double>(path.length_ns), ""});
  for (std::size_t kind = 0; kind < kPathClasses && path.length_ns > 0; ++kind) {
    if (!is_weighed(kind)) continue;
    std::string name = to_string(static_cast<PathClass>(kind));
    std::ranges::replace_if(
        name, [](char c) { return c == ' ' || c == '-'; }, '_');
    result.headlines.push_back(
        {"critical_path_" + name, Kind::kTimeNs, true, static_cast<double>(sums[kind].time_ns), ""});
  }
  if (options.flag("overlay"))
    result.files.push_back({options.text("overlay"), critical_path_overlay(trace, graph, path)});
  return result;
}

/// What may make the job's path another than it seems.
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
        "the windows of the ranks differ ({} of rank {}, {} of rank {}): give --step for one of all", window,
        ranks.front().rank, path_of(*other).window, other->rank));
  for (const std::string& group : matches.groups_by_time)
    result.notes.push_back(
        fmt::format("group {}: the traces do not hold the same collectives, so that they are paired by time, "
                    "which needs clocks that agree",
                    group));
}

/// A row for each rank, and the path of the job from rank to rank.
AnalysisResult combine(std::span<const RankResult> ranks, const AnalysisOptions& options) {
  AnalysisResult result = combine_headlines(ranks);
  const std::vector<std::vector<CollectiveCall>> calls = calls_of(ranks);
  std::vector<RankPath> paths;
  for (const RankResult& rank : ranks) paths.push_back(path_of(rank).path);
  const CollectiveMatches matches = match_collectives(calls);
  if (matches.matched.empty()) {
    result.notes.emplace_back(
        "no collective is found in the traces of several ranks: nothing tells how they wait for each other");
    return result;
  }
  const std::vector<JobStretch> path =
      job_path(paths, matches.matched, clock_offsets(ranks.size(), matches.matched));
  add_job_notes(ranks, matches, result);
  if (path.empty()) return result;
  result.answer.push_back(job_path_answer(path, ranks));
  DataTable stretches = job_path_table(path, ranks, options.top);
  if (stretches.rows.size() < path.size())
    result.notes.push_back(fmt::format("the job's path has {} stretches, the longest {} of which are shown",
                                       path.size(), stretches.rows.size()));
  result.tables.insert(result.tables.begin(), {std::move(stretches), job_class_table(path, ranks)});
  keep_top(result.tables[1], options.top);
  result.headlines.push_back(
      {"job_critical_path", Kind::kTimeNs, true, static_cast<double>(length_ns(path)), ""});
  return result;
}

constexpr AnalysisOption kPathOptions[] = {
    {"step", "N", "the middle one", "the step with that number, or 'all' for the whole trace"},
    {"annotation", "TEXT", "",
     "in place of a step: an annotation whose name contains TEXT; --step then counts these from 0"},
    {"overlay", "FILE", "", "write a trace for ui.perfetto.dev with the path marked"}};

}  // namespace

namespace analysis {

extern const Analysis critical_path{"critical-path",
                                    "the chain of host and device work that set the time of a step",
                                    Needs::kLaunches | Needs::kOps | Needs::kSyncs | Needs::kGpuArguments,
                                    analyze_critical_path,
                                    kPathOptions,
                                    combine,
                                    nullptr,
                                    {},
                                    true};

}  // namespace analysis

}  // namespace headroom::trace
