// SPDX-License-Identifier: Apache-2.0
#include "headroom_trace/collectives/collective_matching.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <queue>
#include <tuple>
#include <utility>

#include "headroom/record/metrics.h"
#include "headroom/stats/quantile.h"

namespace headroom::trace {
namespace {

/// Calls of one group, by rank and index.
using GroupCalls = std::vector<std::pair<std::size_t, std::vector<const CollectiveCall*>>>;

double offset_of(std::span<const double> offsets, std::size_t rank) {
  return offsets.empty() ? 0 : offsets[rank];
}

bool is_one_collective(const MatchedCollective& collective) {
  const CollectiveCall& first = *collective.parts.front().call;
  return std::ranges::all_of(collective.parts, [&](const Part& part) {
    return part.call->collective == first.collective &&
           (first.collective != "all_reduce" || part.call->bytes == first.bytes);
  });
}

bool is_at_one_time(const MatchedCollective& collective, std::span<const double> offsets) {
  double latest_start = -std::numeric_limits<double>::infinity(), first_end = -latest_start;
  // Doubles cannot hold nanoseconds since 1970.
  const std::int64_t origin = collective.parts.front().call->start_ns;
  for (const Part& part : collective.parts) {
    const double offset = offset_of(offsets, part.rank);
    latest_start = std::max(latest_start, static_cast<double>(part.call->start_ns - origin) - offset);
    first_end = std::min(first_end, static_cast<double>(part.call->end_ns() - origin) - offset);
  }
  return latest_start <= first_end;
}

bool has_one_index(const MatchedCollective& collective) {
  return std::ranges::all_of(collective.parts, [&](const Part& part) {
    return part.call->index == collective.parts.front().call->index;
  });
}

struct Pairing {
  std::vector<MatchedCollective> good;
  std::vector<UnmatchedCall> bad;
};

void reject(const MatchedCollective& collective, const char* reason, Pairing& pairing) {
  for (const Part& part : collective.parts) pairing.bad.push_back({part, reason});
}

void keep_simultaneous(std::vector<MatchedCollective> complete, std::size_t ranks, Pairing& pairing) {
  const std::vector<double> offsets = clock_offsets(ranks, complete);
  for (MatchedCollective& collective : complete) {
    if (is_at_one_time(collective, offsets)) {
      pairing.good.push_back(std::move(collective));
    } else {
      reject(collective, "not at the same time on all ranks", pairing);
    }
  }
}

Pairing pair_by_index(const GroupCalls& group, std::size_t ranks) {
  Pairing pairing;
  std::vector<MatchedCollective> complete;
  std::size_t most = 0;
  for (const auto& [rank, calls] : group) most = std::max(most, calls.size());
  for (std::size_t index = 0; index < most; ++index) {
    MatchedCollective collective;
    for (const auto& [rank, calls] : group) {
      if (index < calls.size()) collective.parts.push_back({rank, calls[index]});
    }
    if (collective.parts.size() < group.size()) {
      reject(collective, "not in the trace of every rank of the group", pairing);
    } else if (!is_one_collective(collective)) {
      reject(collective, "the ranks disagree about its type", pairing);
    } else {
      complete.push_back(std::move(collective));
    }
  }
  keep_simultaneous(std::move(complete), ranks, pairing);
  return pairing;
}

bool has_steps(const GroupCalls& group) {
  return std::ranges::any_of(group, [](const auto& entry) {
    return std::ranges::any_of(entry.second, [](const CollectiveCall* call) { return call->iteration >= 0; });
  });
}

/// Empty if a common step differs between ranks.
Pairing pair_by_step(const GroupCalls& group, std::size_t ranks) {
  std::map<std::int64_t, GroupCalls> steps;
  for (const auto& [rank, calls] : group) {
    for (const CollectiveCall* call : calls) {
      GroupCalls& step = steps[call->iteration];
      if (step.empty() || step.back().first != rank) step.push_back({rank, {}});
      step.back().second.push_back(call);
    }
  }
  Pairing pairing;
  std::vector<MatchedCollective> complete;
  for (const auto& [number, step] : steps) {
    const bool is_common = number >= 0 && step.size() == group.size();
    for (std::size_t place = 0; place < step.front().second.size() && is_common; ++place) {
      MatchedCollective collective;
      for (const auto& [rank, calls] : step) {
        if (calls.size() != step.front().second.size()) return {};
        collective.parts.push_back({rank, calls[place]});
      }
      if (!is_one_collective(collective)) return {};
      complete.push_back(std::move(collective));
    }
    if (is_common) continue;
    for (const auto& [rank, calls] : step) {
      for (const CollectiveCall* call : calls)
        pairing.bad.push_back({{rank, call}, "not in the trace of every rank of the group"});
    }
  }
  const std::size_t expected = complete.size();
  keep_simultaneous(std::move(complete), ranks, pairing);
  return pairing.good.size() < expected ? Pairing{} : pairing;
}

/// Pairs the next calls if all overlap; else the first to end has no partner.
Pairing pair_by_time(const GroupCalls& group) {
  Pairing pairing;
  std::vector<std::size_t> next(group.size(), 0);
  while (true) {
    MatchedCollective heads;
    for (std::size_t i = 0; i < group.size(); ++i) {
      const auto& [rank, calls] = group[i];
      if (next[i] < calls.size()) heads.parts.push_back({rank, calls[next[i]]});
    }
    if (heads.parts.size() < group.size()) {
      reject(heads, "not in the trace of every rank of the group", pairing);
      break;
    }
    if (is_at_one_time(heads, {}) && is_one_collective(heads)) {
      for (std::size_t& place : next) ++place;
      pairing.good.push_back(std::move(heads));
      continue;
    }
    const auto first =
        std::ranges::min_element(heads.parts, {}, [](const Part& part) { return part.call->end_ns(); });
    pairing.bad.push_back({*first, "does not overlap in time with one on every rank of the group"});
    ++next[static_cast<std::size_t>(first - heads.parts.begin())];
  }
  for (std::size_t i = 0; i < group.size(); ++i) {
    const auto& [rank, calls] = group[i];
    for (std::size_t place = next[i] + 1; place < calls.size(); ++place)
      pairing.bad.push_back({{rank, calls[place]}, "not in the trace of every rank of the group"});
  }
  return pairing;
}

std::map<std::pair<std::string, std::string>, GroupCalls> groups_of(
    std::span<const std::vector<CollectiveCall>> ranks) {
  std::map<std::pair<std::string, std::string>, GroupCalls> groups;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    for (const CollectiveCall& call : ranks[rank]) {
      GroupCalls& group = groups[{call.group, call.group_ranks}];
      if (group.empty() || group.back().first != rank) group.push_back({rank, {}});
      group.back().second.push_back(&call);
    }
  }
  for (auto& [key, group] : groups) {
    for (auto& [rank, calls] : group) std::ranges::stable_sort(calls, {}, &CollectiveCall::index);
  }
  return groups;
}

using KindKey = std::tuple<std::string, std::string, std::string, double>;
KindKey key_of(const CollectiveCall& call) {
  return {call.group, call.collective, call.dtype, call.bytes};
}

Cell bytes_cell(double bytes) {
  return bytes < 0 ? Cell{} : Cell{bytes};
}

/// Returns GB/s; nothing for an unknown size.
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
  return {Column::text("group"), Column::text("collective").identifying(), Column::text("dtype").detail(),
          Column::bytes("bytes", "size").main()};
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

CollectiveMatches match_collectives(std::span<const std::vector<CollectiveCall>> ranks) {
  CollectiveMatches matches;
  for (const auto& [key, group] : groups_of(ranks)) {
    if (group.size() < 2) {
      for (const CollectiveCall* call : group.front().second)
        matches.unmatched.push_back(
            {{group.front().first, call}, "the group is in the trace of one rank only"});
      continue;
    }
    Pairing pairing = pair_by_index(group, ranks.size());
    Pairing by_step =
        pairing.bad.empty() || !has_steps(group) ? Pairing{} : pair_by_step(group, ranks.size());
    if (!by_step.good.empty() && by_step.good.size() >= pairing.good.size()) {
      pairing = std::move(by_step);
    } else if (!pairing.bad.empty()) {
      // On a tie, avoid clock offsets: an offset of one period can hide an index off by one.
      Pairing by_time = pair_by_time(group);
      if (!by_time.good.empty() && by_time.good.size() >= pairing.good.size()) {
        if (!std::ranges::all_of(by_time.good, has_one_index)) matches.groups_by_time.push_back(key.first);
        pairing = std::move(by_time);
      }
    }
    std::ranges::move(pairing.good, std::back_inserter(matches.matched));
    matches.unmatched.insert(matches.unmatched.end(), pairing.bad.begin(), pairing.bad.end());
  }
  std::ranges::stable_sort(matches.matched, {}, [](const MatchedCollective& collective) {
    return collective.parts.front().call->start_ns;
  });
  return matches;
}

Arrival arrival_of(const MatchedCollective& collective, std::span<const double> offsets) {
  Arrival arrival;
  const std::int64_t origin = collective.parts.front().call->start_ns;
  std::vector<double> starts;
  for (const Part& part : collective.parts)
    starts.push_back(static_cast<double>(part.call->start_ns - origin) - offset_of(offsets, part.rank));
  const auto latest = std::ranges::max_element(starts);
  arrival.last_rank = collective.parts[static_cast<std::size_t>(latest - starts.begin())].rank;
  arrival.skew_ns = *latest - *std::ranges::min_element(starts);
  for (const double start : starts) arrival.waits_ns.push_back(*latest - start);
  return arrival;
}

std::int64_t latency_ns(const MatchedCollective& collective) {
  std::int64_t shortest = std::numeric_limits<std::int64_t>::max();
  for (const Part& part : collective.parts) shortest = std::min(shortest, part.call->duration_ns);
  return shortest;
}

DataTable kinds_of_calls(const std::vector<CollectiveCall>& calls) {
  std::map<KindKey, std::vector<const CollectiveCall*>> kinds;
  for (const CollectiveCall& call : calls) kinds[key_of(call)].push_back(&call);
  DataTable table{"collectives", "communication kernels of this rank", kind_columns()};
  add_columns(table,
              {Column::count("ranks").detail(), Column::count("calls"), Column::time("total_ns").main(),
               Column::time("min_ns"), Column::time("median_ns").main(), Column::time("max_ns"),
               Column::bandwidth("algorithm_bandwidth_gb_s", "algorithm, at least").detail(),
               Column::bandwidth("bus_bandwidth_gb_s", "bus, at least").main()});
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

DataTable kinds_of_matches(std::span<const MatchedCollective> matched, std::span<const double> offsets) {
  std::map<KindKey, std::vector<const MatchedCollective*>> kinds;
  for (const MatchedCollective& collective : matched)
    kinds[key_of(first_call(collective))].push_back(&collective);
  DataTable table{"collectives", "collectives of all ranks", kind_columns()};
  add_columns(table, {Column::count("ranks").detail(), Column::count("collectives", "count"),
                      Column::time("latency_total_ns", "total latency"),
                      Column::time("latency_median_ns", "median latency").main(),
                      Column::time("skew_median_ns", "median skew"), Column::time("skew_max_ns", "max skew"),
                      Column::time("aligned_skew_median_ns", "median skew, aligned").main(),
                      Column::time("aligned_skew_max_ns", "max skew, aligned"),
                      Column::bandwidth("algorithm_bandwidth_gb_s", "algorithm").detail(),
                      Column::bandwidth("bus_bandwidth_gb_s", "bus").main()});
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
  DataTable table{"skews", "collectives by skew", kind_columns()};
  table.columns.insert(table.columns.begin() + 1, Column::count("index"));
  add_columns(table, {Column::count("ranks").detail(), Column::time("latency_ns").main(),
                      Column::time("skew_ns"), Column::time("aligned_skew_ns", "skew, aligned").main(),
                      Column::count("last_rank", "last rank, aligned"),
                      Column::bandwidth("algorithm_bandwidth_gb_s", "algorithm").detail(),
                      Column::bandwidth("bus_bandwidth_gb_s", "bus").main()});
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
                     std::span<const std::int64_t> last, std::span<const RankResult> ranks) {
  struct Sum {
    std::int64_t collectives = 0;
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
  }
  DataTable table{
      "ranks",
      "who waits for whom",
      {Column::count("rank"), Column::text("file").detail(), Column::count("collectives"),
       Column::time("wait_ns", "waited"), Column::time("aligned_wait_ns", "waited, aligned").main(),
       Column::count("last", "times last, aligned"), Column::time("clock_offset_ns", "clock ahead by")}};
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    table.rows.push_back({ranks[i].rank, ranks[i].source, sums[i].collectives, sums[i].wait_ns,
                          sums[i].aligned_wait_ns, last[i],
                          sums[i].collectives > 0 ? Cell{offsets[i]} : Cell{}});
  }
  return table;
}

DataTable unmatched_table(std::span<const UnmatchedCall> unmatched, std::span<const RankResult> ranks) {
  DataTable table{"unmatched",
                  "communication kernels without a match on other ranks",
                  {Column::count("rank"), Column::text("group"), Column::count("index"),
                   Column::text("collective").identifying(), Column::bytes("bytes", "size").main(),
                   Column::instant("start_ns", "at"), Column::time("duration_ns", "time"),
                   Column::text("reason", "why").main()}};
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
                  {Column::text("group"), Column::count("index"), Column::count("rank"),
                   Column::instant("start_ns"), Column::time("duration_ns"), Column::time("wait_ns"),
                   Column::time("aligned_wait_ns", "wait, aligned").main()},
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
  std::vector<Headline> headlines{{"collective_latency", Kind::kTimeNs, true, latency},
                                  {"collective_skew", Kind::kTimeNs, true, skew}};
  if (!skews.empty()) headlines.push_back({"collective_skew_median", Kind::kTimeNs, true, median(skews)});
  for (const auto& [collective, values] : bandwidths)
    headlines.push_back({collective + "_bus_bandwidth", Kind::kGigabytesPerSecond, false, median(values)});
  return headlines;
}

namespace {

struct ClockEdge {
  std::size_t to = 0;
  double ahead_ns = 0;  ///< of `to`
  double weight = 0;    ///< number of collectives
};
using ClockEdges = std::vector<std::vector<ClockEdge>>;  ///< by rank

/// Visits all pairs of up to five ranks, else those 1, 2, 4, ... apart.
template <typename Visit>
void for_each_pair(std::size_t parts, Visit visit) {
  for (std::size_t stride = 1; 2 * stride <= parts; stride *= 2) {
    const std::size_t pairs = 2 * stride == parts ? stride : parts;
    for (std::size_t i = 0; i < pairs; ++i) visit(i, (i + stride) % parts);
  }
}

ClockEdges clock_edges(std::size_t ranks, std::span<const MatchedCollective> matched) {
  std::map<std::pair<std::size_t, std::size_t>, std::vector<double>> differences;
  for (const MatchedCollective& collective : matched) {
    const std::vector<Part>& parts = collective.parts;
    for_each_pair(parts.size(), [&](std::size_t i, std::size_t j) {
      if (parts[i].rank > parts[j].rank) std::swap(i, j);
      differences[{parts[i].rank, parts[j].rank}].push_back(
          static_cast<double>(parts[j].call->end_ns() - parts[i].call->end_ns()));
    });
  }
  ClockEdges edges(ranks);
  for (auto& [pair, of_pair] : differences) {
    const double ahead = quantile_in_place(of_pair, 0.5);
    const auto weight = static_cast<double>(of_pair.size());
    edges[pair.first].push_back({pair.second, ahead, weight});
    edges[pair.second].push_back({pair.first, -ahead, weight});
  }
  return edges;
}

/// Sets offsets along the tree of pairs with most collectives. Returns the ranks connected with `root`.
std::vector<std::size_t> follow_tree(const ClockEdges& edges, std::size_t root, std::vector<bool>& is_known,
                                     std::vector<double>& offsets) {
  std::vector<std::size_t> connected;
  std::priority_queue<std::tuple<double, std::size_t, double>> next;  // weight, rank, offset
  next.emplace(0, root, 0);
  while (!next.empty()) {
    const auto [weight, rank, offset] = next.top();
    next.pop();
    if (is_known[rank]) continue;
    is_known[rank] = true;
    offsets[rank] = offset;
    connected.push_back(rank);
    for (const ClockEdge& edge : edges[rank]) {
      if (!is_known[edge.to]) next.emplace(edge.weight, edge.to, offset + edge.ahead_ns);
    }
  }
  return connected;
}

/// `now`, clamped, if ambiguous.
double weighted_median(std::vector<std::pair<double, double>>& values, double now) {
  std::ranges::sort(values);
  double half = 0, below = 0;
  for (const auto& [value, weight] : values) half += weight / 2;
  for (std::size_t i = 0; i < values.size(); ++i) {
    below += values[i].second;
    if (below == half && i + 1 < values.size()) return std::clamp(now, values[i].first, values[i + 1].first);
    if (below > half) return values[i].first;
  }
  return now;
}

void settle(const ClockEdges& edges, std::span<const std::size_t> ranks, std::vector<double>& offsets) {
  constexpr int kMostRounds = 100;
  constexpr double kLeastMoveNs = 1;
  std::vector<std::pair<double, double>> values;
  bool has_moved = true;
  for (int round = 0; has_moved && round < kMostRounds; ++round) {
    has_moved = false;
    for (const std::size_t rank : ranks) {
      values.clear();
      for (const ClockEdge& edge : edges[rank])
        values.emplace_back(offsets[edge.to] - edge.ahead_ns, edge.weight);
      const double offset = weighted_median(values, offsets[rank]);
      if (std::abs(offset - offsets[rank]) < kLeastMoveNs) continue;
      offsets[rank] = offset;
      has_moved = true;
    }
  }
}

}  // namespace

std::vector<double> clock_offsets(std::size_t ranks, std::span<const MatchedCollective> matched) {
  const ClockEdges edges = clock_edges(ranks, matched);
  std::vector<double> offsets(ranks, 0), of_connected;
  std::vector<bool> is_known(ranks, false);
  for (std::size_t root = 0; root < ranks; ++root) {
    if (is_known[root]) continue;
    const std::vector<std::size_t> connected = follow_tree(edges, root, is_known, offsets);
    settle(edges, connected, offsets);
    of_connected.clear();
    for (const std::size_t rank : connected) of_connected.push_back(offsets[rank]);
    const double middle = quantile_in_place(of_connected, 0.5);
    for (const std::size_t rank : connected) offsets[rank] -= middle;
  }
  return offsets;
}

}  // namespace headroom::trace
