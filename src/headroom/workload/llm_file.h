// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "headroom/workload/llm_model.h"
#include "headroom/workload/stored_model.h"
#include "headroom/workload/team.h"

namespace headroom {

struct LlmDescription {
  LlmConfig config;
  std::size_t longest = 0;  ///< context length of the model; 0: unknown
};

/// `source` is for errors. Throws Error for an unsupported architecture, inconsistent sizes, or unsupported
/// features ("dynamic" rotation scaling, quantised weights).
LlmDescription describe_llm_json(const std::string& text, const std::string& source);
/// Reads the metadata, likewise.
LlmDescription describe_llm_gguf(const StoredModel& model, const std::string& source);

/// GGUF, or safetensors with config.json, of a Llama, Mistral or Qwen2. Its files stay mapped.
struct LlmFile {
  std::string path;
  LlmConfig config;         ///< config.model: name of the file or folder
  std::string stored;       ///< type of most matrix bytes: "Q8_0"
  std::size_t longest = 0;  ///< of the model; 0: unknown
  StoredModel model;
  std::vector<MappedFile> files;
  bool is_gguf = false;
  /// Rotated pairs are half a head apart (Hugging Face, Qwen2), not adjacent.
  bool has_halves = false;
};

/// A .gguf or .safetensors file, or a folder with config.json and model.safetensors or
/// model.safetensors.index.json. Throws Error for a missing tensor, a wrong shape (with name and byte), or an
/// unsupported feature.
LlmFile open_llm_file(const std::filesystem::path& path);

/// The first `layers`. Blocks and bf16 stay; other types become bf16, as do gate and up of different types.
LlmWeights load_llm_weights(const LlmFile& file, std::size_t layers, const Team& team);

/// Throws Error if the model has fewer layers.
LlmConfig config_of_layers(const LlmFile& file, std::size_t layers);

}  // namespace headroom
