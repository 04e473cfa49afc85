// SPDX-License-Identifier: Apache-2.0
#include "headroom/command/cache_estimate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "headroom/stats/distribution.h"
#include "headroom/stats/quantile.h"

namespace headroom {
namespace {

constexpr double kConfidence = 0.95;
/// From here on order statistics give an interval of the median.
constexpr std::size_t kSignInterval = 6;
/// Of first_cold_excess.
constexpr std::size_t kFewestPairs = 3;
constexpr double kMuchLonger = 1.25, kSpreads = 6;

std::optional<Interval> interval_of_logs(std::span<const double> logs) {
  if (logs.size() >= kSignInterval) return series_median_interval(logs, {}, kConfidence);
  if (logs.size() < 2) return std::nullopt;
  const double t = student_t_quantile(1 - (1 - kConfidence) / 2, logs.size() - 1);
  const double half = t * standard_deviation(logs) / std::sqrt(static_cast<double>(logs.size()));
  return Interval{mean(logs) - half, mean(logs) + half, kConfidence};
}

CacheEstimate estimate_of_logs(std::span<const double> logs) {
  CacheEstimate estimate{std::exp(median(logs)), std::nullopt, logs.size()};
  if (const auto interval = interval_of_logs(logs)) {
    estimate.interval = Interval{std::exp(interval->low), std::exp(interval->high), kConfidence};
  }
  return estimate;
}

bool are_positive(std::span<const double> values) {
  return std::ranges::all_of(values, [](double value) { return value > 0; });
}

/// ln(cold / warm), signed so that above 0 is better.
std::optional<double> log_gain(double from, double to, Direction direction) {
  if (!(from > 0) || !(to > 0)) return std::nullopt;
  const double gain = std::log(from / to);
  return direction == Direction::kLowerIsBetter ? gain : -gain;
}

template <typename Gain>
std::optional<CacheEstimate> estimate_of_pairs(const ModelRun& model, Gain&& gain) {
  std::vector<double> logs;
  for (const CachePair& pair : model.pairs) {
    if (const std::optional<double> value = gain(pair)) logs.push_back(*value);
  }
  if (logs.empty()) return std::nullopt;
  return estimate_of_logs(logs);
}

}  // namespace

CacheEstimate estimate_of(std::span<const double> values) {
  if (!are_positive(values)) return {median(values), std::nullopt, values.size()};
  std::vector<double> logs(values.begin(), values.end());
  for (double& value : logs) value = std::log(value);
  CacheEstimate estimate = estimate_of_logs(logs);
  estimate.value = median(values);
  return estimate;
}

std::optional<CacheEstimate> speed_up(const ModelRun& model, Direction direction) {
  return estimate_of_pairs(model,
                           [&](const CachePair& pair) { return log_gain(pair.cold, pair.warm, direction); });
}

std::optional<CacheEstimate> settling(const ModelRun& model, Direction direction) {
  return estimate_of_pairs(model, [&](const CachePair& pair) {
    return pair.warm_again ? log_gain(pair.warm, *pair.warm_again, direction) : std::nullopt;
  });
}

std::optional<CacheEstimate> worth_of_part(const ModelRun& model, std::size_t part, Direction direction) {
  return estimate_of_pairs(model, [&](const CachePair& pair) {
    if (part >= pair.without.size() || !pair.without[part].value) return std::optional<double>();
    return log_gain(*pair.without[part].value, pair.warm_among_parts(), direction);
  });
}

PartSamples part_samples(const ModelRun& model, std::size_t part) {
  PartSamples samples;
  for (const CachePair& pair : model.pairs) {
    if (part >= pair.without.size() || !pair.without[part].value) continue;
    samples.without.push_back(*pair.without[part].value);
    samples.warm.push_back(pair.warm_among_parts());
    samples.rounds.push_back(pair.round);
    if (pair.without[part].held.bytes >= samples.held.bytes) samples.held = pair.without[part].held;
  }
  return samples;
}

double saved_by_part(const PartSamples& samples, Direction direction) {
  std::vector<double> saved;
  for (std::size_t i = 0; i < samples.without.size(); ++i) {
    const double more = samples.without[i] - samples.warm[i];
    saved.push_back(direction == Direction::kLowerIsBetter ? more : -more);
  }
  return median(saved);
}

std::optional<CacheEstimate> suite_speed_up(const CacheRun& run, Direction direction) {
  std::size_t rounds = SIZE_MAX;
  for (const ModelRun& model : run.models) {
    if (model.failure.empty()) rounds = std::min(rounds, model.pairs.size());
  }
  std::vector<double> logs;
  for (std::size_t round = 0; rounds != SIZE_MAX && round < rounds; ++round) {
    double sum = 0;
    std::size_t count = 0;
    for (const ModelRun& model : run.models) {
      if (!model.failure.empty()) continue;
      const auto gain = log_gain(model.pairs[round].cold, model.pairs[round].warm, direction);
      if (!gain) return std::nullopt;
      sum += *gain;
      ++count;
    }
    logs.push_back(sum / static_cast<double>(count));
  }
  if (logs.empty()) return std::nullopt;
  return estimate_of_logs(logs);
}

std::optional<double> saved_share(const CacheEstimate& speed_up, Direction direction) {
  if (direction != Direction::kLowerIsBetter || !(speed_up.value > 0)) return std::nullopt;
  return 1 - 1 / speed_up.value;
}

std::optional<double> first_cold_excess(const ModelRun& model, Direction direction) {
  if (model.pairs.size() < kFewestPairs) return std::nullopt;
  std::vector<double> later;
  for (auto pair = model.pairs.begin() + 1; pair != model.pairs.end(); ++pair) {
    const auto gain = log_gain(model.pairs.front().cold, pair->cold, direction);
    if (!gain) return std::nullopt;
    later.push_back(*gain);
  }
  const double excess = median(later);
  for (double& value : later) value = std::abs(value - excess);
  if (excess < std::max(std::log(kMuchLonger), kSpreads * quantile(later, 0.75))) return std::nullopt;
  return std::exp(excess);
}

std::string unnamed_cache(const ModelRun& model, Direction direction) {
  const auto excess = first_cold_excess(model, direction);
  if (!excess) return "";
  return fmt::format(
      "the first cold run was {:.3g} times as {} as the {} later ones: a cache that no layer names outlived "
      "the "
      "clearing between them",
      *excess, direction == Direction::kLowerIsBetter ? "long" : "poor", model.pairs.size() - 1);
}

std::optional<double> cachebench_percent(const ModelRun& model) {
  const std::vector<double> cold = cold_values(model), warm = warm_values(model);
  const double cold_sum = std::accumulate(cold.begin(), cold.end(), 0.0);
  const double warm_sum = std::accumulate(warm.begin(), warm.end(), 0.0);
  if (cold_sum == 0) return std::nullopt;
  return (1 - (warm_sum / cold_sum)) * 100;
}

std::vector<double> cold_values(const ModelRun& model) {
  std::vector<double> values;
  for (const CachePair& pair : model.pairs) values.push_back(pair.cold);
  return values;
}

std::vector<double> warm_values(const ModelRun& model) {
  std::vector<double> values;
  for (const CachePair& pair : model.pairs) values.push_back(pair.warm);
  return values;
}

}  // namespace headroom
