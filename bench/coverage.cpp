// SPDX-License-Identifier: Apache-2.0
// Coverage of headroom's intervals, by simulation.
//
//   coverage [REPETITIONS]
//
// One row per scenario: number of samples; share without an interval; coverage of the intervals given
// (median, percentile or ratio); share of all series with a wrong interval; mean width relative to the named
// one (default: the plain order-statistic interval of the same values). Rows marked "*" must reach 93 % (less
// two standard errors of the simulation) or be wrong for at most 2.5 % of all series, else the program exits
// with 1; the others show the limits of the method.
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
#include "headroom/stats/interval.h"
#include "headroom/stats/quantile.h"
#include "headroom/stats/stopping.h"
#include "simulated_noise.h"
#include "synthetic_suite.h"

namespace {

using headroom::Interval;
using headroom::bench::Noise;
using Values = std::vector<double>;

constexpr double kGoal = 0.93;
/// Share of all series: a rarely given interval may be wrong more often.
constexpr double kMostWrong = 0.025;

double upper_tail(double z) {
  return 0.5 * std::erfc(z / std::numbers::sqrt2);
}

/// `hides`: further randomness hides the correlation of neighbours.
struct Shape {
  const char* name;
  double median;
  bool hides;
  std::function<double(double, Noise&)> value;
};

double spiky(double z, Noise& noise) {
  return (100 + z) * (noise.uniform() < 0.05 ? 3 : 1);
}

std::vector<Shape> shapes() {
  const double chi_squared_median = std::pow(headroom::normal_quantile(0.75), 2);
  return {
      {"normal", 0, false, [](double z, Noise&) { return z; }},
      {"lognormal", 1, false, [](double z, Noise&) { return std::exp(0.5 * z); }},
      {"exponential", std::numbers::ln2, false, [](double z, Noise&) { return -std::log(upper_tail(z)); }},
      // Gamma with shape 1/2: heavier-tailed than the exponential.
      {"gamma", chi_squared_median, false,
       [](double z, Noise&) { return std::pow(headroom::normal_quantile(0.5 + 0.5 * upper_tail(-z)), 2); }},
      {"Student's t, 2 degrees", 0, true,
       [](double z, Noise& noise) { return z / std::sqrt(-std::log(noise.uniform())); }},
      {"5 % spikes", 100 + headroom::normal_quantile(0.5 / 0.95), true, spiky},
      {"two modes", headroom::normal_quantile(0.5 / 0.7), true,
       [](double z, Noise& noise) { return z + (noise.uniform() < 0.3 ? 5 : 0); }}};
}

/// Standard deviation 1; rho = 1 is a random walk from 0.
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
    std::printf("%-58s %5s %7s %8s %6s %6s\n", "scenario", "n", "refused", "coverage", "wrong", "width");
  }

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
    if (given == 0) {
      std::printf("%-58s %5zu %7.3f\n", scenario.c_str(), count, 1.0);
      return;
    }
    const double coverage = static_cast<double>(covered) / given;
    const double error = std::sqrt(kGoal * (1 - kGoal) / given);
    const double wrong = static_cast<double>(given - covered) / repetitions_;
    const bool failed = binding && coverage < kGoal - 2 * error && wrong > kMostWrong;
    failures_ += failed ? 1 : 0;
    std::printf("%-58s %5zu %7.3f %7.3f%s %6.3f %6.2f%s\n", scenario.c_str(), count,
                1 - static_cast<double>(given) / repetitions_, coverage, binding ? "*" : " ", wrong,
                width / plain_width, failed ? "  TOO LOW" : "");
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

/// Samples of a process from which on intervals must hold.
std::size_t fewest_binding(double rho, bool hidden) {
  if (hidden && rho > 0.6) return 1'000'000;
  return rho < (hidden ? 0.4 : 0.6) ? 6 : 20;
}

void one_process(Table& table, Noise& noise) {
  for (const Shape& shape : shapes()) {
    for (const double rho : {0.0, 0.3, 0.5, 0.7, 0.9}) {
      for (const std::size_t count : {6, 8, 10, 12, 20, 30, 50, 100, 300}) {
        const bool binding = count >= fewest_binding(rho, shape.hides);
        table.row(with_rho(shape.name, rho), count, binding, shape.median, [&] {
          Values values = ar1(count, rho, noise);
          for (double& value : values) value = shape.value(value, noise);
          return std::pair(headroom::series_median_interval(values), headroom::median_interval(values));
        });
      }
    }
  }
}

Values of_processes(std::size_t count, std::size_t processes, double rho, Noise& noise) {
  Values values;
  for (std::size_t p = 0; p < processes; ++p) {
    const Values own = ar1(count * (p + 1) / processes - count * p / processes, rho, noise);
    values.insert(values.end(), own.begin(), own.end());
  }
  return values;
}

std::vector<std::size_t> sizes_of(std::size_t count, std::size_t processes) {
  std::vector<std::size_t> sizes;
  for (std::size_t p = 0; p < processes; ++p)
    sizes.push_back(count * (p + 1) / processes - count * p / processes);
  return sizes;
}

void percentiles(Table& table, Noise& noise) {
  for (const std::size_t processes : {1, 3}) {
    for (const double p : {0.75, 0.95, 0.99}) {
      for (const double rho : {0.0, 0.5, 0.9}) {
        for (const std::size_t count : {20, 50, 100, 300, 1000, 3000}) {
          char name[64];
          std::snprintf(name, sizeof name, "p%.0f, lognormal, %zu process%s", 100 * p, processes,
                        processes > 1 ? "es" : "");
          table.row(with_rho(name, rho), count, true, std::exp(headroom::normal_quantile(p)), [&] {
            Values values = of_processes(count, processes, rho, noise);
            for (double& value : values) value = std::exp(value);
            return std::pair(headroom::series_quantile_interval(values, p, sizes_of(count, processes)),
                             headroom::quantile_interval(values, p));
          });
        }
      }
    }
  }
}

/// Log ratio of two programs in the same rounds; width relative to the median's interval.
void pairs(Table& table, Noise& noise) {
  const auto time = [&](const Shape& shape, double z) { return std::exp(0.01 * shape.value(z, noise)); };
  for (const Shape& shape : shapes()) {
    for (const bool both : {true, false}) {
      // If one side is noisy, the other has normal noise a third as wide.
      Values far;
      for (int i = 0; !both && i < 400'001; ++i)
        far.push_back(std::log(time(shape, noise.normal())) - 0.003 * noise.normal());
      const double truth = both ? 0 : headroom::median(far);
      for (const std::size_t processes : {1, 3}) {
        for (const double rho : {0.0, 0.5, 0.9}) {
          for (const std::size_t count : {6, 10, 20, 30, 50, 100, 300}) {
            const std::string name = std::string("pairs, ") + shape.name + (both ? "" : " on one side") +
                                     (processes > 1 ? ", 3 processes" : "");
            const bool binding = processes > 1 || count >= fewest_binding(rho, shape.hides);
            table.row(with_rho(name, rho), count, binding, truth, [&] {
              const std::vector<std::size_t> sizes = sizes_of(count, processes);
              Values a = of_processes(count, processes, rho, noise),
                     b = of_processes(count, processes, rho, noise);
              Values logs;
              for (std::size_t i = 0; i < count; ++i) {
                a[i] = time(shape, a[i]);
                b[i] = both ? time(shape, b[i]) : std::exp(0.003 * b[i]);
                logs.push_back(std::log(a[i] / b[i]));
              }
              auto interval = headroom::paired_ratio(a, b, sizes).interval;
              if (interval) interval = Interval{std::log(interval->low), std::log(interval->high)};
              return std::pair(interval, headroom::series_median_interval(logs, sizes));
            });
          }
        }
      }
    }
  }
}

void runs_apart(Table& table) {
  for (const double run_noise : {0.0, 0.005, 0.01, 0.02}) {
    for (const double spikes : {0.0, 0.05}) {
      for (const double rho : {0.0, 0.5, 0.9}) {
        for (const std::size_t count : {10, 30, 100}) {
          headroom::bench::SuiteModel model{
              .cases = 1, .rounds = count, .spikes = spikes, .correlation = rho};
          model.paired = false;
          model.run_noise = run_noise;
          model.earlier_runs = 12;
          char name[64];
          std::snprintf(name, sizeof name, "separate runs, off by %.1f %%%s", 100 * run_noise,
                        spikes > 0 ? ", spikes" : "");
          std::uint64_t seed = 0;
          table.row(with_rho(name, rho), count, rho < 0.6 || (count >= 30 && spikes == 0), 1, [&] {
            const headroom::bench::SyntheticSuite suite(model, ++seed);
            const auto interval = suite.judged(0).front().ratio->interval;
            return std::pair(interval, interval);
          });
        }
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

/// Coverage of the ratio 1 is 1 minus the false-alarm rate.
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
        table.row(with_rho(name + ", interleaved pairs", rho), count, true, 1, [&] {
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

/// Coverage at the default stop of sampling.
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
  percentiles(table, noise);
  pairs(table, noise);
  equal_pairs(table, noise);
  runs_apart(table);
  Table sequential(std::max(1, repetitions / 4));
  stopping(sequential, noise);
  return table.failures() + sequential.failures() > 0 ? 1 : 0;
}
