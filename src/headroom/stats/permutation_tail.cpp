// SPDX-License-Identifier: Apache-2.0
#include "headroom/stats/permutation_tail.h"

#include <algorithm>
#include <cmath>

namespace headroom {
namespace {

/// What is expected of a draw with the probabilities that t and u make.
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

/// By how much the largest sums of `count` scores differ: from the smallest score among them to the next one
/// that is different.
double last_step(std::span<const double> scores, std::size_t count) {
  const double edge = scores[count - 1];
  const auto below = std::find_if(scores.begin() + static_cast<std::ptrdiff_t>(count), scores.end(),
                                  [edge](double score) { return score < edge; });
  if (below != scores.end()) return edge - *below;
  const auto above = std::find_if(scores.rend() - static_cast<std::ptrdiff_t>(count), scores.rend(),
                                  [edge](double score) { return score > edge; });
  return above == scores.rend() ? 0 : *above - edge;
}

}  // namespace

double permutation_tail_z(std::span<const double> scores, std::size_t count, double sum) {
  const double n = static_cast<double>(scores.size()), k = static_cast<double>(count);
  const double wanted = sum - last_step(scores, count) / 2;
  double t = 0, u = std::log(k / (n - k));
  const Tilt before = tilted(scores, t, u);
  Tilt tilt = before;
  // Newton's steps towards the maximum of wanted t + k u - K(t, u), which is concave; halved while one goes
  // too far.
  const auto miss = [&](const Tilt& at) { return std::abs(at.count - k) + std::abs(at.sum - wanted); };
  constexpr int kMostSteps = 60;
  constexpr double kNear = 1e-6;
  for (int step = 0; step < kMostSteps && miss(tilt) > kNear; ++step) {
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
  constexpr double kCentre = 0.1;  // both vanish there, and so does what their quotient corrects
  return w < kCentre || !(v > 0) ? w : w + std::log(v / w) / w;
}

}  // namespace headroom
