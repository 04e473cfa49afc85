// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "headroom/experiment/registry.h"

namespace headroom::native {

/// Registry::TakeArguments: "--model FILE" (a GGUF file, safetensors, or llama2_7b and mixtral_8x7b with
/// random weights) and "--tokens 1,15,27", the prompt. Adds the experiments llm.decode, llm.prefill and
/// llm.verify of it. Throws Error: what open_llm_file throws, ids that the vocabulary does not have.
void offer_llm(Registry& registry, const std::vector<std::string>& arguments);

}  // namespace headroom::native
