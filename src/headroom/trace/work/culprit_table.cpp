// SPDX-License-Identifier: Apache-2.0
#include "headroom/trace/work/culprit_table.h"

#include <algorithm>
#include <map>
#include <string>

#include "headroom/trace/tables/cells.h"
#include "headroom/trace/tables/duration_stats.h"
#include "headroom/trace/work/idle_culprits.h"

namespace headroom::trace {
namespace {

/// A branch of the tree: what the host did, where that belongs, and the innermost of it.
struct Branch {
  std::int64_t idle_ns = 0, longest_ns = 0;
  std::size_t parts = 0;
  std::map<std::string, Branch> below;
  void add(const IdlePart& part) {
    idle_ns = saturating_add(idle_ns, part.length_ns());
    longest_ns = std::max(longest_ns, part.length_ns());
    ++parts;
  }
};

void add_branches(const Branch& branch, std::int64_t depth, std::int64_t idle_ns, std::size_t top,
                  DataTable& table) {
  std::vector<std::pair<const std::string*, const Branch*>> sorted;
  for (const auto& [name, below] : branch.below) sorted.emplace_back(&name, &below);
  std::ranges::stable_sort(sorted, std::greater{}, [](const auto& entry) { return entry.second->idle_ns; });
  for (std::size_t i = 0; i < sorted.size() && (depth == 0 || top == 0 || i < top); ++i) {
    const auto& [name, below] = sorted[i];
    table.rows.push_back({depth, std::string(static_cast<std::size_t>(2 * depth), ' ') + *name,
                          below->idle_ns, share_cell(below->idle_ns, idle_ns), count_cell(below->parts),
                          below->longest_ns});
    add_branches(*below, depth + 1, idle_ns, top, table);
  }
}

}  // namespace

DataTable culprit_table(const Trace& trace, std::span<const std::uint32_t> launch, std::size_t top) {
  DataTable table{"culprits",
                  "what the host did while the devices had nothing to do",
                  {{"depth", "depth", Kind::kCount},
                   {"what", "what", Kind::kText},
                   {"idle_ns", "idle", Kind::kTimeNs},
                   {"share", "share of idle", Kind::kShare},
                   {"parts", "times", Kind::kCount},
                   {"longest_ns", "longest", Kind::kTimeNs}},
                  {}};
  const HostOrder host = host_order(trace);
  Branch root;
  for (const IdlePart& part : idle_culprits(trace, device_work(trace), launch, host).parts) {
    root.add(part);
    Branch& doing = root.below[to_string(part.doing)];
    doing.add(part);
    if (part.event == kNone) continue;
    const std::uint32_t site = site_of(trace, host.parent, part.event);
    const std::uint32_t shown = site == kNone ? part.event : site;
    Branch& place = doing.below[std::string(trace.names[trace.events.name[shown]])];
    place.add(part);
    if (part.event != shown) place.below[std::string(trace.names[trace.events.name[part.event]])].add(part);
  }
  constexpr std::size_t kMostOfABranch = 5;
  add_branches(root, 0, root.idle_ns, top == 0 ? 0 : std::min(top, kMostOfABranch), table);
  return table;
}

}  // namespace headroom::trace
