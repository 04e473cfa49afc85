// SPDX-License-Identifier: Apache-2.0
#include "headroom/trace/work/culprit_table.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

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

void add_time_columns(DataTable& table) {
  for (const Column& column :
       {Column{"idle_ns", "idle", Kind::kTimeNs}, Column{"share", "share of idle", Kind::kShare},
        Column{"parts", "times", Kind::kCount}, Column{"longest_ns", "longest", Kind::kTimeNs}})
    table.columns.push_back(column);
}

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

/// What the place of a part is called in tables; kNone where nothing of the host is known.
std::uint32_t place_of(const Trace& trace, const HostOrder& host, const IdlePart& part) {
  if (part.event == kNone) return kNone;
  const std::uint32_t site = site_of(trace, host.parent, part.event);
  return site == kNone ? part.event : site;
}

/// Parts of one device: they follow one another.
using Parts = std::span<const IdlePart>;

std::vector<Parts> by_device(const IdleCulprits& culprits) {
  std::vector<Parts> devices;
  const auto device_at = [&](std::size_t i) { return culprits.gaps[culprits.parts[i].gap].device; };
  for (std::size_t from = 0; from < culprits.parts.size();) {
    std::size_t to = from;
    while (to < culprits.parts.size() && device_at(to) == device_at(from)) ++to;
    devices.push_back(Parts(culprits.parts).subspan(from, to - from));
    from = to;
  }
  return devices;
}

/// A kind of doing and a name of a place, with the time of a step.
struct StepCulprit {
  HostDoing doing = HostDoing::kNotRecorded;
  NameId place = kNoName;
  std::int64_t idle_ns = 0, longest_ns = 0, parts = 0;
};

std::vector<StepCulprit> culprits_of(const Trace& trace, const HostOrder& host,
                                     std::span<const Parts> devices, const Step& step) {
  std::map<std::pair<HostDoing, NameId>, StepCulprit> found;
  for (const Parts parts : devices) {
    auto part =
        std::ranges::upper_bound(parts, step.start_ns, {}, [](const IdlePart& one) { return one.time.end; });
    for (; part != parts.end() && part->time.start < step.end_ns; ++part) {
      const std::uint32_t place = place_of(trace, host, *part);
      const NameId name = place == kNone ? kNoName : trace.events.name[place];
      StepCulprit& culprit = found[{part->doing, name}];
      culprit.doing = part->doing;
      culprit.place = name;
      const std::int64_t inside =
          std::min(part->time.end, step.end_ns) - std::max(part->time.start, step.start_ns);
      culprit.idle_ns = saturating_add(culprit.idle_ns, inside);
      culprit.longest_ns = std::max(culprit.longest_ns, inside);
      ++culprit.parts;
    }
  }
  std::vector<StepCulprit> sorted;
  for (const auto& [key, culprit] : found) sorted.push_back(culprit);
  std::ranges::stable_sort(sorted, std::greater{}, &StepCulprit::idle_ns);
  return sorted;
}

}  // namespace

DataTable step_culprit_table(const Trace& trace, std::span<const std::uint32_t> launch,
                             std::span<const Step> steps, std::size_t top) {
  constexpr std::size_t kMostOfAStep = 3;
  DataTable table{
      "step_culprits",
      "what the host did in each step while the devices had nothing to do",
      {{"step", "step", Kind::kText}, {"doing", "host", Kind::kText}, {"what", "what", Kind::kText}},
      {}};
  add_time_columns(table);
  const HostOrder host = host_order(trace);
  const IdleCulprits culprits = idle_culprits(trace, device_work(trace), launch, host);
  const std::vector<Parts> devices = by_device(culprits);
  for (const Step& step : steps) {
    std::vector<StepCulprit> found = culprits_of(trace, host, devices, step);
    std::int64_t idle = 0;
    for (const StepCulprit& one : found) idle = saturating_add(idle, one.idle_ns);
    const std::size_t shown = top == 0 ? found.size() : std::min({found.size(), top, kMostOfAStep});
    StepCulprit rest;
    for (std::size_t i = shown; i < found.size(); ++i) {
      rest.idle_ns = saturating_add(rest.idle_ns, found[i].idle_ns);
      rest.longest_ns = std::max(rest.longest_ns, found[i].longest_ns);
      rest.parts += found[i].parts;
    }
    const auto add = [&](const StepCulprit& one, const char* doing) {
      table.rows.push_back({step_text(step), std::string(doing), name_cell(trace, one.place), one.idle_ns,
                            share_cell(one.idle_ns, idle), one.parts, one.longest_ns});
    };
    for (std::size_t i = 0; i < shown; ++i) add(found[i], to_string(found[i].doing));
    if (rest.parts > 0) add(rest, "others");
  }
  return table;
}

DataTable culprit_table(const Trace& trace, std::span<const std::uint32_t> launch, std::size_t top) {
  DataTable table{"culprits",
                  "what the host did while the devices had nothing to do",
                  {{"depth", "depth", Kind::kCount}, {"what", "what", Kind::kText}},
                  {}};
  add_time_columns(table);
  const HostOrder host = host_order(trace);
  Branch root;
  for (const IdlePart& part : idle_culprits(trace, device_work(trace), launch, host).parts) {
    root.add(part);
    Branch& doing = root.below[to_string(part.doing)];
    doing.add(part);
    if (part.event == kNone) continue;
    const std::uint32_t shown = place_of(trace, host, part);
    Branch& place = doing.below[std::string(trace.names[trace.events.name[shown]])];
    place.add(part);
    if (part.event != shown) place.below[std::string(trace.names[trace.events.name[part.event]])].add(part);
  }
  constexpr std::size_t kMostOfABranch = 5;
  add_branches(root, 0, root.idle_ns, top == 0 ? 0 : std::min(top, kMostOfABranch), table);
  return table;
}

}  // namespace headroom::trace
