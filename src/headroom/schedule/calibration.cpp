// SPDX-License-Identifier: Apache-2.0
#include "headroom/schedule/calibration.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <stdexcept>
#include <vector>

#include "headroom/stats/quantile.h"

namespace headroom {
namespace {

constexpr double kOvershoot = 1.4;
constexpr double kMaxGrowth = 10;
/// An iteration this many targets long is not timed twice.
constexpr double kSlowIteration = 10;
/// Upper bound on the slowest compared sample, in targets.
constexpr double kMaxStretch = 32;

std::uint64_t whole_iterations(double count) {
  constexpr auto kMax = static_cast<double>(Calibration::kMaxIterations);
  if (!(count < kMax)) return Calibration::kMaxIterations;
  return std::max<std::uint64_t>(1, static_cast<std::uint64_t>(std::ceil(count)));
}

/// Rounds needed to store a choice; maximum.
constexpr std::size_t kEnoughRounds = 5, kMaxRounds = 40;
/// An unsettled choice is searched again in every run.
constexpr double kServerTimeout = 3;

struct Candidate {
  std::string variant;
  int id = 0;
  CaseInfo info;
  std::vector<double> relative;  ///< to the fastest of the same round: cancels drift
  double median_relative = 1;
  bool out = false;
};

std::vector<Candidate> prepare_all(Worker& worker, const PlannedCase& planned, int first_id) {
  std::vector<Candidate> candidates;
  int id = first_id;
  for (const std::string& variant : planned.variants) {
    CaseSpec spec = planned.spec;
    spec.variant = variant;
    spec.keep_wrong = false;  // a wrong variant must not win
    PrepareReply reply = worker.prepare(id, spec);
    if (reply.outcome.kind == Outcome::Kind::kMeasured) {
      candidates.push_back({variant, id, std::move(reply.info), {}});
    }
    ++id;
  }
  return candidates;
}

std::uint64_t calibrated(Worker& worker, const Candidate& candidate, double sample_ns) {
  Calibration calibration(sample_ns);
  while (!calibration.done()) {
    const SampleReply reply = worker.sample(candidate.id, {calibration.next_iterations(), 0});
    if (!reply.failure.empty()) return 1;
    calibration.add(reply.sample.iterations, reply.sample.elapsed_ns);
  }
  return calibration.iterations();
}

void sample_round(Worker& worker, std::vector<Candidate*>& order, std::uint64_t iterations) {
  std::vector<double> times(order.size(), 0);
  double fastest = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const SampleReply reply = worker.sample(order[i]->id, {iterations, 1});
    if (!reply.failure.empty() || !(reply.sample.elapsed_ns > 0)) {
      order[i]->out = true;
      continue;
    }
    times[i] = reply.sample.elapsed_ns / static_cast<double>(reply.sample.iterations);
    if (fastest == 0 || times[i] < fastest) fastest = times[i];
  }
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (times[i] > 0) order[i]->relative.push_back(times[i] / fastest);
  }
}

/// Slowness allowed relative to the best.
double allowed_slowdown(std::size_t rounds) {
  if (rounds < 3) return 2;
  if (rounds < 6) return 1.2;
  return rounds < 12 ? 1.08 : 1.03;
}

void drop_slow_candidates(std::vector<Candidate>& candidates, std::size_t rounds) {
  double best = 0;
  for (Candidate& candidate : candidates) {
    if (candidate.out) continue;
    candidate.median_relative = median(candidate.relative);
    if (best == 0 || candidate.median_relative < best) best = candidate.median_relative;
  }
  for (Candidate& candidate : candidates) {
    if (candidate.median_relative > best * allowed_slowdown(rounds)) candidate.out = true;
  }
}

std::vector<Candidate*> remaining_candidates(std::vector<Candidate>& candidates) {
  std::vector<Candidate*> left;
  for (Candidate& candidate : candidates) {
    if (!candidate.out) left.push_back(&candidate);
  }
  return left;
}

std::size_t race(Worker& worker, std::vector<Candidate>& candidates, const TuningRule& rule,
                 const std::atomic<bool>& interrupted) {
  const std::uint64_t iterations = calibrated(worker, candidates.front(), rule.sample_ns);
  std::mt19937_64 random(rule.seed);
  const double start = rule.now_ns();
  std::size_t rounds = 0;
  for (std::vector<Candidate*> order = remaining_candidates(candidates);
       !order.empty() && rounds < kMaxRounds; order = remaining_candidates(candidates)) {
    if (interrupted) throw Interrupted{};
    const double spent_ns = rule.now_ns() - start;
    if (rounds > 0 && spent_ns >= kServerTimeout * rule.max_time_ns) break;
    if (rounds >= kEnoughRounds && (spent_ns >= rule.max_time_ns || order.size() == 1)) break;
    std::ranges::shuffle(order, random);
    sample_round(worker, order, iterations);
    drop_slow_candidates(candidates, ++rounds);
  }
  return rounds;
}

}  // namespace

Calibration::Calibration(double target_ns) : target_ns_(target_ns) {
  if (!(target_ns > 0) || !std::isfinite(target_ns)) {
    throw std::invalid_argument("the target time of a sample must be positive");
  }
}

void Calibration::add(std::uint64_t iterations, double elapsed_ns, double waited_ns) {
  if (iterations == 0) throw std::invalid_argument("a reading needs at least one iteration");
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
    waits_ = true;  // a single reading may have been preempted
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

std::string tuning_key(const CaseSpec& spec) {
  std::string key = spec.experiment;
  for (const auto& [axis, value] : spec.axes) key += " " + axis + "=" + value;
  return key + " " + spec.backend + " " + std::to_string(spec.threads) +
         (spec.threads == 1 ? " thread " : " threads ") + (spec.caches == Caches::kCold ? "cold" : "hot");
}

std::optional<TuningResult> fastest_variant(Worker& worker, const PlannedCase& planned, int first_id,
                                            const TuningRule& rule, const std::atomic<bool>& interrupted) {
  std::vector<Candidate> candidates = prepare_all(worker, planned, first_id);
  if (candidates.empty()) return std::nullopt;
  const std::size_t rounds = race(worker, candidates, rule, interrupted);
  const auto time = [](const Candidate& candidate) {
    return candidate.out ? std::numeric_limits<double>::infinity() : candidate.median_relative;
  };
  const Candidate& best = *std::ranges::min_element(candidates, {}, time);
  for (const Candidate& candidate : candidates) {
    if (best.out || candidate.id != best.id) worker.release(candidate.id);
  }
  if (best.out) return std::nullopt;
  return TuningResult{best.variant, best.id, best.info, rounds >= kEnoughRounds};
}

}  // namespace headroom
