// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <initializer_list>

#include "headroom/experiment/registry.h"
#include "headroom/workload/llm_config.h"

namespace headroom {

/// A runner's implementation of decoding with a model.
using LlmFunction = std::function<void(State&, const LlmConfig&)>;

/// Adds llama2_7b_bf16, llama2_7b_int8 and mixtral_8x7b_int8, the models of gpt-fast's benchmark, with the
/// axes and metrics that are the same for every runner, on `device`: an iteration is a token on "cpu", a
/// generation on others. They run when they are named: each takes seconds to load and gigabytes.
void add_llm_experiments(Registry& registry, const LlmFunction& decode,
                         std::initializer_list<const char*> backends, const char* device = "cpu");

/// The same models with weights of 4 bits in groups of 32 (LlmFormat::kInt4Blocks), which gpt-fast's
/// benchmark does not have: llama2_7b_int4 and mixtral_8x7b_int4.
void add_int4_llm_experiments(Registry& registry, const LlmFunction& decode,
                              std::initializer_list<const char*> backends);

}  // namespace headroom
