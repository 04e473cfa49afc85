// SPDX-License-Identifier: Apache-2.0
#include "headroom_trace/collectives/collective_tables.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <tuple>

#include "headroom/record/metrics.h"
#include "headroom/stats/quantile.h"

namespace headroom::trace {
namespace {

/// Collectives are compared within a group, kind, type and size.
using KindKey = std::tuple<std::string, std::string, std::string, double>;
KindKey key_of(const CollectiveCall& call) {
  return {call.group, call.collective, call.dtype, call.bytes};
}

Cell bytes_cell(double bytes) {
  return bytes < 0 ? Cell{} : Cell{bytes};
}

/// Bytes per ns are 1e9 bytes per second. Empty for an unknown size.
std::optional<double> algorithm_bandwidth(const CollectiveCall& call, double latency_ns) {
  if (call.bytes < 0 || latency_ns <= 0) return std::nullopt;
  return call.bytes / latency_ns;
}
std::optional<double> bus_bandwidth(const CollectiveCall& call, double latency_ns) {
  const std::optional<double> algorithm = algorithm_bandwidth(call, latency_ns);
  const std::optional<double> factor = bus_factor(call.collective, call.group_size);
  if (!algorithm || !factor) return std::nullopt;
  return *algorithm * *factor;
}
Cell cell_of(std::optional<double> value) {
  return value ? Cell{*value} : Cell{};
}

std::int64_t parts_of(const MatchedCollective& collective) {
  return std::ssize(collective.parts);
}

std::vector<Column> kind_columns() {
  return {{"group", "group", Kind::kText},
          {"collective", "collective", Kind::kText},
          {"dtype", "dtype", Kind::kText},
          {"bytes", "size", Kind::kBytes}};
}
void add_columns(std::vector<Column>& columns, std::initializer_list<Column> more) {
  columns.insert(columns.end(), more);
}

void sort_descending(DataTable& table, std::size_t column) {
  std::ranges::stable_sort(table.rows, std::greater{}, [column](const std::vector<Cell>& row) {
    const auto* number = std::get_if<double>(&row[column]);
    return number != nullptr ? *number : -1.0;
  });
}

const CollectiveCall& first_call(const MatchedCollective& collective) {
  return *collective.parts.front().call;
}

}  // namespace

DataTable kinds_of_calls(const std::vector<CollectiveCall>& calls) {
  std::map<KindKey, std::vector<const CollectiveCall*>> kinds;
  for (const CollectiveCall& call : calls) kinds[key_of(call)].push_back(&call);
  DataTable table{"collectives", "communication kernels of this rank", kind_columns(), {}};
  add_columns(table.columns, {{"ranks", "ranks", Kind::kCount},
                              {"calls", "calls", Kind::kCount},
                              {"total_ns", "total", Kind::kTimeNs},
                              {"min_ns", "min", Kind::kTimeNs},
                              {"median_ns", "median", Kind::kTimeNs},
                              {"max_ns", "max", Kind::kTimeNs},
                              {"algorithm_bandwidth_gb_s", "algorithm, at least", Kind::kGigabytesPerSecond},
                              {"bus_bandwidth_gb_s", "bus, at least", Kind::kGigabytesPerSecond}});
  for (const auto& [key, members] : kinds) {
    const CollectiveCall& first = *members.front();
    std::vector<double> times;
    double total = 0;
    for (const CollectiveCall* call : members) {
      times.push_back(static_cast<double>(call->duration_ns));
      total += times.back();
    }
    const auto [least, most] = std::ranges::minmax(times);
    table.rows.push_back({first.group, first.collective, text_cell(first.dtype), bytes_cell(first.bytes),
                          first.group_size > 0 ? Cell{first.group_size} : Cell{}, count_cell(members.size()),
                          total, least, median(times), most, cell_of(algorithm_bandwidth(first, least)),
                          cell_of(bus_bandwidth(first, least))});
  }
  sort_descending(table, 6);
  return table;
}

std::vector<CollectiveCall> stored_calls(const AnalysisResult& result) {
  return collective_calls(stored_table(result.tables, kCollectiveTable));
}

DataTable kinds_of_matches(std::span<const MatchedCollective> matched, std::span<const double> offsets) {
  std::map<KindKey, std::vector<const MatchedCollective*>> kinds;
  for (const MatchedCollective& collective : matched)
    kinds[key_of(first_call(collective))].push_back(&collective);
  DataTable table{"collectives", "collectives of all ranks", kind_columns(), {}};
  add_columns(table.columns, {{"ranks", "ranks", Kind::kCount},
                              {"collectives", "count", Kind::kCount},
                              {"latency_total_ns", "total latency", Kind::kTimeNs},
                              {"latency_median_ns", "median latency", Kind::kTimeNs},
                              {"skew_median_ns", "median skew", Kind::kTimeNs},
                              {"skew_max_ns", "max skew", Kind::kTimeNs},
                              {"aligned_skew_median_ns", "median skew, aligned", Kind::kTimeNs},
                              {"aligned_skew_max_ns", "max skew, aligned", Kind::kTimeNs},
                              {"algorithm_bandwidth_gb_s", "algorithm", Kind::kGigabytesPerSecond},
                              {"bus_bandwidth_gb_s", "bus", Kind::kGigabytesPerSecond}});
  for (const auto& [key, members] : kinds) {
    const CollectiveCall& first = first_call(*members.front());
    std::vector<double> latencies, skews, aligned;
    double total = 0;
    for (const MatchedCollective* collective : members) {
      latencies.push_back(static_cast<double>(latency_ns(*collective)));
      skews.push_back(arrival_of(*collective, {}).skew_ns);
      aligned.push_back(arrival_of(*collective, offsets).skew_ns);
      total += latencies.back();
    }
    const double latency = median(latencies);
    table.rows.push_back({first.group, first.collective, text_cell(first.dtype), bytes_cell(first.bytes),
                          parts_of(*members.front()), count_cell(members.size()), total, latency,
                          median(skews), std::ranges::max(skews), median(aligned), std::ranges::max(aligned),
                          cell_of(algorithm_bandwidth(first, latency)),
                          cell_of(bus_bandwidth(first, latency))});
  }
  sort_descending(table, 6);
  return table;
}

DataTable skew_table(std::span<const MatchedCollective> matched, std::span<const double> offsets,
                     std::span<const RankResult> ranks) {
  DataTable table{"skews", "collectives by skew", kind_columns(), {}};
  table.columns.insert(table.columns.begin() + 1, {"index", "index", Kind::kCount});
  add_columns(table.columns, {{"ranks", "ranks", Kind::kCount},
                              {"latency_ns", "latency", Kind::kTimeNs},
                              {"skew_ns", "skew", Kind::kTimeNs},
                              {"aligned_skew_ns", "skew, aligned", Kind::kTimeNs},
                              {"last_rank", "last rank, aligned", Kind::kCount},
                              {"algorithm_bandwidth_gb_s", "algorithm", Kind::kGigabytesPerSecond},
                              {"bus_bandwidth_gb_s", "bus", Kind::kGigabytesPerSecond}});
  for (const MatchedCollective& collective : matched) {
    const CollectiveCall& first = first_call(collective);
    const Arrival aligned = arrival_of(collective, offsets);
    const auto latency = static_cast<double>(latency_ns(collective));
    table.rows.push_back({first.group, first.index, first.collective, text_cell(first.dtype),
                          bytes_cell(first.bytes), parts_of(collective), latency,
                          arrival_of(collective, {}).skew_ns, aligned.skew_ns, ranks[aligned.last_rank].rank,
                          cell_of(algorithm_bandwidth(first, latency)),
                          cell_of(bus_bandwidth(first, latency))});
  }
  sort_descending(table, 8);
  return table;
}

DataTable rank_table(std::span<const MatchedCollective> matched, std::span<const double> offsets,
                     std::span<const RankResult> ranks) {
  struct Sum {
    std::int64_t collectives = 0, last = 0;
    double wait_ns = 0, aligned_wait_ns = 0;
  };
  std::vector<Sum> sums(ranks.size());
  for (const MatchedCollective& collective : matched) {
    const Arrival raw = arrival_of(collective, {}), aligned = arrival_of(collective, offsets);
    for (std::size_t i = 0; i < collective.parts.size(); ++i) {
      Sum& sum = sums[collective.parts[i].rank];
      ++sum.collectives;
      sum.wait_ns += raw.waits_ns[i];
      sum.aligned_wait_ns += aligned.waits_ns[i];
    }
    ++sums[aligned.last_rank].last;
  }
  DataTable table{"ranks",
                  "who waits for whom",
                  {{"rank", "rank", Kind::kCount},
                   {"file", "file", Kind::kText},
                   {"collectives", "collectives", Kind::kCount},
                   {"wait_ns", "waited", Kind::kTimeNs},
                   {"aligned_wait_ns", "waited, aligned", Kind::kTimeNs},
                   {"last", "last to come, aligned", Kind::kCount},
                   {"clock_offset_ns", "clock ahead by", Kind::kTimeNs}},
                  {}};
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    table.rows.push_back({ranks[i].rank, ranks[i].source, sums[i].collectives, sums[i].wait_ns,
                          sums[i].aligned_wait_ns, sums[i].last,
                          sums[i].collectives > 0 ? Cell{offsets[i]} : Cell{}});
  }
  return table;
}

DataTable unmatched_table(std::span<const UnmatchedCall> unmatched, std::span<const RankResult> ranks) {
  DataTable table{"unmatched",
                  "communication kernels that no other rank's belong to",
                  {{"rank", "rank", Kind::kCount},
                   {"group", "group", Kind::kText},
                   {"index", "index", Kind::kCount},
                   {"collective", "collective", Kind::kText},
                   {"bytes", "size", Kind::kBytes},
                   {"start_ns", "at", Kind::kInstantNs},
                   {"duration_ns", "time", Kind::kTimeNs},
                   {"reason", "why", Kind::kText}},
                  {}};
  for (const UnmatchedCall& one : unmatched) {
    const CollectiveCall& call = *one.part.call;
    table.rows.push_back({ranks[one.part.rank].rank, call.group, call.index, call.collective,
                          bytes_cell(call.bytes), call.start_ns, call.duration_ns, std::string(one.reason)});
  }
  return table;
}

DataTable wait_table(std::span<const MatchedCollective> matched, std::span<const double> offsets,
                     std::span<const RankResult> ranks) {
  DataTable table{"waits",
                  "each rank in each collective",
                  {{"group", "group", Kind::kText},
                   {"index", "index", Kind::kCount},
                   {"rank", "rank", Kind::kCount},
                   {"start_ns", "start", Kind::kInstantNs},
                   {"duration_ns", "duration", Kind::kTimeNs},
                   {"wait_ns", "wait", Kind::kTimeNs},
                   {"aligned_wait_ns", "wait, aligned", Kind::kTimeNs}},
                  {},
                  true};
  for (const MatchedCollective& collective : matched) {
    const Arrival raw = arrival_of(collective, {}), aligned = arrival_of(collective, offsets);
    for (std::size_t i = 0; i < collective.parts.size(); ++i) {
      const CollectiveCall& call = *collective.parts[i].call;
      table.rows.push_back({call.group, call.index, ranks[collective.parts[i].rank].rank, call.start_ns,
                            call.duration_ns, raw.waits_ns[i], aligned.waits_ns[i]});
    }
  }
  return table;
}

std::vector<Headline> match_headlines(std::span<const MatchedCollective> matched,
                                      std::span<const double> offsets) {
  std::map<std::string, std::vector<double>> bandwidths;
  std::vector<double> skews;
  double latency = 0, skew = 0;
  for (const MatchedCollective& collective : matched) {
    const CollectiveCall& first = first_call(collective);
    const auto own = static_cast<double>(latency_ns(collective));
    skews.push_back(arrival_of(collective, offsets).skew_ns);
    latency += own;
    skew += skews.back();
    if (const std::optional<double> bus = bus_bandwidth(first, own))
      bandwidths[first.collective].push_back(*bus);
  }
  std::vector<Headline> headlines{{"collective_latency", Kind::kTimeNs, true, latency, ""},
                                  {"collective_skew", Kind::kTimeNs, true, skew, ""}};
  if (!skews.empty()) headlines.push_back({"collective_skew_median", Kind::kTimeNs, true, median(skews), ""});
  for (const auto& [collective, values] : bandwidths)
    headlines.push_back(
        {collective + "_bus_bandwidth", Kind::kGigabytesPerSecond, false, median(values), ""});
  return headlines;
}

}  // namespace headroom::trace
