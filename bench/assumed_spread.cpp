// SPDX-License-Identifier: Apache-2.0
// Error rates of a gate of 3 % on two files whose run-to-run spread is unknown and assumed
// (kAssumedRunSpread): ten samples a side with 1 % of noise, true run-to-run spread 0.5 to 16 %. Prints the
// rows of docs/results/gate_error_rates.md.
//
//   bench_assumed_spread [GATES]     default 20000 of one case; a fifth of 10 cases, a twentieth of 50
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "headroom/compare/compared_ratio.h"
#include "headroom/stats/interval.h"
#include "synthetic_suite.h"

namespace {

using namespace headroom;
using bench::count_regressions;
using bench::RunTail;
using bench::SuiteModel;

constexpr double kGate = 0.03;
constexpr double kSpreads[] = {0.005, 0.01, 0.02, 0.04, 0.08, 0.16};
constexpr std::pair<const char*, RunTail> kTails[] = {
    {"normal", RunTail::kNormal},
    {"Student's t, 3 degrees", RunTail::kStudent},
    {"one run of ten off 4 times as far", RunTail::kOutliers},
    {"exponential: some runs slow", RunTail::kSlow}};

SuiteModel model_of(RunTail tail, double spread, std::size_t cases, double change) {
  return {.cases = cases,
          .rounds = 10,
          .slowdown = change,
          .paired = false,
          .run_noise = std::log1p(spread),
          .run_tail = tail,
          .spread_unknown = true};
}

double percent(std::size_t count, std::size_t of) {
  return 100 * static_cast<double>(count) / static_cast<double>(of);
}

template <typename Share>
void print_rows(const char* title, Share share) {
  std::printf("\n| %s | 0.5 %% | 1 %% | 2 %% | 4 %% | 8 %% | 16 %% |\n|---|---|---|---|---|---|---|\n",
              title);
  for (const auto& [name, tail] : kTails) {
    std::printf("| %s |", name);
    for (const double spread : kSpreads) {
      std::printf(" %.1f %% |", share(tail, spread));
      std::fflush(stdout);
    }
    std::printf("\n");
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::size_t gates = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 20'000;
  for (const std::size_t cases : {1, 10, 50}) {
    const std::size_t suites = std::max<std::size_t>(1, cases == 1 ? gates : 2 * gates / cases);
    char title[80];
    std::snprintf(title, sizeof title, "nothing differs, %zu case%s: false alarms of %zu gates", cases,
                  cases == 1 ? "" : "s", suites);
    print_rows(title, [&](RunTail tail, double spread) {
      return percent(count_regressions(model_of(tail, spread, cases, 0), kGate, suites, 1).any, suites);
    });
  }
  const double twice = 2 * run_half_width(kAssumedRunSpread, 1, 1, kRatioConfidence);
  const double by_spread = kAssumedSpread * 2;
  for (const auto& [title, factor] : {std::pair{"slower by twice the prior (2.28 x): found", std::exp(twice)},
                                      {"slower by a factor of 2: found", 2.0},
                                      {"slower by 32 %: found", 1 + by_spread}}) {
    print_rows(title, [&, factor = factor](RunTail tail, double spread) {
      return percent(count_regressions(model_of(tail, spread, 1, factor - 1), kGate, gates, 1'000'000).first,
                     gates);
    });
  }
  print_rows("faster by twice the prior: found", [&](RunTail tail, double spread) {
    return percent(count_regressions(model_of(tail, spread, 1, std::exp(-twice) - 1), kGate, gates, 1'000'000)
                       .first_improved,
                   gates);
  });
  return 0;
}
