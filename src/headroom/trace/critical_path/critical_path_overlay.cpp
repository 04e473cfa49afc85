// SPDX-License-Identifier: Apache-2.0
#include "headroom/trace/critical_path/critical_path_overlay.h"

#include <fmt/format.h>

#include <string_view>
#include <vector>

#include "headroom/base/json.h"
#include "headroom/base/text.h"

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

}  // namespace

std::string critical_path_overlay(const Trace& trace, const PathGraph& graph, const CriticalPath& path) {
  return Overlay(trace, graph, path).text();
}

}  // namespace headroom::trace
