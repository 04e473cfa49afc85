// SPDX-License-Identifier: Apache-2.0
#include "headroom/stats/changepoint.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "headroom/stats/autocorrelation.h"

namespace headroom {
namespace {

/// The fewest values on either side of a change: one or two are a spike.
constexpr std::size_t kShortestPart = 3;
/// The fewest values whose order alone can reach both levels.
constexpr std::size_t kShortestWithChange = 14;

struct Critical {
  double count;
  double suspected;
  double certain;
};

/// Made by `bench_changepoints table`: quantiles .99 and .999 of the largest z over random orders.
constexpr std::array<Critical, 31> kCritical{{
    {14, 2.829, 3.099},   {15, 2.829, 3.182},   {16, 2.889, 3.254},    {17, 2.915, 3.272},
    {18, 2.933, 3.306},   {19, 2.959, 3.333},   {20, 2.972, 3.381},    {21, 2.985, 3.404},
    {22, 3.017, 3.429},   {23, 3.024, 3.447},   {24, 3.045, 3.467},    {25, 3.058, 3.500},
    {26, 3.057, 3.530},   {27, 3.080, 3.543},   {28, 3.103, 3.560},    {29, 3.114, 3.583},
    {30, 3.118, 3.594},   {35, 3.171, 3.654},   {40, 3.205, 3.709},    {50, 3.263, 3.780},
    {60, 3.312, 3.845},   {80, 3.366, 3.910},   {100, 3.413, 3.979},   {150, 3.472, 4.027},
    {200, 3.518, 4.082},  {300, 3.566, 4.132},  {500, 3.623, 4.196},   {1000, 3.688, 4.272},
    {2000, 3.737, 4.311}, {5000, 3.790, 4.353}, {10000, 3.835, 4.419},
}};

/// Made by the same: quantile .999 of the largest z of an excursion.
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

/// The row for `count`, linear in its logarithm in between and beyond the last one, where the slope of the
/// last two goes on: critical values grow ever more slowly.
template <typename Row, std::size_t kRows>
double interpolated(const std::array<Row, kRows>& table, std::size_t count, double Row::*column) {
  const double n = static_cast<double>(count);
  const auto above =
      std::find_if(table.begin() + 1, table.end() - 1, [n](const Row& row) { return row.count >= n; });
  const Row &low = *(above - 1), &high = *above;
  const double share = std::log(n / low.count) / std::log(high.count / low.count);
  return low.*column + share * (high.*column - low.*column);
}

/// Lag-1 correlation of the ranks within the parts that `cuts` make.
double correlation_within_parts(std::span<const double> values, std::span<const std::size_t> cuts) {
  double products = 0, squares = 0;
  std::vector<double> ranks(values.size());
  std::size_t from = 0;
  const auto add_part_to = [&](std::size_t end) {
    const std::size_t size = end - from;
    const std::span<double> part = std::span(ranks).subspan(from, size);
    mid_ranks(values.subspan(from, size), part);
    const double centre = 0.5 * static_cast<double>(size + 1);
    // Divided by the length, or the longest part would have the say.
    for (double& rank : part) rank = (rank - centre) / static_cast<double>(size);
    for (std::size_t i = 0; i < size; ++i) {
      squares += part[i] * part[i];
      if (i > 0) products += part[i - 1] * part[i];
    }
    from = end;
  };
  for (const std::size_t cut : cuts) add_part_to(cut);
  add_part_to(values.size());
  return squares > 0 ? products / squares : 0;
}

/// What z is multiplied with for values that are like their neighbours.
double autocorrelation_factor(std::span<const double> values, std::span<const std::size_t> cuts) {
  const double n = static_cast<double>(values.size()), parts = static_cast<double>(cuts.size() + 1);
  // Each centre that is estimated takes off 1/n (Kendall 1954).
  const double rho = (n * correlation_within_parts(values, cuts) + parts) / (n - 3 * parts);
  // Independent series show a correlation by chance, and would lose power for nothing: up to two standard
  // errors it does not count, from three on it counts in full.
  const double weight = std::clamp(rho * std::sqrt(n) - 2, 0.0, 1.0);
  const double used = std::min(rho * weight, 0.95);
  return std::sqrt((1 - used) / (1 + used));
}

/// The largest z, corrected, where it is above the critical value.
std::optional<ChangePoint> significant_shift(std::span<const double> values, ChangeLevel level) {
  const std::optional<double> critical = change_critical(values.size(), level);
  if (!critical) return std::nullopt;
  std::optional<ChangePoint> shift = largest_rank_shift(values);
  if (!shift || shift->z <= *critical) return std::nullopt;
  const std::size_t cuts[] = {shift->index};
  shift->z *= autocorrelation_factor(values, cuts);
  return shift->z > *critical ? shift : std::nullopt;
}

/// A level that came back: the two cuts around it, where that is significant. One cut alone hardly shows it.
std::vector<std::size_t> significant_excursion(std::span<const double> values) {
  if (values.size() < kShortestWithChange) return {};
  const double critical = interpolated(kExcursionCritical, values.size(), &ExcursionCritical::certain);
  const RankExcursion excursion = largest_rank_excursion(values);
  if (excursion.z <= critical) return {};
  std::vector<std::size_t> cuts{excursion.begin, excursion.end};
  return excursion.z * autocorrelation_factor(values, cuts) > critical ? cuts : std::vector<std::size_t>{};
}

void cut(std::span<const double> values, std::size_t offset, std::vector<std::size_t>& changes) {
  std::vector<std::size_t> cuts;
  if (const auto shift = significant_shift(values, ChangeLevel::kCertain)) {
    cuts = {shift->index};
  } else {
    cuts = significant_excursion(values);
  }
  if (cuts.empty()) return;
  std::size_t from = 0;
  for (const std::size_t at : cuts) {
    cut(values.subspan(from, at - from), offset + from, changes);
    changes.push_back(offset + at);
    from = at;
  }
  cut(values.subspan(from), offset + from, changes);
}

}  // namespace

std::optional<double> change_critical(std::size_t count, ChangeLevel level) {
  if (count < kShortestWithChange) return std::nullopt;
  return interpolated(kCritical, count,
                      level == ChangeLevel::kCertain ? &Critical::certain : &Critical::suspected);
}

std::optional<ChangePoint> largest_rank_shift(std::span<const double> values) {
  const std::size_t count = values.size();
  if (count < 2 * kShortestPart) return std::nullopt;
  std::vector<double> ranks(count);
  mid_ranks(values, ranks);
  const double n = static_cast<double>(count);
  ChangePoint best{kShortestPart, 0};
  double sum = 0;
  for (std::size_t i = 0; i + kShortestPart < count; ++i) {
    sum += ranks[i];
    const double t = static_cast<double>(i + 1);
    if (i + 1 < kShortestPart) continue;
    const double z = std::abs(sum - t * (n + 1) / 2) / std::sqrt(t * (n - t) * (n + 1) / 12);
    if (z > best.z) best = {i + 1, z};
  }
  return best;
}

RankExcursion largest_rank_excursion(std::span<const double> values) {
  const std::size_t count = values.size();
  if (count < 3 * kShortestPart) return {};
  std::vector<double> ranks(count), sums(count + 1);
  mid_ranks(values, ranks);
  const double n = static_cast<double>(count);
  for (std::size_t i = 0; i < count; ++i) sums[i + 1] = sums[i] + ranks[i] - (n + 1) / 2;
  // Every pair of cuts up to here; of longer series every second, third, ... place, which only makes it
  // rarer.
  constexpr std::size_t kMostPlaces = 2000;
  const std::size_t step = 1 + (count - 1) / kMostPlaces;
  RankExcursion best;
  for (std::size_t size = kShortestPart; size + 2 * kShortestPart <= count; size += step) {
    const double k = static_cast<double>(size);
    const double scale = 1 / std::sqrt(k * (n - k) * (n + 1) / 12);
    for (std::size_t begin = kShortestPart; begin + size + kShortestPart <= count; begin += step) {
      const double z = std::abs(sums[begin + size] - sums[begin]) * scale;
      if (z > best.z) best = {begin, begin + size, z};
    }
  }
  return best;
}

std::vector<ChangePoint> change_points(std::span<const double> values) {
  std::vector<std::size_t> found;
  cut(values, 0, found);
  std::vector<ChangePoint> kept;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const std::size_t from = kept.empty() ? 0 : kept.back().index;
    const std::size_t to = i + 1 < found.size() ? found[i + 1] : values.size();
    const std::optional<ChangePoint> shift =
        significant_shift(values.subspan(from, to - from), ChangeLevel::kCertain);
    if (shift) kept.push_back({from + shift->index, shift->z});
  }
  return kept;
}

std::optional<ChangePoint> suspected_change(std::span<const double> values,
                                            std::span<const ChangePoint> changes) {
  const std::size_t from = changes.empty() ? 0 : changes.back().index;
  std::optional<ChangePoint> shift = significant_shift(values.subspan(from), ChangeLevel::kSuspected);
  if (shift) shift->index += from;
  return shift;
}

}  // namespace headroom
