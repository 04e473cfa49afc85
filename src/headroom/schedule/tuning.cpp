// SPDX-License-Identifier: Apache-2.0
#include "headroom/schedule/tuning.h"

#include <algorithm>
#include <limits>
#include <random>
#include <vector>

#include "headroom/schedule/calibration.h"
#include "headroom/stats/quantile.h"

namespace headroom {
namespace {

/// Rounds after which a choice is worth remembering, and after which more would not change it.
constexpr std::size_t kEnoughRounds = 5, kMostRounds = 40;
/// Where the time is up before there were enough rounds, it is worth going on for this multiple of it: else
/// every run would choose anew.
constexpr double kPatience = 3;

struct Candidate {
  std::string variant;
  int id = 0;
  CaseInfo info;
  std::vector<double>
      relative;  ///< time over the fastest of the same round: the machine drifts, the rounds do not
  double median_relative = 1;
  bool out = false;
};

std::vector<Candidate> prepare_all(Worker& worker, const PlannedCase& planned, int first_id) {
  std::vector<Candidate> candidates;
  int id = first_id;
  for (const std::string& variant : planned.variants) {
    CaseSpec spec = planned.spec;
    spec.variant = variant;
    spec.keep_wrong = false;  // what is wrong is not chosen for being fast
    PrepareReply reply = worker.prepare(id, spec);
    if (reply.outcome.kind == Outcome::Kind::kMeasured) {
      candidates.push_back({variant, id, std::move(reply.info), {}});
    }
    ++id;
  }
  return candidates;
}

/// One count of iterations for all of them: what the first needs.
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

/// How far behind the best a candidate may be after so many rounds.
double slack_after(std::size_t rounds) {
  if (rounds < 3) return 2;
  if (rounds < 6) return 1.2;
  return rounds < 12 ? 1.08 : 1.03;
}

void leave_out_the_slow(std::vector<Candidate>& candidates, std::size_t rounds) {
  double best = 0;
  for (Candidate& candidate : candidates) {
    if (candidate.out) continue;
    candidate.median_relative = median(candidate.relative);
    if (best == 0 || candidate.median_relative < best) best = candidate.median_relative;
  }
  for (Candidate& candidate : candidates) {
    if (candidate.median_relative > best * slack_after(rounds)) candidate.out = true;
  }
}

std::vector<Candidate*> in_the_race(std::vector<Candidate>& candidates) {
  std::vector<Candidate*> left;
  for (Candidate& candidate : candidates) {
    if (!candidate.out) left.push_back(&candidate);
  }
  return left;
}

/// Rounds until the time is up, or one is left, but enough of them where patience allows.
std::size_t race(Worker& worker, std::vector<Candidate>& candidates, const TuningRule& rule,
                 const std::atomic<bool>& interrupted) {
  const std::uint64_t iterations = calibrated(worker, candidates.front(), rule.sample_ns);
  std::mt19937_64 random(rule.seed);
  const double start = rule.now_ns();
  std::size_t rounds = 0;
  for (std::vector<Candidate*> order = in_the_race(candidates); !order.empty() && rounds < kMostRounds;
       order = in_the_race(candidates)) {
    if (interrupted) throw Interrupted{};
    const double spent_ns = rule.now_ns() - start;
    if (rounds > 0 && spent_ns >= kPatience * rule.max_time_ns) break;
    if (rounds >= kEnoughRounds && (spent_ns >= rule.max_time_ns || order.size() == 1)) break;
    std::ranges::shuffle(order, random);
    sample_round(worker, order, iterations);
    leave_out_the_slow(candidates, ++rounds);
  }
  return rounds;
}

}  // namespace

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
