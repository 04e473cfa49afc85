// SPDX-License-Identifier: Apache-2.0
// How often change points are seen where there are none, and how soon where there is one, by simulation:
//
//     changepoints [REPETITIONS]      the figures; ends with 1 where a goal is missed
//     changepoints table [MILLIONS]   the critical values for src/headroom/stats/changepoint.cpp
//
// Goals: independent, skewed and spiky series without a change get one in at most 1 % of the series; a step
// of three standard deviations is found in at least 90 % within 8 values.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "headroom/stats/changepoint.h"
#include "simulated_noise.h"

namespace {

using headroom::bench::Noise;
using Values = std::vector<double>;

struct Scenario {
  const char* name;
  bool has_goal;
  std::function<Values(std::size_t, Noise&)> series;
};

Values filled(std::size_t count, const std::function<double()>& value) {
  Values values(count);
  std::generate(values.begin(), values.end(), value);
  return values;
}

Values autoregressive(std::size_t count, double rho, Noise& noise) {
  double state = noise.normal();
  return filled(count, [&] {
    const double value = state;
    state = rho * state + std::sqrt(1 - rho * rho) * noise.normal();
    return value;
  });
}

std::vector<Scenario> scenarios() {
  const auto normal = [](std::size_t count, Noise& noise) {
    return filled(count, [&] { return noise.normal(); });
  };
  return {
      {"independent", true, normal},
      {"lognormal", true,
       [](std::size_t n, Noise& noise) { return filled(n, [&] { return std::exp(noise.normal()); }); }},
      {"exponential", true,
       [](std::size_t n, Noise& noise) { return filled(n, [&] { return -std::log(noise.uniform()); }); }},
      {"spike at the end", true,
       [normal](std::size_t n, Noise& noise) {
         Values values = normal(n, noise);
         values.back() = 100;
         return values;
       }},
      {"two spikes at the end", true,
       [normal](std::size_t n, Noise& noise) {
         Values values = normal(n, noise);
         values[n - 1] = values[n - 2] = 100;
         return values;
       }},
      {"coarse clock (4 values)", true,
       [](std::size_t n, Noise& noise) { return filled(n, [&] { return std::round(noise.normal()); }); }},
      {"AR(.3)", false, [](std::size_t n, Noise& noise) { return autoregressive(n, 0.3, noise); }},
      {"AR(.5)", false, [](std::size_t n, Noise& noise) { return autoregressive(n, 0.5, noise); }},
      {"AR(.7)", false, [](std::size_t n, Noise& noise) { return autoregressive(n, 0.7, noise); }},
  };
}

bool false_changes(int repetitions) {
  bool good = true;
  std::printf("series without a change that get one (goal for *: at most 1 %%), of %d each\n%-26s",
              repetitions, "");
  const std::vector<std::size_t> counts{20, 50, 100, 200, 500};
  for (const std::size_t count : counts) std::printf("  n=%-6zu", count);
  std::printf("\n");
  for (const Scenario& scenario : scenarios()) {
    std::printf("%-24s %c", scenario.name, scenario.has_goal ? '*' : ' ');
    for (const std::size_t count : counts) {
      Noise noise;
      int wrong = 0;
      for (int i = 0; i < repetitions; ++i) {
        wrong += !headroom::change_points(scenario.series(count, noise)).empty();
      }
      const double share = static_cast<double>(wrong) / repetitions;
      good = good && (!scenario.has_goal || share <= 0.01);
      std::printf("  %5.2f %% ", 100 * share);
    }
    std::printf("\n");
  }
  return good;
}

/// The share of series of `before` steady values and `after` values beyond the step in which a change was
/// seen at most four values off its place.
double found_within(std::size_t before, std::size_t after, double step, double rho, int repetitions) {
  Noise noise;
  int found = 0;
  for (int i = 0; i < repetitions; ++i) {
    Values values = autoregressive(before + after, rho, noise);
    for (std::size_t k = before; k < values.size(); ++k) values[k] += step;
    const std::vector<headroom::ChangePoint> changes = headroom::change_points(values);
    found += std::any_of(changes.begin(), changes.end(), [&](const headroom::ChangePoint& change) {
      return change.index + 4 >= before && change.index <= before + 4;
    });
  }
  return static_cast<double>(found) / repetitions;
}

/// A level that rises by three deviations in the middle third and comes back: how often both changes are
/// found.
void excursions(int repetitions) {
  std::printf("\na third of the series lies 3 sd higher, then all is as before: both changes found\n");
  for (const std::size_t count : {30, 60, 120, 300}) {
    Noise noise;
    int found = 0;
    for (int i = 0; i < repetitions; ++i) {
      Values values = autoregressive(count, 0, noise);
      for (std::size_t k = count / 3; k < 2 * count / 3; ++k) values[k] += 3;
      found += headroom::change_points(values).size() == 2;
    }
    std::printf("n=%-4zu %5.1f %%\n", count, 100.0 * found / repetitions);
  }
}

bool true_changes(int repetitions) {
  bool good = true;
  std::printf(
      "\nsteps found at their place (give or take 4 values) by the value after them, of %d each\n%-26s",
      repetitions, "");
  const std::vector<std::size_t> delays{5, 6, 7, 8, 10, 15, 20};
  for (const std::size_t delay : delays) std::printf("  +%-6zu", delay);
  std::printf("\n");
  for (const double rho : {0.0, 0.3}) {
    for (const double step : {2.0, 3.0, 5.0}) {
      for (const std::size_t before : {20, 40, 100, 200}) {
        const bool has_goal = step == 3 && rho == 0;
        std::printf("%.0f sd after %3zu, AR(%.1f)%s", step, before, rho, has_goal ? "   *" : "    ");
        for (const std::size_t delay : delays) {
          const double share = found_within(before, delay, step, rho, repetitions);
          good = good && (!has_goal || delay != 8 || share >= 0.9);
          std::printf("  %5.1f %%", 100 * share);
        }
        std::printf("\n");
      }
    }
  }
  return good;
}

/// The smallest value that at most `share` of `values` exceed.
double upper_quantile(Values& values, double share) {
  const auto beyond = static_cast<std::ptrdiff_t>(std::floor(share * static_cast<double>(values.size())));
  std::nth_element(values.begin(), values.end() - 1 - beyond, values.end());
  return *(values.end() - 1 - beyond);
}

/// The largest `statistic` of many random orders of `count` values.
template <typename Statistic>
Values null_distribution(std::size_t count, double repetitions, Noise& noise, Statistic statistic) {
  Values order(count), largest(static_cast<std::size_t>(repetitions));
  std::iota(order.begin(), order.end(), 1.0);
  for (double& z : largest) {
    for (std::size_t i = count; i > 1; --i) std::swap(order[i - 1], order[noise.below(i)]);
    z = statistic(order);
  }
  return largest;
}

void print_table(double millions) {
  std::vector<std::size_t> counts;
  for (std::size_t count = 14; count < 30; ++count) counts.push_back(count);
  for (const std::size_t count : {30, 35, 40, 50, 60, 80, 100, 150, 200, 300, 500, 1000, 2000, 5000, 10000}) {
    counts.push_back(count);
  }
  Noise noise;
  std::printf("one cut\n");
  for (const std::size_t count : counts) {
    // The tail is as well known with fewer series where they are long: the statistic is smoother.
    const double repetitions = millions * 1e6 * std::min(1.0, 1000 / static_cast<double>(count));
    Values largest = null_distribution(count, repetitions, noise, [](const Values& order) {
      return headroom::largest_rank_shift(order)->z;
    });
    const double suspected = upper_quantile(largest, 0.01);
    std::printf("    {%zu, %.3f, %.3f},\n", count, suspected + 5e-4, upper_quantile(largest, 0.001) + 5e-4);
    std::fflush(stdout);
  }
  std::printf("excursion\n");
  for (const std::size_t count : {14, 16, 18, 20, 25, 30, 40, 60, 80, 100, 150, 200, 300, 500, 1000}) {
    const double n = static_cast<double>(count);
    Values largest =
        null_distribution(count, millions * 1e6 * std::min(0.4, 20 / n), noise,
                          [](const Values& order) { return headroom::largest_rank_excursion(order).z; });
    std::printf("    {%zu, %.3f},\n", count, upper_quantile(largest, 0.001) + 5e-4);
    std::fflush(stdout);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::string(argv[1]) == "table") {
    print_table(argc > 2 ? std::atof(argv[2]) : 1);
    return 0;
  }
  const int repetitions = argc > 1 ? std::atoi(argv[1]) : 10000;
  if (repetitions < 1) {
    std::fputs("usage: changepoints [REPETITIONS] | table [MILLIONS]\n", stderr);
    return 2;
  }
  const bool few_false = false_changes(repetitions);
  const bool soon_found = true_changes(repetitions);
  excursions(repetitions);
  std::printf("\n%s\n", few_false && soon_found ? "every goal is reached" : "a goal is missed");
  return few_false && soon_found ? 0 : 1;
}
