// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

#include "headroom/workload/llm_config.h"
#include "headroom/workload/stored_tensor.h"

namespace headroom {

/// What a file says of its model.
struct LlmDescription {
  LlmConfig config;
  std::size_t longest = 0;  ///< positions that the model was made for; 0: it does not say
};

/// Of a config.json; `source` names it in errors. Throws Error: an architecture other than llama, mistral and
/// qwen2, sizes that do not fit together, what is not computed here (rotations scaled as "dynamic", quantised
/// weights).
LlmDescription describe_llm_json(const std::string& text, const std::string& source);
/// The same of the metadata of a GGUF file; the vocabulary is that of its embedding.
LlmDescription describe_llm_gguf(const StoredModel& model, const std::string& source);

}  // namespace headroom
