// SPDX-License-Identifier: Apache-2.0
// False claims and power of `headroom ab` on simulated sessions.
//
//   bench_ab_decides [SESSIONS]     default 1000
//
// A session is rounds of two commands. False claims: equal commands, a look after each round from the third
// on. Power: the last look, compared with Mann and Whitney's test on the same samples, at 5 % or at the level
// where it makes 5 % of false claims.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <vector>

#include "headroom/stats/round_ratio.h"
#include "mann_whitney.h"
#include "simulated_noise.h"

namespace {

using headroom::Look;
using headroom::RoundRatio;
using headroom::bench::Noise;

enum class Shape { kNormal, kModes, kSpikes, kExponential };
enum class Memory { kOfMoments, kOfCommands };

struct Model {
  const char* name;
  double noise;
  Shape shape = Shape::kNormal;
  double rho = 0;  ///< of neighbouring moments or runs
  Memory memory = Memory::kOfMoments;
};

constexpr Model kModels[] = {
    {"normal, 1 %", .01},
    {"normal, 3 %", .03},
    {"two modes 4 % apart, 1 %", .01, Shape::kModes},
    {"5 % take twice as long, 2 %", .02, Shape::kSpikes},
    {"exponential, 3 %", .03, Shape::kExponential},
    {"moments correlated by .5, 3 %", .03, Shape::kNormal, .5},
    {"moments correlated by .9, 3 %", .03, Shape::kNormal, .9},
    {"runs of a command correlated by .5, 2 %", .02, Shape::kNormal, .5, Memory::kOfCommands},
    {"runs of a command correlated by .9, 1 %", .01, Shape::kNormal, .9, Memory::kOfCommands},
};

struct Session {
  std::vector<double> test, baseline;
};

double independent(Noise& noise, const Model& model) {
  const double value = model.noise * noise.normal();
  switch (model.shape) {
    case Shape::kModes:
      return value + (noise.uniform() < 0.5 ? 4 * model.noise : 0);
    case Shape::kSpikes:
      return value + (noise.uniform() < 0.05 ? std::log(2.0) : 0);
    case Shape::kExponential:
      return -model.noise * std::log(noise.uniform());
    default:
      return value;
  }
}

Session session(Noise& noise, const Model& model, std::size_t rounds, double effect) {
  Session made;
  double states[2] = {noise.normal(), noise.normal()};
  const auto next = [&](double& state) {
    if (model.rho == 0) return independent(noise, model);
    state = model.rho * state + std::sqrt(1 - model.rho * model.rho) * noise.normal();
    return model.noise * state;
  };
  for (std::size_t i = 0; i < rounds; ++i) {
    const bool of_commands = model.memory == Memory::kOfCommands;
    double test = next(states[0]), baseline = next(states[of_commands ? 1 : 0]);
    if (!of_commands && noise.uniform() < 0.5) std::swap(test, baseline);
    made.test.push_back((1 + effect) * std::exp(test));
    made.baseline.push_back(std::exp(baseline));
  }
  return made;
}

bool claims(const RoundRatio& ratio) {
  return std::min(ratio.p_above(1), ratio.p_below(1)) <= ratio.tail();
}

bool claims_at_last(const Session& made) {
  return claims(*RoundRatio::of(made.test, made.baseline, Look::kLast));
}

bool claims_at_any_look(const Session& made) {
  const std::span<const double> test(made.test), baseline(made.baseline);
  for (std::size_t n = 3; n < test.size(); ++n) {
    if (claims(*RoundRatio::of(test.first(n), baseline.first(n), Look::kRunning))) return true;
  }
  return claims_at_last(made);
}

void report(const Model& model, std::size_t rounds, std::size_t sessions) {
  const double share = 100 / static_cast<double>(sessions);
  Noise noise;
  std::size_t alarms = 0;
  std::vector<double> null;
  for (std::size_t i = 0; i < sessions; ++i) {
    const Session made = session(noise, model, rounds, 0);
    alarms += claims_at_any_look(made) ? 1 : 0;
    null.push_back(std::abs(headroom::bench::mann_whitney_z(made.baseline, made.test)));
  }
  std::ranges::sort(null);
  const auto plain = static_cast<double>(std::ranges::count_if(null, [](double z) { return z > 1.96; }));
  const double held = std::max(1.96, null[sessions * 95 / 100]);
  std::printf("%4zu  %-40s %5.1f %5.1f ", rounds, model.name, share * static_cast<double>(alarms),
              share * plain);
  for (const double effect : {0.03, 0.05}) {
    std::size_t ours = 0, theirs = 0;
    for (std::size_t i = 0; i < sessions; ++i) {
      const Session made = session(noise, model, rounds, effect);
      ours += claims_at_last(made) ? 1 : 0;
      theirs += std::abs(headroom::bench::mann_whitney_z(made.baseline, made.test)) > held ? 1 : 0;
    }
    std::printf("   %5.1f %5.1f", share * static_cast<double>(ours), share * static_cast<double>(theirs));
  }
  std::printf("\n");
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  const std::size_t sessions = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 1000;
  std::printf("%zu sessions each, in %%; M-W: Mann and Whitney, its power at 5 %% false claims\n\n",
              sessions);
  std::printf("rounds                                     false claims    3 %% found    5 %% found\n");
  std::printf("      noise                                     ab   M-W      ab   M-W      ab   M-W\n");
  for (const std::size_t rounds : {6, 10, 20, 30, 60, 120}) {
    for (const Model& model : kModels) report(model, rounds, sessions);
  }
  return 0;
}
