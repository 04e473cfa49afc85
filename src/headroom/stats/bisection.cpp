// SPDX-License-Identifier: Apache-2.0
#include "headroom/stats/bisection.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

#include "headroom/stats/quantile.h"

namespace headroom {
namespace {

constexpr double kDegrees = 4;
constexpr double kLeastScale = 1e-6;

double log_density(double distance, double scale) {
  const double x = distance / scale;
  return -(kDegrees + 1) / 2 * std::log1p(x * x / kDegrees);
}

}  // namespace

Bisection::Bisection(std::size_t versions) : is_excluded_(versions), contrasts_(versions) {
  if (versions < 2) throw std::invalid_argument("a bisection needs two versions");
}

void Bisection::exclude(std::size_t version) {
  is_excluded_.at(version) = true;
}

void Bisection::add_ends(double first, double last) {
  ends_.push_back(last - first);
}

void Bisection::add(std::size_t version, double first, double middle, double last) {
  add_ends(first, last);
  contrasts_.at(version).push_back(2 * middle - first - last);
}

std::vector<double> Bisection::posterior() const {
  const double change = ends_.empty() ? 0 : median(ends_);
  // Few rounds underestimate the scale.
  const double few = ends_.empty() ? 1 : 1 + 2 / static_cast<double>(ends_.size());
  const double deviation = ends_.empty() ? 0 : kDeviationPerMad * median_absolute_deviation(ends_);
  const double scale = std::max(kLeastScale, deviation * std::sqrt(3.0) * few);
  std::vector<double> weights(contrasts_.size(), 0.0);
  for (std::size_t version = 1; version + 1 < contrasts_.size(); ++version) {
    double evidence = 0;  // for changed over unchanged
    for (const double contrast : contrasts_[version])
      evidence += log_density(contrast - change, scale) - log_density(contrast + change, scale);
    for (std::size_t first_changed = 1; first_changed <= version; ++first_changed)
      weights[first_changed] += evidence;
  }
  const double most = *std::max_element(weights.begin() + 1, weights.end());
  for (double& weight : weights) weight = std::exp(weight - most);
  weights.front() = 0;
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  for (double& weight : weights) weight /= sum;
  return weights;
}

std::optional<std::size_t> Bisection::next() const {
  const std::vector<double> shares = posterior();
  std::optional<std::size_t> best;
  double best_split = 0, below = 0;
  for (std::size_t version = 1; version + 1 < shares.size(); ++version) {
    below += shares[version];
    const double split = std::min(below, 1 - below);
    if (is_excluded_[version] || split <= best_split) continue;
    best_split = split;
    best = version;
  }
  return best;
}

Bisection::Range Bisection::likeliest() const {
  const std::vector<double> shares = posterior();
  Range best{1, shares.size() - 1, 0};
  Range group{1, 1, 0};
  for (std::size_t version = 1; version < shares.size(); ++version) {
    group.end = version;
    group.share += shares[version];
    if (is_excluded_[version]) continue;
    if (group.share > best.share) best = group;
    group = {version + 1, version + 1, 0};
  }
  return best;
}

Bisection::Range Bisection::range(double share) const {
  const std::vector<double> shares = posterior();
  Range found = likeliest();
  while (found.share < share) {
    const double before = found.begin > 1 ? shares[found.begin - 1] : -1;
    const double after = found.end + 1 < shares.size() ? shares[found.end + 1] : -1;
    if (before < 0 && after < 0) break;
    found.share += std::max(before, after);
    if (before >= after) {
      --found.begin;
    } else {
      ++found.end;
    }
  }
  return found;
}

double Bisection::ratio() const {
  return ends_.empty() ? 1 : std::exp(median(ends_));
}

}  // namespace headroom
