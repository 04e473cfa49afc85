// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "headroom/workload/llm_config.h"

namespace headroom {

/// How a model's rotation was stretched for contexts longer than those it was trained with, as its file
/// declares it.
struct RotaryScaling {
  std::string kind;        ///< "none", "default", "linear", "llama3" or "yarn"
  double factor = 1;       ///< by which contexts became longer
  double original = 0;     ///< positions that the model was trained with (llama3, yarn)
  double low_factor = 1;   ///< llama3: turns in `original` positions below which a pair is stretched whole
  double high_factor = 4;  ///< llama3: turns above which one stays as it is
  double fast_turns = 32;  ///< yarn: above them one stays as it is
  double slow_turns = 1;   ///< yarn: below them one is stretched whole
  /// yarn: what cosines and sines are multiplied with; without it 0.1 log(factor) + 1.
  std::optional<double> magnitude{};
};

/// Sets rope_factors and rope_magnitude of `config` (which has its heads and rope_base). Throws
/// std::invalid_argument with what is not known or not sound. Sources: Chen et al., "Extending context window
/// of large language models via positional interpolation", 2023 (linear); Peng et al., "YaRN", 2023,
/// equations 17 to 22, with the bounds rounded to whole pairs as Hugging Face and ggml do; Llama 3.1's
/// model.py.
void scale_rotation(LlmConfig& config, const RotaryScaling& scaling);

}  // namespace headroom
