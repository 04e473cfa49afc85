// SPDX-License-Identifier: Apache-2.0
// False alarms and power of mode detection, by simulation.
//
//   modes [REPETITIONS]      the results; exits with 1 if a goal is missed
//   modes table [MILLIONS]   the critical dips for src/headroom/stats/modes.cpp
//
// Goal: at most 1 % of samples of a unimodal distribution fall into groups, also with a correlation of
// neighbours up to 0.5 (AR(1)).
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "headroom/stats/modes.h"
#include "simulated_noise.h"

namespace {

using headroom::bench::Noise;
using Values = std::vector<double>;

struct Scenario {
  const char* name;
  bool has_goal;
  std::function<Values(std::size_t, Noise&)> series;
};

Scenario independent(const char* name, const std::function<double(Noise&)>& value) {
  return {name, true, [value](std::size_t count, Noise& noise) {
            Values values(count);
            std::ranges::generate(values, [&] { return value(noise); });
            return values;
          }};
}

Scenario correlated(const char* name, double rho, bool has_goal) {
  return {name, has_goal, [rho](std::size_t count, Noise& noise) {
            Values values(count);
            double state = noise.normal();
            for (double& value : values) {
              value = 10 + state;
              state = rho * state + std::sqrt(1 - rho * rho) * noise.normal();
            }
            return values;
          }};
}

std::vector<Scenario> one_mode() {
  return {
      independent("normal", [](Noise& noise) { return 10 + noise.normal(); }),
      independent("uniform", [](Noise& noise) { return 10 + noise.uniform(); }),
      independent("lognormal, sigma 0.3", [](Noise& noise) { return std::exp(0.3 * noise.normal()); }),
      independent("lognormal, sigma 1", [](Noise& noise) { return std::exp(noise.normal()); }),
      independent("exponential", [](Noise& noise) { return 1 - std::log(noise.uniform()); }),
      independent("Pareto, shape 1", [](Noise& noise) { return 1 / noise.uniform(); }),
      independent("5 % take three times as long",
                  [](Noise& noise) { return (10 + noise.normal()) * (noise.uniform() < 0.05 ? 3 : 1); }),
      independent("coarse clock, 5 readings", [](Noise& noise) { return 10 + std::round(noise.normal()); }),
      independent("coarse clock, 25 readings",
                  [](Noise& noise) { return 10 + std::round(5 * noise.normal()) / 5; }),
      correlated("AR(.5)", 0.5, true),
      correlated("AR(.7)", 0.7, false),
      correlated("AR(.9)", 0.9, false),
  };
}

constexpr std::array<std::size_t, 7> kCounts{10, 20, 30, 50, 100, 300, 1000};

bool false_alarms(int repetitions) {
  bool good = true;
  std::printf("samples with one mode reported as groups (goal for *: at most 1 %%), of %d each\n%-34s",
              repetitions, "");
  for (const std::size_t count : kCounts) std::printf("  n=%-6zu", count);
  std::printf("\n");
  for (const Scenario& scenario : one_mode()) {
    std::printf("%-32s %c", scenario.name, scenario.has_goal ? '*' : ' ');
    for (const std::size_t count : kCounts) {
      Noise noise;
      int wrong = 0;
      for (int i = 0; i < repetitions; ++i)
        wrong += headroom::find_modes(scenario.series(count, noise)).groups.empty() ? 0 : 1;
      const double share = static_cast<double>(wrong) / repetitions;
      good = good && (!scenario.has_goal || share <= 0.01);
      std::printf("  %5.2f %% ", 100 * share);
    }
    std::printf("\n");
  }
  return good;
}

/// The upper group has `share`; 2 % are spikes of three times the value.
void power(int repetitions) {
  std::printf("\ntwo groups reported as two with shares within 0.1, of %d each\n%-34s", repetitions, "");
  for (const std::size_t count : kCounts) std::printf("  n=%-6zu", count);
  std::printf("\n");
  for (const double deviations : {4.0, 6.0, 10.0, 20.0}) {
    for (const double share : {0.5, 0.3, 0.15}) {
      std::printf("%4.0f sd apart, %3.0f %% in the upper  ", deviations, 100 * share);
      for (const std::size_t count : kCounts) {
        Noise noise;
        int found = 0;
        for (int i = 0; i < repetitions; ++i) {
          Values values(count);
          for (double& value : values) {
            value = 100 + noise.normal() + (noise.uniform() < share ? deviations : 0);
            value *= noise.uniform() < 0.02 ? 3 : 1;
          }
          const headroom::Modes modes = headroom::find_modes(values);
          found += modes.groups.size() == 2 && std::abs(modes.groups[1].share - share) < 0.1 ? 1 : 0;
        }
        std::printf("  %5.1f %% ", 100.0 * found / repetitions);
      }
      std::printf("\n");
    }
  }
}

void print_table(double millions) {
  for (const std::size_t count :
       {8, 9, 10, 11, 12, 14, 16, 18, 20, 25, 30, 40, 50, 70, 100, 150, 200, 300, 500, 1000, 2000, 5000}) {
    Noise noise;
    const double n = static_cast<double>(count);
    Values dips(static_cast<std::size_t>(std::min(1e6 * millions, 5e8 * millions / n))), values(count);
    for (double& dip : dips) {
      std::ranges::generate(values, [&] { return noise.uniform(); });
      std::ranges::sort(values);
      dip = headroom::dip_of(values).statistic;
    }
    std::ranges::sort(dips);
    const auto rank = static_cast<std::size_t>(0.995 * static_cast<double>(dips.size()));
    std::printf("{%zu, %.4f},  of %zu\n", count, dips[rank] * std::sqrt(n), dips.size());
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::string(argv[1]) == "table") {
    print_table(argc > 2 ? std::atof(argv[2]) : 0.4);
    return 0;
  }
  const int repetitions = argc > 1 ? std::atoi(argv[1]) : 10000;
  const bool good = false_alarms(repetitions);
  power(repetitions);
  return good ? 0 : 1;
}
