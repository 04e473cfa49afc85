// SPDX-License-Identifier: Apache-2.0
#include "headroom/workload/rotary_scaling.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <stdexcept>
#include <vector>

namespace headroom {
namespace {

void require(bool sound, const std::string& what) {
  if (!sound) throw std::invalid_argument(what);
}

/// Turns that a pair makes in the positions that the model was trained with.
double turns_of(const LlmConfig& config, std::size_t pair, double positions) {
  const double exponent = -2 * static_cast<double>(pair) / static_cast<double>(config.head_dim());
  return positions * std::pow(config.rope_base, exponent) / (2 * std::numbers::pi);
}

/// What a pair's frequency is divided by where `kept` of it stays and the rest is divided by `factor`.
double divisor(double kept, double factor) {
  return 1 / (kept + (1 - kept) / factor);
}

double llama3_kept(double turns, const RotaryScaling& scaling) {
  return std::clamp((turns - scaling.low_factor) / (scaling.high_factor - scaling.low_factor), 0.0, 1.0);
}

/// The pair, not whole, that makes so many turns.
double pair_of(const LlmConfig& config, double turns, double positions) {
  return static_cast<double>(config.head_dim()) * std::log(positions / (turns * 2 * std::numbers::pi)) /
         (2 * std::log(config.rope_base));
}

std::vector<double> yarn_kept(const LlmConfig& config, const RotaryScaling& scaling) {
  const double last = static_cast<double>(config.head_dim()) - 1;
  const double first = std::max(0.0, std::floor(pair_of(config, scaling.fast_turns, scaling.original)));
  const double end = std::min(last, std::ceil(pair_of(config, scaling.slow_turns, scaling.original)));
  std::vector<double> kept(config.head_dim() / 2);
  for (std::size_t pair = 0; pair < kept.size(); ++pair) {
    const double along = (static_cast<double>(pair) - first) / std::max(0.001, end - first);
    kept[pair] = 1 - std::clamp(along, 0.0, 1.0);
  }
  return kept;
}

}  // namespace

void scale_rotation(LlmConfig& config, const RotaryScaling& scaling) {
  if (scaling.kind == "none" || scaling.kind == "default") return;
  const bool is_llama3 = scaling.kind == "llama3", is_yarn = scaling.kind == "yarn";
  require(scaling.kind == "linear" || is_llama3 || is_yarn,
          "the rotation is scaled as '" + scaling.kind +
              "', which is not computed here; linear, llama3 and yarn are");
  require(scaling.factor >= 1 && scaling.factor < 1e6,
          "the factor of the rotation's scaling is no number from 1 on");
  if (is_llama3 || is_yarn) {
    require(scaling.original >= 1 && scaling.original < 1e9,
            "the rotation is scaled as '" + scaling.kind +
                "', but the positions that the model was trained with are not given");
  }
  if (is_llama3) {
    require(scaling.low_factor > 0 && scaling.high_factor > scaling.low_factor && scaling.high_factor < 1e9,
            "the rotation's high_freq_factor is not above its low_freq_factor");
  }
  if (is_yarn) {
    require(scaling.slow_turns > 0 && scaling.fast_turns >= scaling.slow_turns && scaling.fast_turns < 1e9,
            "the rotation's beta_fast is below its beta_slow");
    const double magnitude = scaling.magnitude.value_or(0.1 * std::log(scaling.factor) + 1);
    require(magnitude > 0 && magnitude < 1e3, "the rotation's attention_factor is no number above 0");
    config.rope_magnitude = static_cast<float>(magnitude);
  }
  std::vector<double> kept(config.head_dim() / 2);
  if (is_yarn) kept = yarn_kept(config, scaling);
  config.rope_factors.resize(kept.size());
  for (std::size_t pair = 0; pair < kept.size(); ++pair) {
    if (is_llama3) kept[pair] = llama3_kept(turns_of(config, pair, scaling.original), scaling);
    config.rope_factors[pair] = static_cast<float>(divisor(kept[pair], scaling.factor));
  }
}

}  // namespace headroom
