// SPDX-License-Identifier: Apache-2.0
#include "headroom/stats/changepoint.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <stdexcept>

#include "headroom/stats/autocorrelation.h"
#include "headroom/stats/compare.h"
#include "headroom/stats/quantile.h"

namespace headroom {

/// Linear in ln(count); extrapolates with the slope of the last two rows.
template <typename Row, std::size_t kRows>
double interpolated(const std::array<Row, kRows>& table, std::size_t count, double Row::*column) {
  const double n = static_cast<double>(count);
  const auto above =
      std::find_if(table.begin() + 1, table.end() - 1, [n](const Row& row) { return row.count >= n; });
  const Row &low = *(above - 1), &high = *above;
  const double share = std::log(n / low.count) / std::log(high.count / low.count);
  return low.*column + share * (high.*column - low.*column);
}

namespace {

/// Expectations of a draw with t and u of permutation_tail_z.
struct Tilt {
  double count = 0, sum = 0, entropy = 0;
  double count_variance = 0, covariance = 0, sum_variance = 0;

  double determinant() const { return count_variance * sum_variance - covariance * covariance; }
};

Tilt tilted(std::span<const double> scores, double t, double u) {
  Tilt tilt;
  for (const double score : scores) {
    const double x = t * score + u;
    const double e = std::exp(-std::abs(x));
    const double p = (x > 0 ? 1 : e) / (1 + e), pq = e / ((1 + e) * (1 + e));
    tilt.count += p;
    tilt.sum += p * score;
    // -p ln p - q ln q, with p = 1/(1 + exp(-x)).
    tilt.entropy += std::log1p(e) + std::abs(x) * e / (1 + e);
    tilt.count_variance += pq;
    tilt.covariance += pq * score;
    tilt.sum_variance += pq * score * score;
  }
  return tilt;
}

/// Step of the largest sums of `count` scores: from the smallest score among them to the next different one.
double last_step(std::span<const double> scores, std::size_t count) {
  const double edge = scores[count - 1];
  const auto below = std::find_if(scores.begin() + static_cast<std::ptrdiff_t>(count), scores.end(),
                                  [edge](double score) { return score < edge; });
  if (below != scores.end()) return edge - *below;
  const auto above = std::find_if(scores.rend() - static_cast<std::ptrdiff_t>(count), scores.rend(),
                                  [edge](double score) { return score > edge; });
  return above == scores.rend() ? 0 : *above - edge;
}

/// In standard deviations of the part's sum; cuts below are never critical.
constexpr double kMinDeviations = 2.2;
/// From this length of the shorter part on, the normal approximation of z is good to 0.05.
constexpr std::size_t kLongPart = 40;
/// Clipping distance, in deviations.
constexpr double kReach = 3.5;

/// In standard deviations of normal noise.
std::vector<double> deviations_from_median(std::span<const double> values) {
  if (!std::ranges::all_of(values, [](double value) { return std::isfinite(value); }))
    throw std::invalid_argument("a change of a value that is not finite");
  const double centre = median(values);
  std::vector<double> deviations(values.begin(), values.end());
  double distances = 0;
  for (double& value : deviations) {
    value -= centre;
    distances += std::abs(value);
  }
  const double mad = median_absolute_deviation(values);
  // The MAD is 0 if most values are equal.
  const double unit = mad > 0 ? kDeviationPerMad * mad : distances / static_cast<double>(values.size());
  if (unit > 0) {
    for (double& value : deviations) value /= unit;
  }
  return deviations;
}

/// The mean is 0.
std::vector<double> bounded_scores(std::span<const double> deviations) {
  std::vector<double> scores;
  for (const double deviation : deviations) scores.push_back(std::clamp(deviation, -kReach, kReach));
  const double centre = mean(scores);
  for (double& score : scores) score -= centre;
  return scores;
}

std::vector<double> descending(std::span<const double> scores, double sign) {
  std::vector<double> ordered;
  for (const double score : scores) ordered.push_back(sign * score);
  std::sort(ordered.begin(), ordered.end(), std::greater<>());
  return ordered;
}

double clamped_around(double value, double a, double b, double reach) {
  return std::clamp(value, std::min(a, b) - reach, std::max(a, b) + reach);
}

/// Counts the spikes among the two extreme values on the side of `sign`: those further beyond the next value
/// than that is from the median.
std::size_t spikes_of(std::span<const double> part_deviations, double sign) {
  constexpr double kGap = 2.5;  // deviations
  std::vector<double> largest;
  for (const double deviation : part_deviations) largest.push_back(sign * deviation);
  std::partial_sort(largest.begin(), largest.begin() + 3, largest.end(), std::greater<>());
  const auto gap_above = [&](std::size_t i) {
    return largest[i - 1] - largest[i] > std::max(kGap, largest[i]);
  };
  if (gap_above(2)) return 2;
  return gap_above(1) ? 1 : 0;
}

/// Whether a part differs without its `spikes` extreme values. `ordered`: all scores, descending, times
/// `sign`.
bool differs_without_spikes(std::size_t spikes, std::span<const double> ordered, std::span<const double> part,
                            double sign) {
  constexpr double kMinDifference = 4;  // z of a change
  std::vector<double> own;
  for (const double score : part) own.push_back(sign * score);
  std::sort(own.begin(), own.end(), std::greater<>());
  std::vector<double> others(ordered.begin(), ordered.end());
  for (std::size_t i = 0; i < spikes; ++i) others.erase(std::ranges::find(others, own[i]));
  const double centre = mean(others);
  double sum = 0;
  for (std::size_t i = spikes; i < own.size(); ++i) sum += own[i] - centre;
  for (double& score : others) score -= centre;
  if (sum <= 0 || others.front() <= others.back()) return false;
  return permutation_tail_z(others, own.size() - spikes, sum) > kMinDifference;
}

/// Quantile .999 of the largest z over random orders (`bench_changepoints table`).
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

/// Fewest values that can reach both levels.
constexpr std::size_t kMinLengthWithChange = 14;

struct Critical {
  double count;
  double suspected;
  double certain;
};

/// Quantiles .99 and .997 of the z of the rarest shift of normal values (`bench_changepoints table`): from
/// 200,000 series each up to 40 values to 3,000 for 5,000; smoothed from 60 values on.
constexpr std::array<Critical, 20> kCritical{{
    {14, 3.019, 3.269},   {15, 3.070, 3.353},   {16, 3.103, 3.406},   {17, 3.142, 3.440},
    {18, 3.173, 3.484},   {20, 3.200, 3.535},   {22, 3.238, 3.580},   {25, 3.305, 3.615},
    {30, 3.346, 3.665},   {35, 3.390, 3.704},   {40, 3.410, 3.737},   {50, 3.440, 3.775},
    {60, 3.470, 3.813},   {100, 3.540, 3.870},  {200, 3.600, 3.925},  {500, 3.680, 4.010},
    {1000, 3.750, 4.075}, {2000, 3.790, 4.120}, {5000, 3.840, 4.170}, {10000, 3.880, 4.210},
}};

double correlation_within_parts(std::span<const double> values, std::span<const std::size_t> cuts) {
  double products = 0, squares = 0;
  std::vector<double> ranks(values.size());
  std::size_t from = 0;
  const auto add_part_to = [&](std::size_t end) {
    const std::size_t size = end - from;
    const std::span<double> part = std::span(ranks).subspan(from, size);
    mid_ranks(values.subspan(from, size), part);
    const double centre = 0.5 * static_cast<double>(size + 1);
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

double autocorrelation_factor(std::span<const double> values, std::span<const std::size_t> cuts) {
  const double n = static_cast<double>(values.size()), parts = static_cast<double>(cuts.size() + 1);
  // Each estimated centre costs 1/n (Kendall 1954).
  const double rho = (n * correlation_within_parts(values, cuts) + parts) / (n - 3 * parts);
  // Correlations up to two standard errors are ignored as chance; they count in full from three on.
  const double weight = std::clamp(rho * std::sqrt(n) - 2, 0.0, 1.0);
  const double used = std::min(rho * weight, 0.95);
  return std::sqrt((1 - used) / (1 + used));
}

std::optional<ChangePoint> significant_shift(std::span<const double> values, ChangeLevel level) {
  const std::optional<double> critical = change_critical(values.size(), level);
  if (!critical) return std::nullopt;
  const std::optional<LevelShift> shift = rarest_level_shift(values);
  if (!shift || shift->z <= *critical) return std::nullopt;
  const std::size_t cuts[] = {shift->index};
  const double z = shift->z * autocorrelation_factor(values, cuts);
  if (z <= *critical) return std::nullopt;
  return ChangePoint{best_step_index(values, shift->index), z};
}

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

std::vector<double> merge_rounding(std::span<const double> values) {
  std::vector<double> levels, sorted(values.begin(), values.end());
  if (std::ranges::any_of(values, [](double value) { return std::isnan(value); })) return sorted;
  std::ranges::sort(sorted);
  for (const double value : sorted) {
    if (levels.empty() || value - levels.back() > kRounding * std::abs(value)) levels.push_back(value);
  }
  std::vector<double> result;
  for (const double value : values) result.push_back(*(std::ranges::upper_bound(levels, value) - 1));
  return result;
}

SeriesPart level_part(std::span<const double> values, std::size_t begin, std::size_t end) {
  const double level = median(values.subspan(begin, end - begin));
  return {begin, end, level, false, level, level};
}

/// Longer parts are thinned.
constexpr std::size_t kMaxPairValues = 300;

std::size_t step_of(std::size_t count) {
  return 1 + (count - 1) / kMaxPairValues;
}

SeriesPart line_part(std::span<const double> values, std::size_t begin, std::size_t end) {
  const std::size_t step = step_of(end - begin);
  std::vector<double> slopes, offsets;
  for (std::size_t i = begin; i < end; i += step) {
    for (std::size_t j = i + step; j < end; j += step)
      slopes.push_back((values[j] - values[i]) / static_cast<double>(j - i));
  }
  const double slope = median(slopes);
  for (std::size_t i = begin; i < end; ++i)
    offsets.push_back(values[i] - slope * static_cast<double>(i - begin));
  const double first = median(offsets);
  return {begin, end,   median(values.subspan(begin, end - begin)),
          true,  first, first + slope * static_cast<double>(end - begin - 1)};
}

double distance_from(std::span<const double> values, const SeriesPart& part) {
  double sum = 0;
  for (std::size_t i = part.begin; i < part.end; ++i) sum += std::abs(values[i] - part.at(i));
  return sum;
}

/// Returns the line through `parts` if all steps have its direction and it fits better.
std::optional<SeriesPart> drift_through(std::span<const double> values, std::span<const SeriesPart> parts) {
  const bool rises = parts[1].level > parts[0].level;
  for (std::size_t i = 1; i < parts.size(); ++i) {
    if (parts[i].level == parts[i - 1].level || (parts[i].level > parts[i - 1].level) != rises)
      return std::nullopt;
  }
  const SeriesPart line = line_part(values, parts.front().begin, parts.back().end);
  if (line.last == line.first || (line.last > line.first) != rises) return std::nullopt;
  double of_levels = 0;
  for (const SeriesPart& part : parts) of_levels += distance_from(values, part);
  // For normal noise each parameter reduces the sum by about half of 1/n; a step has a level and a place,
  // which counts for three as the best of many.
  const double n = static_cast<double>(line.end - line.begin);
  const double level_parameters = 4 * static_cast<double>(parts.size()) - 3;
  const double levels = of_levels / std::max(0.1, 1 - level_parameters / (2 * n));
  return distance_from(values, line) / (1 - 1 / n) < levels ? std::optional(line) : std::nullopt;
}

/// Mann and Kendall's z, not corrected for autocorrelation.
double trend_z(std::span<const double> values, const SeriesPart& part) {
  const std::size_t step = step_of(part.end - part.begin);
  double rising = 0, n = 0;
  for (std::size_t i = part.begin; i < part.end; i += step) {
    ++n;
    for (std::size_t j = i + step; j < part.end; j += step)
      rising += values[j] > values[i] ? 1 : values[j] < values[i] ? -1 : 0;
  }
  return std::abs(rising) / std::sqrt(n * (n - 1) * (2 * n + 5) / 18);
}

/// Returns the line through a part with a trend, else the part. A long drift correlates neighbours on both
/// sides of every cut, so no step is found in it.
SeriesPart trend_part(std::span<const double> values, const SeriesPart& part) {
  constexpr std::size_t kMin = 14;
  constexpr double kTrend = 3.7;  // 2 in 10,000 by chance
  if (part.end - part.begin < kMin || part.drifts || trend_z(values, part) <= kTrend) return part;
  const SeriesPart line = line_part(values, part.begin, part.end);
  std::vector<double> distances;
  for (std::size_t i = part.begin; i < part.end; ++i) distances.push_back(values[i] - line.at(i));
  const double n = static_cast<double>(distances.size());
  const double rho = autocorrelation(distances).first_lag;
  const double used = std::min(std::clamp(rho * std::sqrt(n) - 1, 0.0, 1.0) * std::max(rho, 0.0), 0.95);
  const double z = trend_z(values, part) * std::sqrt((1 - used) / (1 + used));
  return z > kTrend && line.first != line.last ? line : part;
}

std::vector<SeriesPart> level_parts(std::span<const double> values, std::span<const std::size_t> cuts) {
  std::vector<SeriesPart> parts;
  std::size_t begin = 0;
  for (const std::size_t cut : cuts) {
    parts.push_back(level_part(values, begin, cut));
    begin = cut;
  }
  if (begin < values.size()) parts.push_back(level_part(values, begin, values.size()));
  return parts;
}

/// From each part on, joins the longest run that a line fits better.
std::vector<SeriesPart> add_drifts(std::span<const double> values, std::span<const SeriesPart> levels) {
  std::vector<SeriesPart> parts;
  for (std::size_t i = 0; i < levels.size();) {
    std::size_t used = 1;
    SeriesPart part = levels[i];
    for (std::size_t count = levels.size() - i; count > 1; --count) {
      const auto line = drift_through(values, levels.subspan(i, count));
      if (!line) continue;
      part = *line;
      used = count;
      break;
    }
    parts.push_back(trend_part(values, part));
    i += used;
  }
  return parts;
}

std::vector<std::size_t> change_indices(std::span<const ChangePoint> changes) {
  std::vector<std::size_t> cuts;
  for (const ChangePoint& change : changes) cuts.push_back(change.index);
  return cuts;
}

}  // namespace

double permutation_tail_z(std::span<const double> scores, std::size_t count, double sum) {
  const double n = static_cast<double>(scores.size()), k = static_cast<double>(count);
  const double wanted = sum - last_step(scores, count) / 2;
  double t = 0, u = std::log(k / (n - k));
  const Tilt before = tilted(scores, t, u);
  Tilt tilt = before;
  // Newton's method with halved steps for the maximum of the concave wanted t + k u - K(t, u).
  const auto miss = [&](const Tilt& at) { return std::abs(at.count - k) + std::abs(at.sum - wanted); };
  constexpr int kMaxSteps = 60;
  constexpr double kNear = 1e-6;
  for (int step = 0; step < kMaxSteps && miss(tilt) > kNear; ++step) {
    const double by_count = k - tilt.count, by_sum = wanted - tilt.sum, scale = 1 / tilt.determinant();
    const double dt = (by_sum * tilt.count_variance - by_count * tilt.covariance) * scale;
    const double du = (by_count * tilt.sum_variance - by_sum * tilt.covariance) * scale;
    double part = 1;
    Tilt next = tilted(scores, t + dt, u + du);
    while (miss(next) > miss(tilt) && part > 1e-3) {
      part /= 2;
      next = tilted(scores, t + part * dt, u + part * du);
    }
    t += part * dt;
    u += part * du;
    tilt = next;
  }
  const double w = std::sqrt(std::max(0.0, 2 * (before.entropy - tilt.entropy)));
  const double v = t * std::sqrt(tilt.determinant() / before.count_variance);
  constexpr double kCentre = 0.1;  // both vanish at the centre, and so does the correction
  return w < kCentre || !(v > 0) ? w : w + std::log(v / w) / w;
}

std::optional<LevelShift> rarest_level_shift(std::span<const double> values) {
  const std::size_t count = values.size();
  if (count < 2 * kMinLevelLength) return std::nullopt;
  const std::vector<double> deviations = deviations_from_median(values);
  const std::vector<double> scores = bounded_scores(deviations);
  const std::vector<double> high = descending(scores, 1), low = descending(scores, -1);
  const double n = static_cast<double>(count);
  double squares = 0;
  for (const double score : scores) squares += score * score;
  LevelShift best{kMinLevelLength, 0};
  if (squares <= 0) return best;
  double sum = 0;
  for (std::size_t i = 0; i + kMinLevelLength < count; ++i) {
    sum += scores[i];
    const std::size_t before = i + 1;
    if (before < kMinLevelLength) continue;
    const std::size_t part = std::min(before, count - before);
    const double t = static_cast<double>(before);
    double z = std::abs(sum) / std::sqrt(t * (n - t) / n * squares / (n - 1));
    if (z > kMinDeviations && part < kLongPart) {
      const double sign = (sum > 0) == (part == before) ? 1 : -1;
      const std::size_t first = part == before ? 0 : before;
      const std::vector<double>& ordered = sign > 0 ? high : low;
      z = permutation_tail_z(ordered, part, std::abs(sum));
      const std::size_t spikes = spikes_of(std::span(deviations).subspan(first, part), sign);
      if (z > best.z && spikes > 0 &&
          !differs_without_spikes(spikes, ordered, std::span(scores).subspan(first, part), sign))
        continue;
    }
    if (z > best.z) best = {before, z};
  }
  return best;
}

std::size_t best_step_index(std::span<const double> values, std::size_t index) {
  const std::size_t count = values.size();
  const double before = median(values.first(index)), after = median(values.subspan(index));
  std::vector<double> residuals(count);
  for (std::size_t i = 0; i < count; ++i) residuals[i] = std::abs(values[i] - (i < index ? before : after));
  const double reach = kReach * kDeviationPerMad * median(residuals);
  std::vector<double> sums(count + 1);
  for (std::size_t i = 0; i < count; ++i)
    sums[i + 1] = sums[i] + clamped_around(values[i], before, after, reach) - before;
  const double n = static_cast<double>(count), mean_of_all = sums.back() / n;
  std::size_t best = index;
  double best_explained = -1;
  for (std::size_t cut = kMinLevelLength; cut + kMinLevelLength <= count; ++cut) {
    const double t = static_cast<double>(cut), away = sums[cut] - t * mean_of_all;
    const double explained = away * away / (t * (n - t));
    if (explained > best_explained) {
      best = cut;
      best_explained = explained;
    }
  }
  return best;
}

std::optional<double> rank_excursion_critical(std::size_t count) {
  if (static_cast<double>(count) < kExcursionCritical.front().count) return std::nullopt;
  return interpolated(kExcursionCritical, count, &ExcursionCritical::certain);
}

RankExcursion largest_rank_excursion(std::span<const double> values) {
  const std::size_t count = values.size();
  if (count < 3 * kMinLevelLength) return {};
  std::vector<double> ranks(count), sums(count + 1);
  mid_ranks(values, ranks);
  const double n = static_cast<double>(count);
  for (std::size_t i = 0; i < count; ++i) sums[i + 1] = sums[i] + ranks[i] - (n + 1) / 2;
  // Thins longer series, which can only make z smaller.
  constexpr std::size_t kMaxCandidates = 2000;
  const std::size_t step = 1 + (count - 1) / kMaxCandidates;
  RankExcursion best;
  for (std::size_t size = kMinLevelLength; size + 2 * kMinLevelLength <= count; size += step) {
    const double k = static_cast<double>(size);
    const double scale = 1 / std::sqrt(k * (n - k) * (n + 1) / 12);
    for (std::size_t begin = kMinLevelLength; begin + size + kMinLevelLength <= count; begin += step) {
      const double z = std::abs(sums[begin + size] - sums[begin]) * scale;
      if (z > best.z) best = {begin, begin + size, z};
    }
  }
  return best;
}

std::optional<double> change_critical(std::size_t count, ChangeLevel level) {
  if (count < kMinLengthWithChange) return std::nullopt;
  return interpolated(kCritical, count,
                      level == ChangeLevel::kCertain ? &Critical::certain : &Critical::suspected);
}

std::vector<ChangePoint> change_points(std::span<const double> raw) {
  const std::vector<double> rounded = merge_rounding(raw);
  const std::span<const double> values(rounded);
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
  std::optional<ChangePoint> shift =
      significant_shift(merge_rounding(values.subspan(from)), ChangeLevel::kSuspected);
  if (shift) shift->index += from;
  return shift;
}

double SeriesPart::at(std::size_t index) const {
  if (!drifts) return level;
  return first + (last - first) * static_cast<double>(index - begin) / static_cast<double>(end - begin - 1);
}

std::vector<SeriesPart> series_parts(std::span<const double> values, std::span<const ChangePoint> changes) {
  return add_drifts(values, level_parts(values, change_indices(changes)));
}

std::vector<SeriesPart> differing_parts(std::span<const double> values, std::span<const ChangePoint> changes,
                                        double least) {
  const auto magnitude = [](double before, double after) {
    return before == 0 ? 1 : std::abs(after / before - 1);
  };
  least = std::max(least, kRounding);
  std::vector<std::size_t> cuts = change_indices(changes);
  for (;;) {
    std::vector<SeriesPart> parts = add_drifts(values, level_parts(values, cuts));
    for (SeriesPart& part : parts) {
      if (part.drifts && magnitude(part.first, part.last) < least)
        part = level_part(values, part.begin, part.end);
    }
    double smallest = least;
    std::optional<std::size_t> place;
    for (std::size_t i = 1; i < parts.size(); ++i) {
      const double here = magnitude(parts[i - 1].last, parts[i].first);
      if (here >= smallest) continue;
      smallest = here;
      place = parts[i].begin;
    }
    if (!place) return parts;
    std::erase(cuts, *place);
  }
}

std::vector<SpreadChange> spread_changes(std::span<const double> values, std::span<const SeriesPart> parts) {
  constexpr std::size_t kMin = 8;
  std::vector<double> distances;
  std::vector<std::size_t> places;
  for (const SeriesPart& part : parts) {
    if (part.end - part.begin < kMin) continue;
    const double unit = part.level == 0 ? 1 : std::abs(part.level);
    for (std::size_t i = part.begin; i < part.end; ++i) {
      const double distance = std::abs(values[i] - part.at(i)) / unit;
      distances.push_back(part.level != 0 && distance < kRounding ? 0 : distance);
      places.push_back(i);
    }
  }
  std::vector<SpreadChange> found;
  const std::vector<ChangePoint> changes = change_points(distances);
  for (std::size_t i = 0; i < changes.size(); ++i) {
    const std::size_t begin = i == 0 ? 0 : changes[i - 1].index, at = changes[i].index;
    const std::size_t end = i + 1 < changes.size() ? changes[i + 1].index : distances.size();
    const double before = median(std::span(distances).subspan(begin, at - begin));
    const double after = median(std::span(distances).subspan(at, end - at));
    if (before > 0 && after > 0) found.push_back({places[at], after / before});
  }
  return found;
}

std::optional<LineFit> fit_line(std::span<const double> x, std::span<const double> y) {
  if (x.size() != y.size()) throw std::invalid_argument("fit_line: x and y differ in size");
  // Weights 1 / y^2, centred to avoid cancellation.
  double weights = 0, mean_x = 0, mean_y = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (!(y[i] > 0)) throw std::invalid_argument("fit_line: y must be above 0");
    const double weight = 1 / (y[i] * y[i]);
    weights += weight;
    mean_x += weight * x[i];
    mean_y += weight * y[i];
  }
  mean_x /= weights;
  mean_y /= weights;
  double spread = 0, together = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double weight = 1 / (y[i] * y[i]);
    spread += weight * (x[i] - mean_x) * (x[i] - mean_x);
    together += weight * (x[i] - mean_x) * (y[i] - mean_y);
  }
  if (x.size() < 2 || !(spread > 0)) return std::nullopt;
  LineFit fit;
  fit.slope = together / spread;
  fit.intercept = mean_y - fit.slope * mean_x;
  for (std::size_t i = 0; i < x.size(); ++i) {
    fit.worst_error = std::max(fit.worst_error, std::abs(fit.intercept + fit.slope * x[i] - y[i]) / y[i]);
  }
  return fit;
}

}  // namespace headroom
