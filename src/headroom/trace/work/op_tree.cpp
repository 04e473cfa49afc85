// SPDX-License-Identifier: Apache-2.0
#include "headroom/trace/work/op_tree.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <unordered_map>

#include "headroom/trace/columns/attribution.h"
#include "headroom/trace/tables/duration_stats.h"

namespace headroom::trace {
namespace {

constexpr CategoryMask kCalls = mask_of(Category::kCpuOp) | mask_of(Category::kUserAnnotation) |
                                mask_of(Category::kRuntime) | mask_of(Category::kDriver);

/// Calls that the profiler makes of itself, which torch leaves out of its tables.
bool is_of_profiler(std::string_view name) {
  constexpr std::array<std::string_view, 6> kNames{"profiler::_record_function_enter",
                                                   "profiler::_record_function_enter_new",
                                                   "profiler::_record_function_exit",
                                                   "aten::is_leaf",
                                                   "aten::output_nr",
                                                   "aten::_version"};
  return std::ranges::find(kNames, name) != kNames.end();
}

/// Whose the GPU work is that a call launches: the innermost operator that it is or is in, as in torch; where
/// there is none, the innermost annotation. kNone where there is neither.
std::vector<std::uint32_t> owners(const Trace& trace, const OpTree& tree) {
  std::vector<std::uint32_t> owner(trace.events.size(), kNone);
  for (const std::uint32_t call : tree.calls) {
    const std::uint32_t parent = tree.parent[call], above = parent == kNone ? kNone : owner[parent];
    const Category category = trace.events.category[call];
    const bool is_in_op = above != kNone && trace.events.category[above] == Category::kCpuOp;
    const bool is_owner =
        category == Category::kCpuOp || (category == Category::kUserAnnotation && !is_in_op);
    owner[call] = is_owner ? call : above;
  }
  return owner;
}

/// By the launch; where none is in the file, by the external id.
void add_device_times(const Trace& trace, OpTree& tree) {
  const std::vector<std::uint32_t> launch = launches(trace), owner = owners(trace, tree);
  std::unordered_map<std::int64_t, std::uint32_t> by_external_id;
  for (const OpDetail& op : trace.ops) {
    if (op.external_id > 0) by_external_id.emplace(op.external_id, op.event);
  }
  for (std::size_t row = 0; row < trace.gpu.size(); ++row) {
    std::uint32_t call = launch[row] == kNone ? kNone : owner[launch[row]];
    if (call == kNone) {
      const auto found = by_external_id.find(trace.gpu[row].external_id);
      if (found != by_external_id.end()) call = found->second;
    }
    const std::int64_t duration = trace.events.duration_ns[trace.gpu[row].event];
    std::int64_t& time = call == kNone ? tree.unattributed_device_ns : tree.device_ns[call];
    time = saturating_add(time, duration);
  }
  tree.device_total_ns = tree.device_ns;
  for (auto call = tree.calls.rbegin(); call != tree.calls.rend(); ++call) {
    if (const std::uint32_t parent = tree.parent[*call]; parent != kNone)
      tree.device_total_ns[parent] =
          saturating_add(tree.device_total_ns[parent], tree.device_total_ns[*call]);
  }
}

void find_stand_ins(const Trace& trace, OpTree& tree) {
  const std::vector<NameId>& name = trace.events.name;
  std::vector<std::uint32_t> children(trace.events.size(), 0);
  for (const std::uint32_t call : tree.calls) {
    if (tree.parent[call] != kNone && !is_of_profiler(trace.names[name[call]])) ++children[tree.parent[call]];
  }
  tree.stand_in.assign(trace.events.size(), kNone);
  for (const std::uint32_t call : tree.calls) {
    const std::uint32_t parent = tree.parent[call];
    const bool is_folded = parent != kNone && ((name[parent] == name[call] && children[parent] == 1) ||
                                               is_of_profiler(trace.names[name[call]]));
    tree.stand_in[call] = is_folded ? tree.stand_in[parent] : call;
  }
}

}  // namespace

OpTree op_tree(const Trace& trace) {
  const Events& events = trace.events;
  OpTree tree;
  tree.calls = nesting_order(trace, kCalls);
  tree.parent = parents(trace, kCalls, kCalls);
  tree.self_ns.assign(events.size(), 0);
  tree.device_ns.assign(events.size(), 0);
  for (const std::uint32_t call : tree.calls) tree.self_ns[call] = events.duration_ns[call];
  for (const std::uint32_t call : tree.calls) {
    const std::uint32_t parent = tree.parent[call];
    if (parent == kNone) continue;
    // What ends after its parent, by rounding, has the rest of its time outside of it.
    const std::int64_t inside = std::min(events.end_ns(call), events.end_ns(parent)) - events.start_ns[call];
    tree.self_ns[parent] = saturating_add(tree.self_ns[parent], -inside);
  }
  add_device_times(trace, tree);
  find_stand_ins(trace, tree);
  std::erase_if(tree.calls, [&](std::uint32_t call) {
    return tree.parent[call] == kNone && is_of_profiler(trace.names[events.name[call]]);
  });
  return tree;
}

}  // namespace headroom::trace
