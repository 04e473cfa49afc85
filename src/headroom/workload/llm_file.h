// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "headroom/workload/llm_config.h"
#include "headroom/workload/llm_weights.h"
#include "headroom/workload/mapped_file.h"
#include "headroom/workload/stored_tensor.h"
#include "headroom/workload/team.h"

namespace headroom {

/// A model of somebody's: a GGUF file, or safetensors with their config.json, of a Llama, a Mistral or a
/// Qwen2. Its files stay mapped while this lives.
struct LlmFile {
  std::string path;
  LlmConfig config;         ///< config.model is the file's or the folder's name
  std::string stored;       ///< the type that most bytes of matrices have: "Q8_0"
  std::size_t longest = 0;  ///< positions that the model was made for; 0: it does not say
  StoredModel model;
  std::vector<MappedFile> files;
  bool is_gguf = false;
  /// Whether pairs that are rotated lie half a head apart (as in Hugging Face's and Qwen2's files), not side
  /// by side.
  bool has_halves = false;
};

/// `path` is a .gguf file, a .safetensors file, or a folder with config.json and model.safetensors or
/// model.safetensors.index.json. Every tensor that is needed is there, of the right shape. Throws Error with
/// the tensor's name and its byte, or what of the model is not known here.
LlmFile open_llm_file(const std::filesystem::path& path);

/// The first `layers` of its layers. Blocks and bf16 stay as they are; all else is made bf16. So are
/// the gate and up where their types differ.
LlmWeights load_llm_weights(const LlmFile& file, std::size_t layers, const Team& team);

/// The config of its first `layers` layers. Throws Error where it has not as many.
LlmConfig config_of_layers(const LlmFile& file, std::size_t layers);

}  // namespace headroom
