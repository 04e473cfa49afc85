// SPDX-License-Identifier: Apache-2.0
#include "headroom/stats/rank_excursion.h"

#include <array>
#include <cmath>
#include <vector>

#include "headroom/stats/autocorrelation.h"
#include "headroom/stats/critical_table.h"
#include "headroom/stats/level_shift.h"

namespace headroom {
namespace {

/// Made by `bench_changepoints table`: quantile .999 of the largest z over random orders.
struct ExcursionCritical {
  double count;
  double certain;
};
constexpr std::array<ExcursionCritical, 15> kExcursionCritical{{
    {14, 3.131},
    {16, 3.335},
    {18, 3.488},
    {20, 3.554},
    {25, 3.754},
    {30, 3.909},
    {40, 4.094},
    {60, 4.324},
    {80, 4.429},
    {100, 4.530},
    {150, 4.620},
    {200, 4.703},
    {300, 4.857},
    {500, 4.954},
    {1000, 5.089},
}};

}  // namespace

std::optional<double> rank_excursion_critical(std::size_t count) {
  if (static_cast<double>(count) < kExcursionCritical.front().count) return std::nullopt;
  return interpolated(kExcursionCritical, count, &ExcursionCritical::certain);
}

RankExcursion largest_rank_excursion(std::span<const double> values) {
  const std::size_t count = values.size();
  if (count < 3 * kShortestLevel) return {};
  std::vector<double> ranks(count), sums(count + 1);
  mid_ranks(values, ranks);
  const double n = static_cast<double>(count);
  for (std::size_t i = 0; i < count; ++i) sums[i + 1] = sums[i] + ranks[i] - (n + 1) / 2;
  // Every pair of cuts up to here; of longer series every second, third, ... place, which only makes it
  // rarer.
  constexpr std::size_t kMostPlaces = 2000;
  const std::size_t step = 1 + (count - 1) / kMostPlaces;
  RankExcursion best;
  for (std::size_t size = kShortestLevel; size + 2 * kShortestLevel <= count; size += step) {
    const double k = static_cast<double>(size);
    const double scale = 1 / std::sqrt(k * (n - k) * (n + 1) / 12);
    for (std::size_t begin = kShortestLevel; begin + size + kShortestLevel <= count; begin += step) {
      const double z = std::abs(sums[begin + size] - sums[begin]) * scale;
      if (z > best.z) best = {begin, begin + size, z};
    }
  }
  return best;
}

}  // namespace headroom
