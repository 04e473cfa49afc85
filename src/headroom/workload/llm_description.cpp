// SPDX-License-Identifier: Apache-2.0
#include "headroom/workload/llm_description.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>

#include "headroom/base/error.h"
#include "headroom/base/json.h"
#include "headroom/base/text.h"
#include "headroom/workload/rotary_scaling.h"

namespace headroom {
namespace {

constexpr std::array<std::string_view, 6> kFamilies{"llama", "mistral",   "mixtral",
                                                    "qwen2", "qwen2_moe", "qwen2moe"};
/// No size of a model is larger; products of three such sizes stay numbers.
constexpr std::uint64_t kMostSize = std::uint64_t{1} << 20;

void require_family(const std::string& name, const std::string& source) {
  if (std::ranges::find(kFamilies, name) != kFamilies.end()) return;
  throw Error(source + ": the architecture is " + in_quotes(name) +
              ", which is not read; llama, mistral, mixtral, qwen2 and qwen2_moe are");
}

std::size_t size_from(double value, const std::string& what) {
  if (!(value >= 1) || value > static_cast<double>(kMostSize) || value != std::floor(value))
    throw Error(fmt::format("{} is {:g}; it must be a whole number from 1 to {}", what, value, kMostSize));
  return static_cast<std::size_t>(value);
}

void require_shape(const LlmConfig& config, const std::string& source) {
  try {
    require_sound(config);
  } catch (const std::invalid_argument& unsound) {
    throw Error(source + ": " + unsound.what());
  }
}

void require_rope(double base, double epsilon, const std::string& source) {
  if (!(base > 1) || !std::isfinite(base))
    throw Error(source + ": the base of the rotation is no number above 1");
  if (!(epsilon > 0) || epsilon > 1)
    throw Error(source + ": the epsilon of the norms is not between 0 and 1");
}

/// Metadata of one architecture.
class Metadata {
 public:
  Metadata(const StoredModel& model, const std::string& source) : model_(model), source_(source) {
    architecture_ = text("general.architecture");
  }

  const std::string& architecture() const { return architecture_; }

  std::string text(const std::string& key) const {
    const auto found = model_.metadata.find(key);
    const auto* value = found == model_.metadata.end() ? nullptr : std::get_if<std::string>(&found->second);
    if (value == nullptr) throw Error(source_ + ": the metadata has no text " + in_quotes(key));
    return *value;
  }

  std::optional<double> number(const std::string& name) const {
    const auto found = model_.metadata.find(architecture_ + "." + name);
    if (found == model_.metadata.end()) return std::nullopt;
    if (const auto* whole = std::get_if<std::uint64_t>(&found->second)) return static_cast<double>(*whole);
    if (const auto* integer = std::get_if<std::int64_t>(&found->second)) return static_cast<double>(*integer);
    if (const auto* real = std::get_if<double>(&found->second)) return *real;
    throw Error(source_ + ": the metadata entry " + in_quotes(found->first) + " is no number");
  }

  std::size_t size(const std::string& name) const {
    const auto value = number(name);
    const std::string what = source_ + ": the metadata entry " + in_quotes(architecture_ + "." + name);
    if (!value) throw Error(what + " is missing");
    return size_from(*value, what);
  }

 private:
  const StoredModel& model_;
  const std::string& source_;
  std::string architecture_;
};

void refuse_what_is_not_computed(const Metadata& metadata, const LlmConfig& config,
                                 const std::string& source) {
  const auto rotated = metadata.number("rope.dimension_count");
  if (rotated && *rotated != static_cast<double>(config.head_dim()))
    throw Error(source + ": only a part of each head is rotated, or heads do not divide the width");
}

/// Mixtral's are those of a llama; Qwen's have a width of their own, and beside them one for all tokens.
void read_experts(const Metadata& metadata, const StoredModel& model, LlmConfig& config,
                  const std::string& source) {
  if (metadata.number("expert_count").value_or(0) == 0) return;
  config.experts = metadata.size("expert_count");
  config.chosen = metadata.size("expert_used_count");
  if (config.experts == 1) throw Error(source + ": the model has one expert, which is not read");
  if (metadata.architecture() != "qwen2moe") return;
  config.hidden = metadata.size("expert_feed_forward_length");
  config.has_shares_of_all = true;
  const StoredTensor* shared = model.find("blk.0.ffn_up_shexp.weight");
  if (shared == nullptr) throw Error(source + ": tensor 'blk.0.ffn_up_shexp.weight' is missing");
  config.shared_hidden = shared->shape.front();
}

/// Without a kind a factor is that of a linear one, and 0 none, as llama.cpp has it.
RotaryScaling scaling_of(const Metadata& metadata, const StoredModel& model) {
  RotaryScaling scaling;
  const std::string kind = metadata.architecture() + ".rope.scaling.type";
  const auto factor = metadata.number("rope.scaling.factor");
  const double stretched = factor ? *factor : metadata.number("rope.scale_linear").value_or(0);
  scaling.kind = model.metadata.contains(kind) ? metadata.text(kind) : stretched == 0 ? "none" : "linear";
  scaling.factor = stretched == 0 ? 1 : stretched;
  const double longest = metadata.number("context_length").value_or(0);
  scaling.original = metadata.number("rope.scaling.original_context_length").value_or(longest);
  scaling.fast_turns = metadata.number("rope.scaling.yarn_beta_fast").value_or(scaling.fast_turns);
  scaling.slow_turns = metadata.number("rope.scaling.yarn_beta_slow").value_or(scaling.slow_turns);
  // In place of a magnitude files have what is multiplied with the usual one.
  if (const auto more = metadata.number("rope.scaling.attn_factor"))
    scaling.magnitude = *more * (0.1 * std::log(std::max(scaling.factor, 1.0)) + 1);
  return scaling;
}

void require_scaling(LlmConfig& config, const RotaryScaling& scaling, const std::string& source) {
  try {
    scale_rotation(config, scaling);
  } catch (const std::invalid_argument& unsound) {
    throw Error(source + ": " + unsound.what());
  }
}

void read_rope_factors(const StoredModel& model, LlmConfig& config, const std::string& source) {
  const StoredTensor* factors = model.find("rope_freqs.weight");
  if (factors == nullptr) return;
  if (!config.rope_factors.empty())
    throw Error(source + ": the rotation is scaled both by its metadata and by tensor " +
                factors->describe());
  config.rope_factors.resize(config.head_dim() / 2);
  if (factors->type != StoredType::kF32 || factors->shape != std::vector{config.rope_factors.size()})
    throw Error(fmt::format("{}: tensor {}: expected [{}] of F32", source, factors->describe(),
                            config.rope_factors.size()));
  dequantise(factors->type, factors->bytes.data(), config.rope_factors);
  if (!std::ranges::all_of(config.rope_factors, [](float one) { return one > 0 && std::isfinite(one); }))
    throw Error(source + ": tensor " + factors->describe() + " has factors that are not above 0");
}

std::size_t json_size(const Json& json, const char* key, const std::string& source) {
  return size_from(json_number(json, key, source), source + ": " + in_quotes(key));
}

/// What says how the rotation is scaled, or nullptr: rope_scaling, or rope_parameters where a newer library
/// wrote the file.
const Json* rope_of(const Json& json, const std::string& source) {
  for (const char* key : {"rope_scaling", "rope_parameters"}) {
    const Json* rope = json_optional(json, key, source);
    if (rope == nullptr) continue;
    if (!rope->is_object()) throw Error(source + ": " + in_quotes(key) + " is no object");
    return rope;
  }
  return nullptr;
}

RotaryScaling scaling_of(const Json& json, const std::string& source) {
  RotaryScaling scaling;
  scaling.kind = "none";
  const Json* rope = rope_of(json, source);
  if (rope == nullptr) return scaling;
  scaling.kind = json_string_or(*rope, "rope_type", json_string_or(*rope, "type", "default", source), source);
  scaling.factor = json_number_or(*rope, "factor", 1, source);
  const double longest = json_number_or(json, "max_position_embeddings", 0, source);
  scaling.original = json_number_or(*rope, "original_max_position_embeddings", longest, source);
  scaling.low_factor = json_number_or(*rope, "low_freq_factor", scaling.low_factor, source);
  scaling.high_factor = json_number_or(*rope, "high_freq_factor", scaling.high_factor, source);
  scaling.fast_turns = json_number_or(*rope, "beta_fast", scaling.fast_turns, source);
  scaling.slow_turns = json_number_or(*rope, "beta_slow", scaling.slow_turns, source);
  if (json_optional(*rope, "attention_factor", source) != nullptr)
    scaling.magnitude = json_number(*rope, "attention_factor", source);
  for (const char* key : {"mscale", "mscale_all_dim"}) {
    if (json_optional(*rope, key, source) != nullptr)
      throw Error(source + ": the rotation's " + in_quotes(key) + " is not computed here");
  }
  return scaling;
}

void read_experts(const Json& json, const std::string& family, LlmConfig& config, const std::string& source) {
  if (family == "mixtral") {
    config.experts = json_size(json, "num_local_experts", source);
  } else if (family == "qwen2_moe") {
    config.experts = json_size(json, "num_experts", source);
    config.hidden = json_size(json, "moe_intermediate_size", source);
    config.shared_hidden = json_size(json, "shared_expert_intermediate_size", source);
    const Json* scaled = json_optional(json, "norm_topk_prob", source);
    config.has_shares_of_all = scaled == nullptr || !scaled->is_boolean() || !scaled->get<bool>();
    const Json* plain = json_optional(json, "mlp_only_layers", source);
    if (json_number_or(json, "decoder_sparse_step", 1, source) != 1 ||
        (plain != nullptr && !(plain->is_array() && plain->size() == 0)))
      throw Error(source + ": some layers have no experts, which is not computed here");
  } else {
    return;
  }
  config.chosen = json_size(json, "num_experts_per_tok", source);
  if (config.experts == 1) throw Error(source + ": the model has one expert, which is not read");
}

void refuse_what_is_not_computed(const Json& json, const LlmConfig& config, const std::string& source) {
  const auto refuse = [&](bool is_so, const std::string& what) {
    if (is_so) throw Error(source + ": " + what + ", which is not computed here");
  };
  refuse(json_optional(json, "quantization_config", source) != nullptr,
         "the weights are quantised (quantization_config)");
  refuse(json_string_or(json, "hidden_act", "silu", source) != "silu", "hidden_act is not silu");
  const Json* bias = json_optional(json, "attention_bias", source);
  refuse(bias != nullptr && !(bias->is_boolean() && !bias->get<bool>()), "attention_bias is set");
  const double width = json_number_or(json, "head_dim", static_cast<double>(config.head_dim()), source);
  refuse(width != static_cast<double>(config.head_dim()), "head_dim is not hidden_size over heads");
}

}  // namespace

LlmDescription describe_llm_gguf(const StoredModel& model, const std::string& source) {
  const Metadata metadata(model, source);
  require_family(metadata.architecture(), source);
  LlmConfig config;
  config.model = source;
  config.dtype = "bf16";
  config.layers = metadata.size("block_count");
  config.dim = metadata.size("embedding_length");
  config.hidden = metadata.size("feed_forward_length");
  config.heads = metadata.size("attention.head_count");
  config.kv_heads =
      metadata.number("attention.head_count_kv") ? metadata.size("attention.head_count_kv") : config.heads;
  config.rope_base = metadata.number("rope.freq_base").value_or(10000);
  const double epsilon = metadata.number("attention.layer_norm_rms_epsilon").value_or(1e-5);
  config.norm_epsilon = static_cast<float>(epsilon);
  const StoredTensor* embedding = model.find("token_embd.weight");
  if (embedding == nullptr) throw Error(source + ": tensor 'token_embd.weight' is missing");
  config.vocab = embedding->shape.front();
  config.has_bias = model.find("blk.0.attn_q.bias") != nullptr;
  read_experts(metadata, model, config, source);
  require_rope(config.rope_base, epsilon, source);
  require_shape(config, source);
  refuse_what_is_not_computed(metadata, config, source);
  require_scaling(config, scaling_of(metadata, model), source);
  read_rope_factors(model, config, source);
  const auto longest = metadata.number("context_length");
  return {config, longest && *longest >= 1 && *longest < 1e9 ? static_cast<std::size_t>(*longest) : 0};
}

LlmDescription describe_llm_json(const std::string& text, const std::string& source) {
  const Json json = parse_json(text, source);
  if (!json.is_object()) throw Error(source + ": it is no JSON object");
  require_family(json_string(json, "model_type", source), source);
  LlmConfig config;
  config.model = source;
  config.dtype = "bf16";
  config.layers = json_size(json, "num_hidden_layers", source);
  config.dim = json_size(json, "hidden_size", source);
  config.hidden = json_size(json, "intermediate_size", source);
  config.heads = json_size(json, "num_attention_heads", source);
  config.kv_heads = json_optional(json, "num_key_value_heads", source) != nullptr
                        ? json_size(json, "num_key_value_heads", source)
                        : config.heads;
  config.vocab = json_size(json, "vocab_size", source);
  config.rope_base = json_number_or(json, "rope_theta", 10000, source);
  if (const Json* rope = rope_of(json, source))
    config.rope_base = json_number_or(*rope, "rope_theta", config.rope_base, source);
  const double epsilon = json_number_or(json, "rms_norm_eps", 1e-6, source);
  config.norm_epsilon = static_cast<float>(epsilon);
  const std::string family = json_string(json, "model_type", source);
  config.has_bias = family == "qwen2" || family == "qwen2_moe";
  read_experts(json, family, config, source);
  require_rope(config.rope_base, epsilon, source);
  require_shape(config, source);
  refuse_what_is_not_computed(json, config, source);
  require_scaling(config, scaling_of(json, source), source);
  const double longest = json_number_or(json, "max_position_embeddings", 0, source);
  return {config, longest >= 1 && longest < 1e9 ? static_cast<std::size_t>(longest) : 0};
}

}  // namespace headroom
