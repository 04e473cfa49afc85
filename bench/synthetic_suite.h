// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numbers>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "headroom/compare/match.h"
#include "headroom/compare/verdict.h"
#include "headroom/stats/compare.h"
#include "headroom/stats/quantile.h"
#include "mann_whitney.h"

namespace headroom::bench {

/// Distribution of run-to-run errors, scaled to standard deviation 1.
enum class RunTail {
  kNormal,
  kStudent,   ///< t with 3 degrees of freedom
  kOutliers,  ///< a tenth of runs, four times as far off
  kSlow       ///< exponential: some runs are slow, none is fast
};

struct SuiteModel {
  std::size_t cases = 50;
  std::size_t rounds = 30;    ///< samples of each case on each side
  std::size_t processes = 1;  ///< processes that share the rounds
  double noise = 0.01;        ///< standard deviation of a sample's logarithm
  double spikes = 0;          ///< share of samples that take twice as long
  double correlation = 0;     ///< AR(1) coefficient of neighbours
  double process_noise = 0;   ///< standard deviation between processes
  double slowdown = 0;        ///< of the first case of the test: .03 is 3 %
  bool paired = true;
  double run_noise = 0;          ///< run-to-run standard deviation, independent by case
  std::size_t earlier_runs = 0;  ///< known to the gate; 0: it assumes no spread
  std::size_t runs = 1;          ///< a side; several: the gate estimates the spread
  RunTail run_tail = RunTail::kNormal;
  bool spread_unknown = false;
};

/// Noise in all cases, `slowdown` in the first.
class SyntheticSuite {
 public:
  SyntheticSuite(const SuiteModel& model, std::uint64_t seed) : model_(model), engine_(seed) {
    const auto session = environment(1);
    const auto other = model_.paired ? session : environment(2);
    for (std::size_t i = 0; i < model_.cases; ++i) {
      for (std::size_t run = 0; run < model_.runs; ++run) {
        baseline.push_back(record(i, 1, session));
        test.push_back(record(i, i == 0 ? 1 + model_.slowdown : 1, other));
      }
      const bool told = !model_.paired && model_.runs == 1 && !model_.spread_unknown;
      known_.push_back(told ? knowledge_of(i) : RunKnowledge{});
    }
    if (model_.runs == 1) return;
    baseline = join_duplicates(std::move(baseline)).records;
    test = join_duplicates(std::move(test)).records;
  }

  std::vector<Record> baseline, test;

  std::vector<Comparison> judged(double margin) const {
    std::vector<Comparison> comparisons;
    for (const auto& [before, after] : match_records(baseline, test).pairs) {
      comparisons.push_back(
          compare_records(*before, *after, known_[static_cast<std::size_t>(before - baseline.data())]));
    }
    JudgeRule rule;
    rule.margins.overall = margin;
    rule.multiplicity = Multiplicity::kHolm;
    judge(comparisons, rule);
    return comparisons;
  }

  /// "Test is slower" by case: Mann and Whitney's test, Holm-adjusted.
  std::vector<double> holm_mann_whitney() const;

 private:
  RunKnowledge knowledge_of(std::size_t index) {
    if (model_.earlier_runs == 0) return {RunSpread{0, 1000}, std::nullopt, "told"};
    std::vector<std::vector<double>> earlier(1);
    for (std::size_t run = 0; run < model_.earlier_runs; ++run)
      earlier[0].push_back(median(steady(record(index, 1, nullptr)).values));
    return {run_spread(earlier), std::nullopt, "earlier runs"};
  }

  static std::shared_ptr<const Environment> environment(std::uint64_t second) {
    auto made = std::make_shared<Environment>();
    made->timestamp = second;
    made->fingerprint = "synthetic";
    return made;
  }

  double uniform() { return (static_cast<double>(engine_() >> 11) + 0.5) * 0x1p-53; }
  double normal() { return std::sqrt(-2 * std::log(uniform())) * std::cos(2 * std::numbers::pi * uniform()); }

  double run_offset() {
    switch (model_.run_tail) {
      case RunTail::kStudent: {
        const double z = normal(), a = normal(), b = normal(), c = normal();
        return z / std::sqrt((a * a + b * b + c * c) / 3) / std::numbers::sqrt3;
      }
      case RunTail::kOutliers:
        return normal() * (uniform() < 0.1 ? 4 : 1) / std::sqrt(0.9 + 0.1 * 16);
      case RunTail::kSlow:
        return -std::log(uniform()) - 1;
      case RunTail::kNormal:
        break;
    }
    return normal();
  }

  Record record(std::size_t index, double factor, std::shared_ptr<const Environment> session) {
    Record record;
    record.model.name = "case" + std::to_string(index);
    record.metric.name = "latency";
    record.metric.unit = "us";
    record.environment = std::move(session);
    double state = normal();
    const double run_off = model_.paired ? 0 : model_.run_noise * run_offset();
    std::uint32_t round = 0;
    for (std::size_t p = 0; p < model_.processes; ++p) {
      ProcessSamples process;
      const double off = model_.process_noise * normal();
      const std::size_t end = model_.rounds * (p + 1) / model_.processes;
      while (round < end) {
        const double spike = uniform() < model_.spikes ? 2 : 1;
        process.values.push_back(100 * factor * spike * std::exp(model_.noise * state + off + run_off));
        process.rounds.push_back(round++);
        state =
            model_.correlation * state + std::sqrt(1 - model_.correlation * model_.correlation) * normal();
      }
      record.samples.push_back(std::move(process));
    }
    estimate(record);
    return record;
  }

  SuiteModel model_;
  std::mt19937_64 engine_;
  std::vector<RunKnowledge> known_;  ///< by case
};

inline std::vector<double> SyntheticSuite::holm_mann_whitney() const {
  std::vector<double> p_values;
  for (std::size_t i = 0; i < baseline.size(); ++i) {
    const double z = mann_whitney_z(steady(baseline[i]).values, steady(test[i]).values);
    p_values.push_back(0.5 * std::erfc(z / std::numbers::sqrt2));
  }
  return holm_adjusted(p_values);
}

/// Suites with any regression, and with one in the first case; by the gate, and by Mann and Whitney's test
/// with Holm's correction.
struct GateCounts {
  std::size_t any = 0, first = 0;
  std::size_t first_improved = 0;
  std::size_t any_by_ranks = 0, first_by_ranks = 0;
};

inline GateCounts count_regressions(const SuiteModel& model, double margin, std::size_t suites,
                                    std::uint64_t first_seed) {
  GateCounts counts;
  for (std::size_t s = 0; s < suites; ++s) {
    const SyntheticSuite suite(model, first_seed + s);
    const std::vector<Comparison> judged = suite.judged(margin);
    if (gate_result(judged, 0).exit == ExitCode::kFailure) ++counts.any;
    if (judged.front().verdict == Verdict::kRegression) ++counts.first;
    if (judged.front().verdict == Verdict::kImprovement) ++counts.first_improved;
    const std::vector<double> by_ranks = suite.holm_mann_whitney();
    if (std::ranges::min(by_ranks) <= 0.05) ++counts.any_by_ranks;
    if (by_ranks.front() <= 0.05) ++counts.first_by_ranks;
  }
  return counts;
}

}  // namespace headroom::bench
