// SPDX-License-Identifier: Apache-2.0
#include "headroom/trace/critical_path/job_path_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "headroom/base/error.h"
#include "headroom/base/units.h"
#include "headroom/trace/tables/cells.h"
#include "headroom/trace/tables/stored_rows.h"

namespace headroom::trace {
namespace {

constexpr const char* kWindowTable = "path_window";
constexpr const char* kStretchTable = "path_stretches";

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

std::vector<DataTable> rank_path_tables(const RankPath& path, const std::string& window) {
  DataTable stretches{kStretchTable,
                      "the critical path by time",
                      {{"from_ns", "from", Kind::kInstantNs},
                       {"to_ns", "to", Kind::kInstantNs},
                       {"class", "class", Kind::kCount}},
                      {},
                      true};
  for (const PathStretch& stretch : path.stretches)
    stretches.rows.push_back({stretch.from_ns, stretch.to_ns, static_cast<std::int64_t>(stretch.kind)});
  return {{kWindowTable,
           "where the critical path lies",
           {{"window", "window", Kind::kText},
            {"start_ns", "from", Kind::kInstantNs},
            {"end_ns", "to", Kind::kInstantNs}},
           {{window, path.start_ns, path.end_ns}},
           true},
          std::move(stretches)};
}

RankPath stored_rank_path(const AnalysisResult& result) {
  const StoredRows window(stored_table(result.tables, kWindowTable, 1)),
      rows(stored_table(result.tables, kStretchTable));
  RankPath path{window.integer(0, "start_ns"), window.integer(0, "end_ns"), {}};
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::int64_t kind = rows.integer(i, "class");
    if (kind < 0 || kind >= static_cast<std::int64_t>(kPathClasses))
      throw Error(fmt::format("the table {} of a rank has no class {}; was it made by another version?",
                              kStretchTable, kind));
    path.stretches.push_back(
        {rows.integer(i, "from_ns"), rows.integer(i, "to_ns"), static_cast<PathClass>(kind)});
  }
  return path;
}

std::string stored_window(const AnalysisResult& result) {
  return StoredRows(stored_table(result.tables, kWindowTable, 1)).text(0, "window");
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
  DataTable table{"job_path",
                  "the critical path of the job from rank to rank",
                  {{"rank", "rank", Kind::kCount},
                   {"from_ns", "from", Kind::kInstantNs},
                   {"to_ns", "to", Kind::kInstantNs},
                   {"time_ns", "time", Kind::kTimeNs},
                   {"class", "most of it", Kind::kText},
                   {"class_ns", "which takes", Kind::kTimeNs},
                   {"until", "until the last to come to", Kind::kText}},
                  {}};
  for (const JobStretch* stretch : shown) {
    const std::size_t kind = main_class(*stretch);
    table.rows.push_back({ranks[stretch->rank].rank, stretch->from_ns, stretch->to_ns, time(stretch),
                          class_name(kind), stretch->class_ns[kind], collective_text(stretch->until)});
  }
  return table;
}

DataTable job_class_table(std::span<const JobStretch> path, std::span<const RankResult> ranks) {
  DataTable table{"job_classes",
                  "the critical path of the job by rank and class",
                  {{"rank", "rank", Kind::kCount},
                   {"class", "class", Kind::kText},
                   {"time_ns", "time", Kind::kTimeNs},
                   {"share", "of the path", Kind::kShare}},
                  {}};
  for (const auto& [key, time_ns] : times_of(path)) {
    table.rows.push_back(
        {ranks[key.first].rank, class_name(key.second), time_ns, share_cell(time_ns, length_ns(path))});
  }
  std::ranges::stable_sort(table.rows, std::greater{},
                           [](const std::vector<Cell>& row) { return std::get<std::int64_t>(row[2]); });
  return table;
}

std::string job_path_answer(std::span<const JobStretch> path, std::span<const RankResult> ranks) {
  std::map<std::size_t, std::int64_t> by_rank;
  for (const JobStretch& stretch : path) by_rank[stretch.rank] += stretch.to_ns - stretch.from_ns;
  const auto second = [](const auto& entry) { return entry.second; };
  const auto [rank, time_ns] = *std::ranges::max_element(by_rank, {}, second);
  TimesByRankAndClass times = times_of(path);
  std::erase_if(times, [rank = rank](const auto& entry) { return entry.first.first != rank; });
  const auto most = std::ranges::max_element(times, {}, second);
  const auto whole = static_cast<double>(length_ns(path));
  const std::string share = fmt::format("{} of it {}", format_time_ns(static_cast<double>(most->second)),
                                        class_name(most->first.second));
  const std::string takes = fmt::format("the job's critical path takes {} and ends on rank {}",
                                        format_time_ns(whole), ranks[path.back().rank].rank);
  if (path.size() == 1) return fmt::format("{}, where all of it lies: {}", takes, share);
  return fmt::format("{}; {} ({}) lies on rank {}, {}; it changes rank {} {}", takes,
                     format_time_ns(static_cast<double>(time_ns)),
                     format_percent(static_cast<double>(time_ns) / whole), ranks[rank].rank, share,
                     path.size() - 1, path.size() == 2 ? "time" : "times");
}

}  // namespace headroom::trace
