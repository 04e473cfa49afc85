// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "headroom/experiment/state.h"
#include "headroom/workload/llm_model.h"

namespace headroom::cuda {

/// Measures decoding with `config`; the axes may change its layers.
void llm_decode(State& state, const LlmConfig& config);

}  // namespace headroom::cuda
