// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "headroom/experiment/state.h"
#include "headroom/workload/llm_model.h"

namespace headroom::cuda {

/// The axes may change the layers of `config`.
void llm_decode(State& state, const LlmConfig& config);

}  // namespace headroom::cuda
