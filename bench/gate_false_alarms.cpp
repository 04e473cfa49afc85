// SPDX-License-Identifier: Apache-2.0
// Error rates of the gate of `headroom diff` on synthetic suites of 50 cases.
//
//   bench_gate_false_alarms [SUITES]     default 1000
//
// False alarms are counted at margin 0, the worst case. A gate can only find a change that exceeds its margin
// by the half-width of the interval at the corrected level (.001 for 50 cases): about 1.3 % for 30 pairs with
// 1 % of noise on each side. Compared with Mann and Whitney's test of all samples with Holm's correction,
// which has no margin.
#include <cstdio>
#include <cstdlib>

#include "synthetic_suite.h"

namespace {

using headroom::bench::count_regressions;
using headroom::bench::SuiteModel;

struct Scenario {
  const char* name;
  SuiteModel model;
  double margin = 0;
};

double percent(std::size_t count, std::size_t of) {
  return 100 * static_cast<double>(count) / static_cast<double>(of);
}

}  // namespace

int main(int argc, char** argv) {
  const std::size_t suites = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 1000;
  const Scenario alike[] = {
      {"30 pairs", {}},
      {"100 pairs", {.rounds = 100}},
      {"5 % spikes of twice the time, 30 pairs", {.spikes = 0.05}},
      {"neighbours correlated by .3, 30 pairs", {.correlation = 0.3}},
      {"neighbours correlated by .5, 30 pairs", {.correlation = 0.5}},
      {"neighbours correlated by .3, 60 pairs", {.rounds = 60, .correlation = 0.3}},
      {"neighbours correlated by .5, 60 pairs", {.rounds = 60, .correlation = 0.5}},
      {"the same with a margin of 0.5 %", {.rounds = 60, .correlation = 0.5}, 0.005},
      {"5 processes off by 1 %, 60 pairs", {.rounds = 60, .processes = 5, .process_noise = 0.01}},
      {"8 processes off by 1 %, 64 pairs", {.rounds = 64, .processes = 8, .process_noise = 0.01}},
      {"unpaired, 30 of each", {.paired = false}},
      {"unpaired, 5 processes off by 1 %, 60 of each",
       {.rounds = 60, .processes = 5, .process_noise = 0.01, .paired = false}},
      {"runs off by 0.5 %, 12 earlier runs", {.paired = false, .run_noise = 0.005, .earlier_runs = 12}},
      {"runs off by 1 %, 12 earlier runs", {.paired = false, .run_noise = 0.01, .earlier_runs = 12}},
      {"runs off by 2 %, 12 earlier runs", {.paired = false, .run_noise = 0.02, .earlier_runs = 12}},
      {"runs off by 1 %, 4 earlier runs", {.paired = false, .run_noise = 0.01, .earlier_runs = 4}},
      {"runs off by 1 %, 5 runs of each side", {.paired = false, .run_noise = 0.01, .runs = 5}},
      {"runs off by 1 %, spread given as 0", {.paired = false, .run_noise = 0.01}, 0.01},
  };
  const Scenario slower[] = {
      {"30 pairs, margin 0", {.slowdown = 0.03}},
      {"1.5 % slower, 30 pairs, margin 0", {.slowdown = 0.015}},
      {"1.5 % slower, 60 pairs, margin 0", {.rounds = 60, .slowdown = 0.015}},
      {"30 pairs, 5 % spikes of twice the time, margin 0", {.spikes = 0.05, .slowdown = 0.03}},
      {"60 pairs, neighbours correlated by .5, margin 0",
       {.rounds = 60, .correlation = 0.5, .slowdown = 0.03}},
      {"30 pairs, margin 0.5 %", {.slowdown = 0.03}, 0.005},
      {"30 pairs, margin 1 %", {.slowdown = 0.03}, 0.01},
      {"40 pairs, margin 1 %", {.rounds = 40, .slowdown = 0.03}, 0.01},
      {"unpaired, 30 of each, margin 0.5 %", {.slowdown = 0.03, .paired = false}, 0.005},
      {"10 % slower, runs off by 1 %, 12 earlier runs, margin 3 %",
       {.slowdown = 0.10, .paired = false, .run_noise = 0.01, .earlier_runs = 12},
       0.03},
      {"10 % slower, runs off by 1 %, 5 runs of each side, margin 3 %",
       {.slowdown = 0.10, .paired = false, .run_noise = 0.01, .runs = 5},
       0.03},
      {"10 % slower, 9 cases, runs off by 1 %, 12 earlier, 3 %",
       {.cases = 9, .slowdown = 0.10, .paired = false, .run_noise = 0.01, .earlier_runs = 12},
       0.03},
  };
  std::printf("%zu suites of 50 cases each, 1 %% noise, alpha .05 (Holm)\n\n", suites);
  std::printf("nothing differs: suites with a false regression\n");
  for (const Scenario& scenario : alike) {
    const auto counts = count_regressions(scenario.model, scenario.margin, suites, 1);
    std::printf("  %-48s %6.2f %%, by Mann and Whitney %6.2f %%\n", scenario.name,
                percent(counts.any, suites), percent(counts.any_by_ranks, suites));
    std::fflush(stdout);
  }
  std::printf("\none case of 50 is 3 %% slower: found\n");
  for (const Scenario& scenario : slower) {
    const auto counts = count_regressions(scenario.model, scenario.margin, suites, 1'000'000);
    std::printf("  %-60s %6.2f %%, another case flagged in %.2f %%, found by Mann and Whitney %6.2f %%\n",
                scenario.name, percent(counts.first, suites), percent(counts.any - counts.first, suites),
                percent(counts.first_by_ranks, suites));
    std::fflush(stdout);
  }
  return 0;
}
