// SPDX-License-Identifier: Apache-2.0
// How often the intervals that headroom prints hold the truth, by simulation:
//
//     coverage [REPETITIONS]
//
// One row a scenario: how many samples, how often there was an interval, how often it held the true median
// (or ratio), and its mean width over that of the plain sign interval of the same values. Rows marked "*"
// must reach 93 % (less two standard errors of the simulation) or the program ends with 1; the others show
// where the method ends.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <numbers>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "headroom/stats/compare.h"
#include "headroom/stats/distribution.h"
#include "headroom/stats/interval.h"
#include "headroom/stats/quantile.h"
#include "headroom/stats/stopping.h"
#include "simulated_noise.h"

namespace {

using headroom::Interval;
using headroom::bench::Noise;
using Values = std::vector<double>;

constexpr double kGoal = 0.93;

double upper_tail(double z) {
  return 0.5 * std::erfc(z / std::numbers::sqrt2);
}

/// A marginal distribution as a function of a normal number, and its median.
struct Shape {
  const char* name;
  double median;
  std::function<double(double, Noise&)> value;
};

/// 100 +- 1, one in twenty three times as slow.
double spiky(double z, Noise& noise) {
  return (100 + z) * (noise.uniform() < 0.05 ? 3 : 1);
}

std::vector<Shape> shapes() {
  const double chi_squared_median = std::pow(headroom::normal_quantile(0.75), 2);
  return {
      {"normal", 0, [](double z, Noise&) { return z; }},
      {"lognormal", 1, [](double z, Noise&) { return std::exp(0.5 * z); }},
      {"exponential", std::numbers::ln2, [](double z, Noise&) { return -std::log(upper_tail(z)); }},
      // The square of a normal number: gamma with shape 1/2, a heavier tail than the exponential's.
      {"gamma", chi_squared_median,
       [](double z, Noise&) { return std::pow(headroom::normal_quantile(0.5 + 0.5 * upper_tail(-z)), 2); }},
      {"5 % spikes", 100 + headroom::normal_quantile(0.5 / 0.95), spiky}};
}

/// AR(1) series of normal numbers with standard deviation 1; rho = 1 is a random walk from 0.
Values ar1(std::size_t count, double rho, Noise& noise) {
  Values values(count);
  double z = rho < 1 ? noise.normal() : 0;
  for (double& value : values) {
    value = z;
    z = rho * z + (rho < 1 ? std::sqrt(1 - rho * rho) : 1) * noise.normal();
  }
  return values;
}

class Table {
 public:
  explicit Table(int repetitions) : repetitions_(repetitions) {
    std::printf("%-58s %5s %6s %8s %6s\n", "scenario", "n", "given", "coverage", "width");
  }

  /// `run` gives the interval, if any, and the plain one to hold its width against.
  template <typename Run>
  void row(const std::string& scenario, std::size_t count, bool binding, double truth, const Run& run) {
    int given = 0;
    int covered = 0;
    double width = 0;
    double plain_width = 0;
    for (int i = 0; i < repetitions_; ++i) {
      const std::pair<std::optional<Interval>, std::optional<Interval>> result = run();
      if (!result.first || !result.second) continue;
      ++given;
      covered += result.first->contains(truth) ? 1 : 0;
      width += result.first->high - result.first->low;
      plain_width += result.second->high - result.second->low;
    }
    const double coverage = given > 0 ? static_cast<double>(covered) / given : 0;
    const double error = std::sqrt(kGoal * (1 - kGoal) / std::max(1, given));
    const bool failed = binding && coverage < kGoal - 2 * error;
    failures_ += failed ? 1 : 0;
    std::printf("%-58s %5zu %6.3f %7.3f%s %6.2f%s\n", scenario.c_str(), count,
                static_cast<double>(given) / repetitions_, coverage, binding ? "*" : " ", width / plain_width,
                failed ? "  TOO LOW" : "");
    std::fflush(stdout);
  }

  int failures() const { return failures_; }

 private:
  int repetitions_;
  int failures_ = 0;
};

std::string with_rho(const std::string& name, double rho) {
  char text[64];
  std::snprintf(text, sizeof text, "%s, AR(1) rho %.1f", name.c_str(), rho);
  return text;
}

void one_process(Table& table, Noise& noise) {
  for (const Shape& shape : shapes()) {
    for (const double rho : {0.0, 0.3, 0.5, 0.7, 0.9}) {
      for (const std::size_t count : {6, 12, 20, 30, 50, 100, 200}) {
        if (count < 20 && rho > 0) continue;
        // Spikes inside a strongly correlated series hide the correlation.
        const bool binding = rho < 0.6 || (rho < 0.8 && count > 20 && shape.median < 50);
        table.row(with_rho(shape.name, rho), count, binding, shape.median, [&] {
          Values values = ar1(count, rho, noise);
          for (double& value : values) value = shape.value(value, noise);
          return std::pair(headroom::series_median_interval(values), headroom::median_interval(values));
        });
      }
    }
  }
}

void several_processes(Table& table, Noise& noise) {
  for (const double rho : {0.0, 0.5}) {
    for (const double between : {0.0, 0.3, 1.0, 3.0}) {
      for (const std::size_t processes : {2, 3, 4, 5, 8}) {
        const std::size_t each = 20;
        char name[96];
        std::snprintf(name, sizeof name, "%zu processes, sd between/within %.1f, AR(1) rho %.1f", processes,
                      between, rho);
        table.row(name, processes * each, true, 0, [&] {
          Values values;
          for (std::size_t process = 0; process < processes; ++process) {
            const double offset = between * noise.normal();
            for (const double z : ar1(each, rho, noise)) values.push_back(offset + z);
          }
          const std::vector<std::size_t> sizes(processes, each);
          return std::pair(headroom::series_median_interval(values, sizes),
                           headroom::median_interval(values));
        });
      }
    }
  }
}

/// Two equal programs under a drift that both share: coverage of the ratio 1 is 1 less the rate of false
/// alarms.
void equal_pairs(Table& table, Noise& noise) {
  for (const bool walk : {false, true}) {
    for (const double rho : {0.0, 0.3, 0.5}) {
      for (const std::size_t count : {10, 20, 50, 200}) {
        const auto drift = [&, walk, count] {
          Values level(count);
          if (walk) {
            level = ar1(count, 1, noise);
            for (double& value : level) value *= 0.01;
          } else {
            for (std::size_t i = 0; i < count; ++i) {
              level[i] = 0.2 * static_cast<double>(i) / static_cast<double>(count);
            }
          }
          return level;
        };
        const auto side = [&, rho](const Values& level) {
          Values values = ar1(level.size(), rho, noise);
          for (std::size_t i = 0; i < level.size(); ++i) values[i] = std::exp(level[i] + 0.01 * values[i]);
          return values;
        };
        const std::string name =
            std::string("A/A, ") + (walk ? "random walk of 1 %" : "linear drift of 20 %");
        table.row(with_rho(name + ", interleaved pairs", rho), count, count >= 20 || rho < 0.4, 1, [&] {
          const Values level = drift();
          const Values a = side(level);
          const Values b = side(level);
          Values ratios(count);
          for (std::size_t i = 0; i < count; ++i) ratios[i] = a[i] / b[i];
          return std::pair(headroom::paired_ratio(a, b).interval, headroom::median_interval(ratios));
        });
        table.row(with_rho(name + ", one block each", rho), count, false, 1, [&] {
          Values level = drift();
          const Values a = side(level);
          const double end = level.back();
          level = drift();
          for (double& value : level) value += end;
          const auto interval = headroom::unpaired_ratio(a, side(level)).interval;
          return std::pair(interval, interval);
        });
      }
    }
  }
}

/// Coverage of the interval that sampling ends with, under the default rule, looked at after every sample.
void stopping(Table& table, Noise& noise) {
  for (const bool skewed : {false, true}) {
    for (const double rho : {0.0, 0.3, 0.5}) {
      for (const double sd : {0.005, 0.01, 0.02, 0.03}) {
        headroom::StopRule rule;
        rule.max_samples = 400;
        char name[96];
        std::snprintf(name, sizeof name, "stop at 1 %%, %s noise of %.1f %%", skewed ? "lognormal" : "normal",
                      100 * sd);
        table.row(with_rho(name, rho), rule.max_samples, rho < 0.4, 1, [&] {
          headroom::Stopping stop(rule);
          const Values series = ar1(rule.max_samples, rho, noise);
          Values values;
          std::optional<Interval> interval;
          for (const double z : series) {
            values.push_back(skewed ? std::exp(sd * z) + sd * (std::exp(z) - 1) : 1 + sd * z);
            if (values.size() < rule.min_samples) continue;
            interval = headroom::series_median_interval(values);
            headroom::StopState state{values.size(), 0, std::nullopt};
            if (interval)
              state.relative_half_width = relative_half_width(*interval, headroom::median(values));
            if (stop.check(state)) break;
          }
          return std::pair(interval, headroom::median_interval(values));
        });
      }
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  const int repetitions = argc > 1 ? std::atoi(argv[1]) : 3000;
  if (repetitions < 1) {
    std::fprintf(stderr, "usage: coverage [REPETITIONS]: a whole number from 1 on\n");
    return 2;
  }
  Noise noise;
  Table table(repetitions);
  one_process(table, noise);
  several_processes(table, noise);
  equal_pairs(table, noise);
  Table sequential(std::max(1, repetitions / 4));
  stopping(sequential, noise);
  return table.failures() + sequential.failures() > 0 ? 1 : 0;
}
