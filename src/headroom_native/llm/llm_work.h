// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "headroom/experiment/case_spec.h"
#include "headroom/workload/llm_config.h"
#include "headroom_native/kernels/isa.h"
#include "headroom_native/llm/decoder.h"

namespace headroom::native {

/// What a case runs: tokens for each sequence, behind so many positions.
struct LlmShape {
  std::size_t sequences, context, tokens;
  LlmLogits wanted = LlmLogits::kLast;

  std::size_t positions() const { return context + tokens; }
  double rows() const { return static_cast<double>(sequences * tokens); }
};

/// The least that must be read and computed: weights, keys and values once; of the output's logits those that
/// are wanted. The dtype is "int8" where `isa` multiplies more than a twentieth of it as integers, for which
/// a CPU may be faster than for any float; else "bf16".
Work llm_work(const LlmConfig& config, const LlmShape& shape, Isa isa);

}  // namespace headroom::native
