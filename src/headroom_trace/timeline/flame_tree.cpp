// SPDX-License-Identifier: Apache-2.0
#include "headroom_trace/timeline/flame_tree.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <string_view>
#include <utility>

#include "headroom_trace/columns/attribution.h"
#include "headroom_trace/columns/trace_facts.h"
#include "headroom_trace/tables/data_table.h"
#include "headroom_trace/work/python_work.h"

namespace headroom::trace {
namespace {

std::size_t hash_of(std::uint32_t parent, std::uint32_t name) {
  return static_cast<std::size_t>(((std::uint64_t{parent} << 32U) | name) * 0x9E3779B97F4A7C15ULL >> 20U);
}

/// Below a node is all that its children have.
void add_device_times_upwards(std::vector<FlameNode>& nodes) {
  for (std::size_t i = nodes.size(); i-- > 0;) {
    if (nodes[i].parent == kNone) continue;
    std::int64_t& above = nodes[nodes[i].parent].device_ns;
    above = saturating_add(above, nodes[i].device_ns);
  }
}

/// By share of their total, largest first.
std::vector<std::uint32_t> by_share(const std::vector<FlameNode>& nodes) {
  double host = 1, device = 1;
  for (const FlameNode& node : nodes) {
    if (node.parent != kNone) continue;
    host += static_cast<double>(node.host_ns);
    device += static_cast<double>(node.device_ns);
  }
  std::vector<double> share(nodes.size());
  // Never less than a child's, so that a kept node keeps its ancestors. A child may outlive its parent.
  for (std::size_t i = nodes.size(); i-- > 0;) {
    share[i] = std::max({share[i], static_cast<double>(nodes[i].host_ns) / host,
                         static_cast<double>(nodes[i].device_ns) / device});
    if (nodes[i].parent != kNone) share[nodes[i].parent] = std::max(share[nodes[i].parent], share[i]);
  }
  std::vector<std::uint32_t> order(nodes.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::stable_sort(order, std::greater{}, [&](std::uint32_t node) { return share[node]; });
  return order;
}

FlameTree bounded(FlameTree whole, std::size_t most) {
  if (whole.nodes.size() <= most) return whole;
  std::vector<std::uint32_t> kept = by_share(whole.nodes);
  kept.resize(most);
  std::ranges::sort(kept);
  FlameTree tree;
  tree.elsewhere_ns = whole.elsewhere_ns;
  tree.left_out = whole.nodes.size() - most;
  std::vector<std::uint32_t> number(whole.nodes.size(), kNone), name(whole.names.size(), kNone);
  for (const std::uint32_t old : kept) {
    FlameNode node = whole.nodes[old];
    if (node.parent != kNone) node.parent = number[node.parent];
    if (name[node.name] == kNone) {
      name[node.name] = static_cast<std::uint32_t>(tree.names.size());
      tree.names.push_back(std::move(whole.names[node.name]));
    }
    node.name = name[node.name];
    number[old] = static_cast<std::uint32_t>(tree.nodes.size());
    tree.nodes.push_back(node);
  }
  return tree;
}

/// A call that has not ended.
struct OpenCall {
  std::int64_t end_ns;
  std::uint32_t node;
};

/// What an event is in: the innermost that most of it lies in. A step begins within the function that begins
/// it, and goes on long after that has returned; a launch may end a little after its operator, by another
/// clock.
std::uint32_t node_around(const std::vector<OpenCall>& open, const LaneEvent& event) {
  const std::int64_t middle = saturating_add(event.start_ns, event.duration_ns / 2);
  for (std::size_t i = open.size(); i-- > 0;) {
    if (open[i].end_ns >= middle) return open[i].node;
  }
  return kNone;
}

}  // namespace

StackSums::StackSums(const Trace& trace)
    : trace_(trace),
      slots_(1024, kNone),
      names_(trace.names.size(), kNone),
      node_of_event_(trace.events.size(), kNone) {}

std::uint32_t StackSums::name_of(std::uint32_t event) {
  const NameId id = trace_.events.name[event];
  if (names_[id] != kNone) return names_[id];
  std::string_view text = trace_.names[id];
  // Steps are the same but for their numbers, functions of C but for the address of their object.
  if (text.starts_with(kStepName)) text = kStepName.substr(0, kStepName.size() - 1);
  std::string name =
      trace_.events.category[event] == Category::kPython ? plain_frame(text) : std::string(text);
  const auto next = static_cast<std::uint32_t>(tree_.names.size());
  // Names that have become the same are one.
  names_[id] = name.size() == trace_.names[id].size() ? next : changed_.emplace(name, next).first->second;
  if (names_[id] == next) tree_.names.push_back(std::move(name));
  return names_[id];
}

void StackSums::grow() {
  slots_.assign(2 * slots_.size(), kNone);
  const std::size_t mask = slots_.size() - 1;
  for (std::uint32_t node = 0; node < tree_.nodes.size(); ++node) {
    std::size_t slot = hash_of(tree_.nodes[node].parent, tree_.nodes[node].name) & mask;
    while (slots_[slot] != kNone) slot = (slot + 1) & mask;
    slots_[slot] = node;
  }
}

std::uint32_t StackSums::child(std::uint32_t parent, std::uint32_t event) {
  if (2 * (tree_.nodes.size() + 1) > slots_.size()) grow();
  const std::uint32_t name = name_of(event);
  const std::size_t mask = slots_.size() - 1;
  std::size_t slot = hash_of(parent, name) & mask;
  for (; slots_[slot] != kNone; slot = (slot + 1) & mask) {
    const FlameNode& node = tree_.nodes[slots_[slot]];
    if (node.parent == parent && node.name == name) return slots_[slot];
  }
  slots_[slot] = static_cast<std::uint32_t>(tree_.nodes.size());
  tree_.nodes.push_back({parent, name, name_kind(trace_.events.category[event])});
  return slots_[slot];
}

void StackSums::add_thread(std::span<const LaneEvent> events) {
  // Deeper than any Python stack, and than a page can show.
  constexpr std::size_t kMostDeep = 1000;
  std::vector<OpenCall> open;
  for (const LaneEvent& event : events) {
    if (event.row == kNone || (mask_of(trace_.events.category[event.row]) & kOnCpu) == 0) continue;
    while (!open.empty() && open.back().end_ns <= event.start_ns) open.pop_back();
    const std::uint32_t parent = node_around(open, event);
    node_of_event_[event.row] = parent;
    if (open.size() >= kMostDeep) continue;
    const std::uint32_t node = child(parent, event.row);
    ++tree_.nodes[node].calls;
    tree_.nodes[node].host_ns = saturating_add(tree_.nodes[node].host_ns, event.duration_ns);
    node_of_event_[event.row] = node;
    open.push_back({saturating_add(event.start_ns, event.duration_ns), node});
  }
}

FlameTree StackSums::take_tree(std::span<const std::uint32_t> launch, std::size_t most) {
  for (std::size_t row = 0; row < trace_.gpu.size(); ++row) {
    const std::uint32_t node = launch[row] == kNone ? kNone : node_of_event_[launch[row]];
    std::int64_t& time = node == kNone ? tree_.elsewhere_ns : tree_.nodes[node].device_ns;
    time = saturating_add(time, trace_.events.duration_ns[trace_.gpu[row].event]);
  }
  add_device_times_upwards(tree_.nodes);
  return bounded(std::move(tree_), most);
}

FlameTree module_tree(const Trace& trace, std::size_t most) {
  const PythonWork work = python_work(trace);
  FlameTree tree;
  std::map<std::string_view, std::uint32_t> names;
  for (std::size_t i = 0; i < work.modules.size(); ++i) {
    const auto [name, is_new] =
        names.emplace(work.modules[i].name, static_cast<std::uint32_t>(tree.names.size()));
    if (is_new) tree.names.emplace_back(work.modules[i].name);
    const PythonTimes& times = work.module_times[i];
    tree.nodes.push_back({work.modules[i].parent, name->second, NameKind::kPython,
                          std::max<std::int64_t>(times.host_ns, 0), times.all.device_ns,
                          std::max<std::int64_t>(times.calls, 0)});
  }
  tree.elsewhere_ns = work.total.device_ns;
  for (const FlameNode& node : tree.nodes) {
    if (node.parent == kNone) tree.elsewhere_ns -= node.device_ns;
  }
  return bounded(std::move(tree), most);
}

}  // namespace headroom::trace
