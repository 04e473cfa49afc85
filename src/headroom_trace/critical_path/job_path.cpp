// SPDX-License-Identifier: Apache-2.0
#include "headroom_trace/critical_path/job_path.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "headroom/base/units.h"

namespace headroom::trace {
namespace {

/// A wait for another rank. Aligned times.
struct Crossing {
  std::int64_t at_ns = 0, end_ns = 0;  ///< arrival of the last rank; end of the collective on this rank
  std::size_t last_rank = 0;
  const MatchedCollective* collective = nullptr;
};

constexpr std::size_t kOutside = kPathClasses;

class JobWalk {
 public:
  JobWalk(std::span<const RankPath> ranks, std::span<const MatchedCollective> matched,
          std::span<const double> offsets)
      : ranks_(ranks), has_any_(ranks.size()), crossings_(ranks.size()) {
    for (const double offset : offsets) offsets_.push_back(std::llround(offset));
    for (const MatchedCollective& collective : matched) add_collective(collective, offsets);
    for (std::vector<Crossing>& crossings : crossings_)
      std::ranges::stable_sort(crossings, {}, &Crossing::at_ns);
  }

  std::vector<JobStretch> walk() const {
    std::vector<JobStretch> path;
    if (std::ranges::find(has_any_, true) == has_any_.end()) return path;
    std::size_t rank = last_to_end();
    std::int64_t to = end_of(rank);
    const MatchedCollective* until = nullptr;
    for (;;) {
      const Crossing* const crossing = latest_crossing(rank, to);
      const std::int64_t from = crossing != nullptr ? crossing->at_ns : std::min(start_of(rank), to);
      if (to > from) path.push_back({rank, from, to, until, classes(rank, from, to)});
      if (crossing == nullptr) break;
      to = from;
      rank = crossing->last_rank;
      until = crossing->collective;
    }
    std::ranges::reverse(path);
    return path;
  }

 private:
  std::int64_t start_of(std::size_t rank) const { return ranks_[rank].start_ns - offsets_[rank]; }
  std::int64_t end_of(std::size_t rank) const { return ranks_[rank].end_ns - offsets_[rank]; }

  std::size_t last_to_end() const {
    std::size_t last = ranks_.size();
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      if (has_any_[rank] && (last == ranks_.size() || end_of(rank) > end_of(last))) last = rank;
    }
    return last;
  }

  void add_collective(const MatchedCollective& collective, std::span<const double> offsets) {
    const std::size_t last_rank = arrival_of(collective, offsets).last_rank;
    const auto last = std::ranges::find(collective.parts, last_rank, &Part::rank);
    const std::int64_t at = last->call->start_ns - offsets_[last_rank];
    for (const Part& part : collective.parts) {
      const std::int64_t offset = offsets_[part.rank];
      has_any_[part.rank] = true;
      const bool waits = part.rank != last_rank && part.call->start_ns - offset < at;
      if (waits) crossings_[part.rank].push_back({at, part.call->end_ns() - offset, last_rank, &collective});
    }
  }

  /// In the rank's window and before `before`.
  const Crossing* latest_crossing(std::size_t rank, std::int64_t before) const {
    const std::vector<Crossing>& all = crossings_[rank];
    auto next = std::ranges::lower_bound(all, before, {}, &Crossing::at_ns);
    while (next != all.begin()) {
      --next;
      if (next->at_ns <= start_of(rank)) break;
      if (next->end_ns <= before && is_held(rank, next->end_ns)) return &*next;
    }
    return nullptr;
  }

  /// Those that end after the aligned time `at`.
  std::span<const PathStretch> stretches_after(std::size_t rank, std::int64_t at) const {
    const std::vector<PathStretch>& all = ranks_[rank].stretches;
    return {std::ranges::upper_bound(all, at + offsets_[rank], {}, &PathStretch::to_ns), all.end()};
  }

  bool is_held(std::size_t rank, std::int64_t end) const {
    const auto after = stretches_after(rank, end - 1);
    return after.empty() || after.front().kind == PathClass::kGpuCommunication;
  }

  std::array<std::int64_t, kPathClasses + 1> classes(std::size_t rank, std::int64_t from,
                                                     std::int64_t to) const {
    std::array<std::int64_t, kPathClasses + 1> times{};
    times[kOutside] = to - from;
    const std::int64_t offset = offsets_[rank];
    for (const PathStretch& stretch : stretches_after(rank, from)) {
      if (stretch.from_ns - offset >= to) break;
      const std::int64_t time =
          std::min(stretch.to_ns - offset, to) - std::max(stretch.from_ns - offset, from);
      times[static_cast<std::size_t>(stretch.kind)] += time;
      times[kOutside] -= time;
    }
    return times;
  }

  std::span<const RankPath> ranks_;
  std::vector<bool> has_any_;  ///< matched collectives, by rank
  std::vector<std::int64_t> offsets_;
  std::vector<std::vector<Crossing>> crossings_;  ///< by rank and time
};

const char* class_name(std::size_t kind) {
  return kind < kPathClasses ? to_string(static_cast<PathClass>(kind)) : "outside its path";
}

std::size_t main_class(const JobStretch& stretch) {
  return static_cast<std::size_t>(std::ranges::max_element(stretch.class_ns) - stretch.class_ns.begin());
}

std::string collective_text(const MatchedCollective* collective) {
  if (collective == nullptr) return "";
  const CollectiveCall& call = *collective->parts.front().call;
  return fmt::format("{} {} of group {}", call.collective.empty() ? call.kernel : call.collective, call.index,
                     call.group);
}

using TimesByRankAndClass = std::map<std::pair<std::size_t, std::size_t>, std::int64_t>;

TimesByRankAndClass times_of(std::span<const JobStretch> path) {
  TimesByRankAndClass times;
  for (const JobStretch& stretch : path) {
    for (std::size_t kind = 0; kind < stretch.class_ns.size(); ++kind)
      times[{stretch.rank, kind}] += stretch.class_ns[kind];
  }
  std::erase_if(times, [](const auto& entry) { return entry.second == 0; });
  return times;
}

}  // namespace

RankPath rank_path(std::span<const PathLink> links) {
  RankPath rank{links.front().time.start, links.back().time.end, {}};
  for (const PathLink& link : links) {
    if (!rank.stretches.empty() && rank.stretches.back().kind == link.kind) {
      rank.stretches.back().to_ns = link.time.end;
    } else {
      rank.stretches.push_back({link.time.start, link.time.end, link.kind});
    }
  }
  return rank;
}

std::vector<JobStretch> job_path(std::span<const RankPath> ranks, std::span<const MatchedCollective> matched,
                                 std::span<const double> offsets) {
  return JobWalk(ranks, matched, offsets).walk();
}

std::int64_t length_ns(std::span<const JobStretch> path) {
  return path.empty() ? 0 : path.back().to_ns - path.front().from_ns;
}

DataTable job_path_table(std::span<const JobStretch> path, std::span<const RankResult> ranks,
                         std::size_t top) {
  std::vector<const JobStretch*> shown;
  for (const JobStretch& stretch : path) shown.push_back(&stretch);
  const auto time = [](const JobStretch* stretch) { return stretch->to_ns - stretch->from_ns; };
  if (top > 0 && shown.size() > top) {
    std::ranges::stable_sort(shown, std::greater{}, time);
    shown.resize(top);
    std::ranges::sort(shown);
  }
  DataTable table{
      "job_path",
      "the job's critical path from rank to rank",
      {Column::count("rank"), Column::instant("from_ns").detail(), Column::instant("to_ns").detail(),
       Column::time("time_ns").main(), Column::text("class", "main class"),
       Column::time("class_ns", "time of class"), Column::text("until", "ends at collective")}};
  for (const JobStretch* stretch : shown) {
    const std::size_t kind = main_class(*stretch);
    table.rows.push_back({ranks[stretch->rank].rank, stretch->from_ns, stretch->to_ns, time(stretch),
                          class_name(kind), stretch->class_ns[kind], collective_text(stretch->until)});
  }
  return table;
}

DataTable job_class_table(std::span<const JobStretch> path, std::span<const RankResult> ranks) {
  DataTable table{"job_classes",
                  "the job's critical path by rank and class",
                  {Column::count("rank"), Column::text("class"), Column::time("time_ns").main(),
                   Column::share("share", "of the path").main()}};
  for (const auto& [key, time_ns] : times_of(path)) {
    table.rows.push_back(
        {ranks[key.first].rank, class_name(key.second), time_ns, share_cell(time_ns, length_ns(path))});
  }
  std::ranges::stable_sort(table.rows, std::greater{},
                           [](const std::vector<Cell>& row) { return std::get<std::int64_t>(row[2]); });
  return table;
}

std::string job_path_sentence(std::span<const JobStretch> path, std::span<const RankResult> ranks) {
  std::map<std::size_t, std::int64_t> by_rank;
  for (const JobStretch& stretch : path) by_rank[stretch.rank] += stretch.to_ns - stretch.from_ns;
  const auto second = [](const auto& entry) { return entry.second; };
  const auto [rank, time_ns] = *std::ranges::max_element(by_rank, {}, second);
  TimesByRankAndClass times = times_of(path);
  std::erase_if(times, [rank = rank](const auto& entry) { return entry.first.first != rank; });
  const auto most = std::ranges::max_element(times, {}, second);
  const auto whole = static_cast<double>(length_ns(path));
  const std::string share = fmt::format("{} of that {}", format_time_ns(static_cast<double>(most->second)),
                                        class_name(most->first.second));
  const std::string takes = fmt::format("the job's critical path takes {} and ends on rank {}",
                                        format_time_ns(whole), ranks[path.back().rank].rank);
  if (path.size() == 1) return fmt::format("{}, entirely on that rank: {}", takes, share);
  return fmt::format("{}; {} ({}) is on rank {}, {}; the path changes rank {} {}", takes,
                     format_time_ns(static_cast<double>(time_ns)),
                     format_percent(static_cast<double>(time_ns) / whole), ranks[rank].rank, share,
                     path.size() - 1, path.size() == 2 ? "time" : "times");
}

}  // namespace headroom::trace
