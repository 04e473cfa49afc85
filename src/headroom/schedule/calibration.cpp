// SPDX-License-Identifier: Apache-2.0
#include "headroom/schedule/calibration.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace headroom {
namespace {

constexpr double kOvershoot = 1.4;
constexpr double kMaxGrowth = 10;
/// A single iteration of so many targets is taken at its word.
constexpr double kSlowIteration = 10;
/// How many targets long the slowest of compared samples may get before the common count gives way.
constexpr double kMaxStretch = 32;

std::uint64_t whole_iterations(double count) {
  constexpr auto kMost = static_cast<double>(Calibration::kMaxIterations);
  if (!(count < kMost)) return Calibration::kMaxIterations;
  return std::max<std::uint64_t>(1, static_cast<std::uint64_t>(std::ceil(count)));
}

}  // namespace

Calibration::Calibration(double target_ns) : target_ns_(target_ns) {
  if (!(target_ns > 0) || !std::isfinite(target_ns)) {
    throw std::invalid_argument("the target time of a sample must be positive");
  }
}

void Calibration::add(std::uint64_t iterations, double elapsed_ns, double waited_ns) {
  if (iterations == 0) throw std::invalid_argument("a reading of no iterations");
  if (done_) return;
  if (!(elapsed_ns > 0)) elapsed_ns = 0;
  const double ns = elapsed_ns / static_cast<double>(iterations);
  const bool again = reached_ && iterations == next_;
  ns_per_iteration_ = again ? std::min(ns, *ns_per_iteration_) : ns;

  waited_ns_per_iteration_ = std::max(waited_ns, elapsed_ns) / static_cast<double>(iterations);
  const double most = waited_ns_per_iteration_ > 0 ? kSlowIteration * target_ns_ / waited_ns_per_iteration_
                                                   : kMaxGrowth * static_cast<double>(iterations);
  const bool waits = waited_ns > elapsed_ns && static_cast<double>(iterations) + 1 > most;
  if (elapsed_ns < target_ns_ && iterations < kMaxIterations && !waits) {
    grow(iterations, elapsed_ns, most);
    return;
  }
  if (waits && !waits_) {
    waits_ = true;  // once more: a single reading may have been preempted
    next_ = iterations;
    return;
  }
  const bool slow = waits || (iterations == 1 && elapsed_ns >= kSlowIteration * target_ns_);
  done_ = again || slow || iterations >= kMaxIterations;
  reached_ = true;
  next_ = std::min(iterations, kMaxIterations);
}

void Calibration::grow(std::uint64_t iterations, double elapsed_ns, double most) {
  const auto count = static_cast<double>(iterations);
  const double predicted =
      elapsed_ns > 0 ? kOvershoot * count * (target_ns_ / elapsed_ns) : kMaxGrowth * count;
  next_ = whole_iterations(
      std::clamp(predicted, count + 1, std::max(count + 1, std::min(most, kMaxGrowth * count))));
  reached_ = false;
}

std::uint64_t shared_iterations(std::span<const CalibratedCase> cases, double target_ns) {
  std::uint64_t most = 1;
  double slowest = 0;
  for (const CalibratedCase& one : cases) {
    most = std::max(most, one.iterations);
    slowest = std::max(slowest, one.ns_per_iteration);
  }
  if (static_cast<double>(most) * slowest <= kMaxStretch * target_ns) return most;
  return whole_iterations(std::floor(kMaxStretch * target_ns / slowest));
}

}  // namespace headroom
