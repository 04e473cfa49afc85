// SPDX-License-Identifier: Apache-2.0
#include "headroom/workload/llm_config.h"

#include <algorithm>
#include <array>
#include <stdexcept>

namespace headroom {
const char* name_of(LlmFormat format) {
  constexpr std::array kNames{"bf16", "int8", "int8_g32", "int4", "q4_k", "q5_k", "q6_k"};
  return kNames.at(static_cast<std::size_t>(format));
}

LlmFormat llm_format(std::string_view dtype) {
  for (const LlmFormat format : kLlmFormats) {
    if (dtype == name_of(format)) return format;
  }
  throw std::invalid_argument("no weights of " + std::string(dtype));
}

std::size_t block_bytes(LlmFormat format) {
  constexpr std::array<std::size_t, 7> kBytes{2, 1, 2 + 32, 2 + 16, 144, 176, 210};
  return kBytes.at(static_cast<std::size_t>(format));
}

std::size_t row_bytes(LlmFormat format, std::size_t columns) {
  return columns / block_columns(format) * block_bytes(format);
}

LlmLayerFormats LlmConfig::formats_of(std::size_t layer) const {
  if (!formats.empty()) return formats.at(layer);
  const LlmFormat all = llm_format(dtype);
  return {all, all, all, all};
}

LlmConfig llama2_7b(const std::string& dtype) {
  LlmConfig config;
  config.model = "Llama-2-7b-chat-hf";
  config.dtype = dtype;
  config.layers = 32;
  config.dim = 4096;
  config.heads = config.kv_heads = 32;
  config.hidden = 11008;
  config.vocab = 32000;
  return config;
}

LlmConfig mixtral_8x7b(const std::string& dtype) {
  LlmConfig config;
  config.model = "Mixtral-8x7B-v0.1";
  config.dtype = dtype;
  config.layers = 16;
  config.dim = 4096;
  config.heads = 32;
  config.kv_heads = 8;
  config.hidden = 14336;
  config.vocab = 32000;
  config.experts = 8;
  config.chosen = 2;
  config.rope_base = 1e6;
  return config;
}

void require_sound(const LlmConfig& config) {
  const auto require = [&](bool sound, const char* what) {
    if (!sound) throw std::invalid_argument(config.model + ": " + what);
  };
  require(config.layers > 0 && config.dim > 0 && config.hidden > 0 && config.vocab > 0, "a size is 0");
  require(config.heads > 0 && config.dim % config.heads == 0, "the heads do not divide dim");
  require(config.head_dim() % 2 == 0, "a head of odd size cannot be rotated");
  require(config.kv_heads > 0 && config.heads % config.kv_heads == 0, "kv_heads do not divide the heads");
  require(config.chosen > 0 && config.chosen <= config.experts, "more experts are chosen than there are");
  require(std::ranges::any_of(kLlmFormats, [&](LlmFormat format) { return config.dtype == name_of(format); }),
          "the dtype is none of bf16, int8, int8_g32, int4, q4_k, q5_k and q6_k");
  require(config.formats.empty() || config.formats.size() == config.layers, "formats of other layers");
  const auto require_blocks = [&](LlmFormat format, std::size_t columns) {
    require(columns % block_columns(format) == 0,
            block_columns(format) == 256 ? "rows are no multiples of 256" : "rows are no multiples of 32");
  };
  // All layers alike: a million of them, asked for in jest, are not walked through.
  const std::size_t different = std::max<std::size_t>(config.formats.size(), 1);
  for (std::size_t layer = 0; layer < different; ++layer) {
    const LlmLayerFormats formats = config.formats_of(layer);
    for (const LlmFormat format : {formats.qkv, formats.key, formats.value, formats.out, formats.up})
      require_blocks(format, config.dim);
    require_blocks(formats.down, config.hidden);
    require_blocks(formats.shared_up, config.dim);
    require_blocks(formats.shared_down, config.shared_hidden);
  }
  require_blocks(config.output_format(), config.dim);
}

}  // namespace headroom
