// SPDX-License-Identifier: Apache-2.0
#include "headroom/trace/critical_path/critical_path_graph.h"

#include <algorithm>
#include <limits>
#include <span>
#include <unordered_map>
#include <utility>

#include "headroom/trace/columns/attribution.h"
#include "headroom/trace/columns/kernel_type.h"
#include "headroom/trace/critical_path/host_nest.h"
#include "headroom/trace/work/stream_order.h"
#include "headroom/trace/work/sync_waits.h"

namespace headroom::trace {
namespace {

/// A kernel that starts later than this after the end of the one before it was not waiting for it.
constexpr std::int64_t kMaxKernelKernelNs = 1'500'000;

class GraphBuilder {
 public:
  GraphBuilder(const Trace& trace, Span window)
      : trace_(trace),
        events_(trace.events),
        window_(window),
        launch_(launches(trace)),
        streams_(stream_orders(trace, device_work(trace), launch_)),
        waits_(sync_waits(trace, launch_, streams_)) {
    graph_.at_ns.resize(2 * events_.size());
    find_empty_queues(trace, launch_, streams_);
  }

  PathGraph build() {
    add_host();
    for (const StreamOrder& stream : streams_) {
      for (std::size_t place = 0; place < stream.rows.size(); ++place) {
        if (is_gpu_in_graph(stream.rows[place])) add_gpu_node(stream, place);
      }
    }
    sort_nodes();
    add_gpu_edges();
    for (const HostWait& wait : waits_.host) {
      if (is_gpu_in_graph(wait.row) && is_host_in_graph(wait.call))
        add_edge(end_of(event_of_row(wait.row)), end_of(wait.call), PathClass::kSync, wait.call);
    }
    count_syncs();
    keep_forward_edges();
    return std::move(graph_);
  }

 private:
  struct NodeKey {
    std::int64_t at_ns;      ///< of the host
    std::uint64_t sequence;  ///< among nodes at the same time
    PathNode node;
  };

  std::uint32_t event_of_row(std::uint32_t row) const { return trace_.gpu[row].event; }
  std::int64_t end_of_row(std::uint32_t row) const { return events_.end_ns(event_of_row(row)); }
  bool is_in_window(std::int64_t at_ns) const { return at_ns >= window_.start && at_ns < window_.end; }
  bool is_host_in_graph(std::uint32_t event) const {
    return is_in_host_nest(trace_, event) && is_in_window(events_.start_ns[event]);
  }
  bool is_gpu_in_graph(std::uint32_t row) const {
    const std::uint32_t event = launch_[row] != kNone ? launch_[row] : event_of_row(row);
    return is_in_window(events_.start_ns[event]);
  }

  /// `weighed`: the time between the nodes counts. Where it is negative it always does: the path must not get
  /// longer than the time that it took.
  void add_edge(PathNode from, PathNode to, PathClass kind, std::uint32_t event, bool weighed = false) {
    const std::int64_t time = graph_.at_ns[to] - graph_.at_ns[from];
    graph_.edges.push_back({from, to, event, kind, weighed ? time : std::min<std::int64_t>(time, 0)});
  }

  /// The calls whose own time is waiting: for what is known to have ended after they began, or for what is
  /// not known.
  std::vector<bool> waiting_calls() const {
    std::vector<bool> waiting(events_.size()), explained(events_.size());
    for (const HostWait& wait : waits_.host) {
      explained[wait.call] = true;
      if (end_of_row(wait.row) > events_.start_ns[wait.call]) waiting[wait.call] = true;
    }
    for (const std::uint32_t call : waits_.blocking) {
      if (!explained[call]) waiting[call] = true;
    }
    return waiting;
  }

  void add_host() {
    const std::vector<bool> waiting = waiting_calls();
    HostNest nest = host_nest(trace_, window_, waiting);
    for (const HostNode& node : nest.nodes) {
      graph_.at_ns[node.node] = node.at_ns;
      keys_.push_back({node.at_ns, keys_.size(), node.node});
    }
    graph_.edges = std::move(nest.edges);
  }

  void add_gpu_node(const StreamOrder& stream, std::size_t place) {
    const std::uint32_t event = event_of_row(stream.rows[place]);
    graph_.at_ns[start_of(event)] = events_.start_ns[event];
    graph_.at_ns[end_of(event)] = events_.end_ns(event);
    gpu_.push_back({stream.queued_ns[place], stream.rows[place], event});
  }

  /// By the time of the host; of GPU work that was queued at the same time, by the time of the device.
  void sort_nodes() {
    std::ranges::sort(gpu_, [this](const Queued& a, const Queued& b) {
      if (a.queued_ns != b.queued_ns) return a.queued_ns < b.queued_ns;
      if (events_.start_ns[a.event] != events_.start_ns[b.event])
        return events_.start_ns[a.event] < events_.start_ns[b.event];
      return a.row < b.row;
    });
    for (const Queued& one : gpu_) {
      for (const PathNode node : {start_of(one.event), end_of(one.event)})
        keys_.push_back({one.queued_ns, keys_.size(), node});
    }
    std::ranges::sort(keys_, [](const NodeKey& a, const NodeKey& b) {
      return a.at_ns != b.at_ns ? a.at_ns < b.at_ns : a.sequence < b.sequence;
    });
    graph_.order.reserve(keys_.size());
    for (const NodeKey& key : keys_) graph_.order.push_back(key.node);
    keys_ = {};
  }

  void add_gpu_edges() {
    const std::vector<KernelType> types = kernel_types(trace_);
    std::unordered_map<std::uint32_t, std::vector<std::uint32_t>> sources;
    for (const StreamWait& wait : waits_.streams) {
      if (is_gpu_in_graph(wait.source)) sources[wait.waiter].push_back(wait.source);
    }
    for (const StreamOrder& stream : streams_) {
      std::uint32_t latest = kNone, before_latest = kNone;
      for (std::size_t place = 0; place < stream.rows.size(); ++place) {
        const std::uint32_t row = stream.rows[place];
        // Work of a graph may overlap on its stream: the one before is then the last that had ended.
        std::uint32_t previous = latest;
        if (latest != kNone && end_of_row(latest) > events_.start_ns[event_of_row(row)])
          previous = before_latest;
        if (is_gpu_in_graph(row)) {
          const auto found = sources.find(row);
          const bool is_stream_idle =
              latest == kNone || launch_[row] == kNone || end_of_row(latest) < events_.start_ns[launch_[row]];
          add_kernel_edges(row, types[row], stream.met_empty_queue[place] && is_stream_idle, previous,
                           found == sources.end() ? std::span<const std::uint32_t>{} : found->second);
        }
        if (latest == kNone || end_of_row(row) >= end_of_row(latest)) {
          before_latest = previous;
          latest = row;
        }
      }
    }
  }

  /// `met_idle_stream`: nothing before it was left when it was launched. `previous`: what had ended last on
  /// the stream, kNone for nothing. `sources`: work of other streams that it had to wait for.
  void add_kernel_edges(std::uint32_t row, KernelType type, bool met_idle_stream, std::uint32_t previous,
                        std::span<const std::uint32_t> sources) {
    const std::uint32_t event = event_of_row(row), launch = launch_[row];
    add_edge(start_of(event), end_of(event),
             type == KernelType::kCommunication ? PathClass::kGpuCommunication : PathClass::kGpuCompute,
             event, true);
    std::int64_t sources_end = std::numeric_limits<std::int64_t>::min();
    for (const std::uint32_t source : sources) {
      sources_end = std::max(sources_end, end_of_row(source));
      add_edge(end_of(event_of_row(source)), start_of(event), PathClass::kSync, event);
    }
    if (launch != kNone && met_idle_stream && sources_end < events_.start_ns[launch]) {
      add_edge(start_of(launch), start_of(event), PathClass::kLaunch, event, true);
    } else if (previous != kNone && is_gpu_in_graph(previous) && sources_end < end_of_row(previous) &&
               events_.start_ns[event] - end_of_row(previous) < kMaxKernelKernelNs) {
      add_edge(end_of(event_of_row(previous)), start_of(event), PathClass::kKernelKernel, event, true);
    } else if (sources.empty() && launch != kNone) {
      // Nothing says what it waited for, but it cannot have come before its launch.
      add_edge(start_of(launch), start_of(event), PathClass::kSync, event);
    }
  }

  void count_syncs() {
    graph_.syncs_are_inferred = waits_.is_inferred;
    for (const SyncDetail& sync : trace_.syncs) {
      if (is_in_window(events_.start_ns[sync.event])) ++graph_.syncs;
    }
    for (const std::uint32_t event : waits_.unmatched) {
      if (is_in_window(events_.start_ns[event])) ++graph_.syncs_unmatched;
    }
  }

  /// Sorts the edges by where they start, and leaves out those that would run backwards.
  void keep_forward_edges() {
    std::vector<std::uint32_t> place(2 * events_.size(), kNone);
    for (std::uint32_t i = 0; i < graph_.order.size(); ++i) place[graph_.order[i]] = i;
    graph_.edges_left_out = std::erase_if(graph_.edges, [&](const PathEdge& edge) {
      return place[edge.from] == kNone || place[edge.to] == kNone || place[edge.from] >= place[edge.to];
    });
    std::ranges::stable_sort(graph_.edges, {}, [&](const PathEdge& edge) { return place[edge.from]; });
  }

  struct Queued {
    std::int64_t queued_ns;
    std::uint32_t row, event;
  };

  const Trace& trace_;
  const Events& events_;
  Span window_;
  std::vector<std::uint32_t> launch_;
  std::vector<StreamOrder> streams_;
  SyncWaits waits_;
  std::vector<NodeKey> keys_;
  std::vector<Queued> gpu_;
  PathGraph graph_;
};

}  // namespace

const char* to_string(PathClass kind) {
  constexpr const char* kNames[kPathClasses] = {
      "cpu",    "data loading",      "gpu compute", "gpu communication", "kernel-kernel",
      "launch", "between operators", "waiting",     "synchronisation"};
  return kNames[static_cast<std::size_t>(kind)];
}

PathGraph critical_path_graph(const Trace& trace, Span window) {
  return GraphBuilder(trace, window).build();
}

CriticalPath critical_path(const PathGraph& graph) {
  std::vector<std::int64_t> length(graph.at_ns.size(), 0);
  std::vector<std::uint32_t> last_edge(graph.at_ns.size(), kNone);
  for (std::uint32_t i = 0; i < graph.edges.size(); ++i) {
    const PathEdge& edge = graph.edges[i];
    const std::int64_t with = length[edge.from] + edge.weight_ns;
    if (with <= length[edge.to]) continue;
    length[edge.to] = with;
    last_edge[edge.to] = i;
  }
  CriticalPath path;
  PathNode end = 0;
  for (const PathNode node : graph.order) {
    if (length[node] > length[end]) end = node;
  }
  if (graph.order.empty()) return path;
  path.length_ns = length[end];
  for (PathNode node = end; last_edge[node] != kNone; node = graph.edges[last_edge[node]].from)
    path.edges.push_back(graph.edges[last_edge[node]]);
  std::ranges::reverse(path.edges);
  if (!path.edges.empty()) {
    path.start_ns = graph.at_ns[path.edges.front().from];
    path.end_ns = graph.at_ns[path.edges.back().to];
  }
  return path;
}

}  // namespace headroom::trace
