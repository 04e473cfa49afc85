// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "headroom/experiment/state.h"
#include "headroom/workload/llm_config.h"

namespace headroom::torch_runner {

/// Measures decoding with `config` by ATen's operators; the axes may change its layers.
void llm_decode(State& state, const LlmConfig& config);

}  // namespace headroom::torch_runner
