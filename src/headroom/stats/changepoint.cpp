// SPDX-License-Identifier: Apache-2.0
#include "headroom/stats/changepoint.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "headroom/stats/autocorrelation.h"
#include "headroom/stats/critical_table.h"
#include "headroom/stats/level_shift.h"
#include "headroom/stats/rank_excursion.h"

namespace headroom {
namespace {

/// The fewest values that can reach both levels.
constexpr std::size_t kShortestWithChange = 14;

struct Critical {
  double count;
  double suspected;
  double certain;
};

/// Made by `bench_changepoints table`: quantiles .99 and .997 of the z of the rarest shift of normal values,
/// from 200,000 series each up to 40 values down to 3,000 of 5,000, laid on a smooth curve from 60 on.
constexpr std::array<Critical, 20> kCritical{{
    {14, 3.019, 3.269},   {15, 3.070, 3.353},   {16, 3.103, 3.406},   {17, 3.142, 3.440},
    {18, 3.173, 3.484},   {20, 3.200, 3.535},   {22, 3.238, 3.580},   {25, 3.305, 3.615},
    {30, 3.346, 3.665},   {35, 3.390, 3.704},   {40, 3.410, 3.737},   {50, 3.440, 3.775},
    {60, 3.470, 3.813},   {100, 3.540, 3.870},  {200, 3.600, 3.925},  {500, 3.680, 4.010},
    {1000, 3.750, 4.075}, {2000, 3.790, 4.120}, {5000, 3.840, 4.170}, {10000, 3.880, 4.210},
}};

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

/// The rarest cut at its best place, its z corrected, where that is above the critical value.
std::optional<ChangePoint> significant_shift(std::span<const double> values, ChangeLevel level) {
  const std::optional<double> critical = change_critical(values.size(), level);
  if (!critical) return std::nullopt;
  const std::optional<LevelShift> shift = rarest_level_shift(values);
  if (!shift || shift->z <= *critical) return std::nullopt;
  const std::size_t cuts[] = {shift->index};
  const double z = shift->z * autocorrelation_factor(values, cuts);
  if (z <= *critical) return std::nullopt;
  return ChangePoint{best_step_place(values, shift->index), z};
}

/// A level that came back: the two cuts around it, where that is significant. One cut alone hardly shows it.
std::vector<std::size_t> significant_excursion(std::span<const double> values) {
  const std::optional<double> critical = rank_excursion_critical(values.size());
  if (!critical) return {};
  const RankExcursion excursion = largest_rank_excursion(values);
  if (excursion.z <= *critical) return {};
  std::vector<std::size_t> cuts{excursion.begin, excursion.end};
  const double z = excursion.z * autocorrelation_factor(values, cuts);
  return z > *critical ? cuts : std::vector<std::size_t>{};
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
