// SPDX-License-Identifier: Apache-2.0
#include "headroom_cuda/llm/device_llm.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "headroom_cuda/kernels/token_pass.h"

namespace headroom::cuda {
namespace {

/// What the kernels are written for; the rest is skipped, in words.
void require_streamable(const State& state, const LlmConfig& config) {
  const auto require = [&](bool can, const std::string& what) {
    if (!can) state.skip("the kernels for a GPU do not decode " + config.model + ": " + what);
  };
  require(config.dtype == "int8" || config.dtype == "bf16", "weights are int8 or bf16 there");
  require(config.formats.empty() && config.output_dtype.empty(), "all matrices have one format there");
  require(!config.has_bias && config.shared_hidden == 0 && !config.has_shares_of_all,
          "it has biases, or experts of another kind");
  require(config.experts <= kMostExperts, fmt::format("more than {} experts", kMostExperts));
  require(has_attention(config.head_dim()), fmt::format("heads of {} values", config.head_dim()));
  for (const std::size_t columns : {config.dim, config.hidden}) {
    require(columns % kStreamUnit == 0,
            fmt::format("{} columns, which are no multiple of {}", columns, kStreamUnit));
  }
  require(config.vocab % kStreamGroup == 0 && config.vocab < std::size_t{1} << 24U,
          fmt::format("a vocabulary of {}", config.vocab));
}

}  // namespace

DeviceLlm::DeviceLlm(const State& state, const LlmWeights& weights) : config_(weights.config()) {
  require_streamable(state, config_);
  for (std::size_t index = 0; index < config_.layers; ++index) {
    const LlmLayer& from = weights.layer(index);
    Layer layer;
    layer.attention_norm = vector(state, from.attention_norm, config_.dim);
    layer.ffn_norm = vector(state, from.ffn_norm, config_.dim);
    if (config_.is_gated()) {
      layer.gate =
          vector(state, reinterpret_cast<const Bf16*>(from.gate.weights), config_.experts * config_.dim);
    }
    layer.qkv = matrix(state, {{&from.qkv}});
    layer.out = matrix(state, {{&from.out}});
    std::vector<std::vector<const LlmMatrix*>> up, down;
    for (std::size_t expert = 0; expert < config_.experts; ++expert) {
      up.push_back({&from.w1[expert], &from.w3[expert]});
      down.push_back({&from.w2[expert]});
    }
    layer.up = matrix(state, up);
    layer.down = matrix(state, down);
    layers_.push_back(layer);
  }
  embedding_ = vector(state, weights.embedding(0), config_.vocab * config_.dim);
  final_norm_ = vector(state, weights.final_norm(), config_.dim);
  output_ = matrix(state, {{&weights.output()}});
}

const std::uint16_t* DeviceLlm::vector(const State& state, const Bf16* values, std::size_t count) {
  memory_.emplace_back(state, count * sizeof(Bf16));
  memory_.back().upload(std::span(values, count));
  return memory_.back().as<const std::uint16_t>();
}

/// The matrices of an entry have rows that take turns; entries lie one behind the other.
StreamedMatrix DeviceLlm::matrix(const State& state,
                                 const std::vector<std::vector<const LlmMatrix*>>& stack) {
  const LlmMatrix& first = *stack.front().front();
  const std::size_t turns = stack.front().size(), rows = turns * first.rows, row_bytes = first.row_bytes();
  memory_.emplace_back(state, stack.size() * rows * row_bytes);
  DeviceBuffer& weights = memory_.back();
  std::vector<Bf16> scales;
  for (std::size_t entry = 0; entry < stack.size(); ++entry) {
    for (std::size_t turn = 0; turn < turns; ++turn) {
      weights.upload_rows(stack[entry][turn]->weights, first.rows, row_bytes,
                          (entry * rows + turn) * row_bytes, turns * row_bytes);
    }
    for (std::size_t row = 0; first.scales != nullptr && row < rows; ++row)
      scales.push_back(stack[entry][row % turns]->scales[row / turns]);
  }
  StreamedMatrix made;
  made.weights = weights.data();
  made.rows = static_cast<std::uint32_t>(rows);
  made.columns = static_cast<std::uint32_t>(first.columns);
  if (!scales.empty()) made.scales = vector(state, scales.data(), scales.size());
  return made;
}

}  // namespace headroom::cuda
