// SPDX-License-Identifier: Apache-2.0
#include "headroom_trace/collectives/clock_offsets.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <queue>
#include <tuple>
#include <utility>

#include "headroom/stats/quantile.h"
#include "headroom_trace/collectives/collective_matching.h"

namespace headroom::trace {
namespace {

struct ClockEdge {
  std::size_t to = 0;
  double ahead_ns = 0;  ///< of `to`
  double weight = 0;    ///< number of collectives
};
using ClockEdges = std::vector<std::vector<ClockEdge>>;  ///< by rank

/// Visits all pairs of up to five ranks, else pairs 1, 2, 4, ... apart.
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

/// Iterates weighted medians of neighbours.
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
