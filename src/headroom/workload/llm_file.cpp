// SPDX-License-Identifier: Apache-2.0
#include "headroom/workload/llm_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <map>
#include <set>
#include <stdexcept>
#include <utility>

#include "headroom/base/error.h"
#include "headroom/base/files.h"
#include "headroom/base/json.h"
#include "headroom/base/text.h"

namespace headroom {
namespace {

constexpr std::array<std::string_view, 6> kFamilies{"llama", "mistral",   "mixtral",
                                                    "qwen2", "qwen2_moe", "qwen2moe"};
/// Products of three stay exact in a double.
constexpr std::uint64_t kMaxSize = std::uint64_t{1} << 20;

void require_family(const std::string& name, const std::string& source) {
  if (std::ranges::find(kFamilies, name) != kFamilies.end()) return;
  throw Error(source + ": unsupported architecture " + quote(name) +
              "; supported: llama, mistral, mixtral, qwen2 and qwen2_moe");
}

std::size_t to_size(double value, const std::string& what) {
  if (!(value >= 1) || value > static_cast<double>(kMaxSize) || value != std::floor(value))
    throw Error(fmt::format("{} is {:g}; it must be a whole number from 1 to {}", what, value, kMaxSize));
  return static_cast<std::size_t>(value);
}

/// Prefixes the source to std::invalid_argument.
template <typename Body>
void with_source(const std::string& source, const Body& body) {
  try {
    body();
  } catch (const std::invalid_argument& unsound) {
    throw Error(source + ": " + unsound.what());
  }
}

void require_rope(double base, double epsilon, const std::string& source) {
  if (!(base > 1) || !std::isfinite(base))
    throw Error(source + ": the base of the rotation must be a number above 1");
  if (!(epsilon > 0) || epsilon > 1)
    throw Error(source + ": the epsilon of the norms must be between 0 and 1");
}

class Metadata {
 public:
  Metadata(const StoredModel& model, const std::string& source) : model_(model), source_(source) {
    architecture_ = text("general.architecture");
  }

  const std::string& architecture() const { return architecture_; }

  std::string text(const std::string& key) const {
    const auto found = model_.metadata.find(key);
    const auto* value = found == model_.metadata.end() ? nullptr : std::get_if<std::string>(&found->second);
    if (value == nullptr) throw Error(source_ + ": the metadata has no string " + quote(key));
    return *value;
  }

  std::optional<double> number(const std::string& name) const {
    const auto found = model_.metadata.find(architecture_ + "." + name);
    if (found == model_.metadata.end()) return std::nullopt;
    if (const auto* whole = std::get_if<std::uint64_t>(&found->second)) return static_cast<double>(*whole);
    if (const auto* integer = std::get_if<std::int64_t>(&found->second)) return static_cast<double>(*integer);
    if (const auto* real = std::get_if<double>(&found->second)) return *real;
    throw Error(source_ + ": the metadata entry " + quote(found->first) + " is not a number");
  }

  std::size_t size(const std::string& name) const {
    const auto value = number(name);
    const std::string what = source_ + ": the metadata entry " + quote(architecture_ + "." + name);
    if (!value) throw Error(what + " is missing");
    return to_size(*value, what);
  }

 private:
  const StoredModel& model_;
  const std::string& source_;
  std::string architecture_;
};

void refuse_unsupported(const Metadata& metadata, const LlmConfig& config, const std::string& source) {
  const auto width = static_cast<double>(config.head_dim());
  const auto rotated = metadata.number("rope.dimension_count");
  if (rotated && *rotated != width)
    throw Error(fmt::format(
        "{}: {:g} of the {:g} numbers of each head are rotated; only the rotation of all is supported",
        source, *rotated, width));
  const auto values = metadata.number("attention.value_length");
  if (values && *values != width)
    throw Error(fmt::format("{}: heads have keys of {:g} numbers and values of {:g}, which is not supported",
                            source, width, *values));
}

/// Mixtral's architecture is llama; Qwen has a separate expert size and a shared expert.
void read_experts(const Metadata& metadata, const StoredModel& model, LlmConfig& config,
                  const std::string& source) {
  if (metadata.number("expert_count").value_or(0) == 0) return;
  config.experts = metadata.size("expert_count");
  config.chosen = metadata.size("expert_used_count");
  if (config.experts == 1) throw Error(source + ": the model has one expert, which is not supported");
  if (metadata.architecture() != "qwen2moe") return;
  config.hidden = metadata.size("expert_feed_forward_length");
  config.has_shares_of_all = true;
  const StoredTensor* shared = model.find("blk.0.ffn_up_shexp.weight");
  if (shared == nullptr) throw Error(source + ": tensor 'blk.0.ffn_up_shexp.weight' is missing");
  config.shared_hidden = shared->shape.front();
}

/// As in llama.cpp, a factor without a kind means linear scaling, and 0 means none.
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
  // GGUF stores a factor on the usual magnitude instead of the magnitude.
  if (const auto more = metadata.number("rope.scaling.attn_factor"))
    scaling.magnitude = *more * (0.1 * std::log(std::max(scaling.factor, 1.0)) + 1);
  return scaling;
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
  return to_size(json_number(json, key, source), source + ": " + quote(key));
}

/// rope_scaling, or rope_parameters of newer libraries, or nullptr.
const Json* rope_of(const Json& json, const std::string& source) {
  for (const char* key : {"rope_scaling", "rope_parameters"}) {
    const Json* rope = json_optional(json, key, source);
    if (rope == nullptr) continue;
    if (!rope->is_object()) throw Error(source + ": " + quote(key) + " is not an object");
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
      throw Error(source + ": the rotation's " + quote(key) + " is not supported");
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
      throw Error(source + ": some layers have no experts, which is not supported");
  } else {
    return;
  }
  config.chosen = json_size(json, "num_experts_per_tok", source);
  if (config.experts == 1) throw Error(source + ": the model has one expert, which is not supported");
}

void refuse_unsupported(const Json& json, const std::string& source) {
  const auto refuse = [&](bool is_so, const std::string& what) {
    if (is_so) throw Error(source + ": " + what + ", which is not supported");
  };
  refuse(json_optional(json, "quantization_config", source) != nullptr,
         "the weights are quantised (quantization_config)");
  refuse(json_string_or(json, "hidden_act", "silu", source) != "silu", "hidden_act is not silu");
  const Json* bias = json_optional(json, "attention_bias", source);
  refuse(bias != nullptr && !(bias->is_boolean() && !bias->get<bool>()), "attention_bias is set");
}

namespace fs = std::filesystem;

/// Names of tensors; layers' names follow prefix and layer number.
struct Spelling {
  const char *embedding, *norm, *output, *prefix;
  const char *attention_norm, *query, *key, *value, *out, *ffn_norm, *gate, *up, *down;
  const char *router, *shared_gate, *shared_w1, *shared_w3, *shared_w2;
};
constexpr Spelling kGguf{
    "token_embd",     "output_norm",  "output",        "blk.",         "attn_norm",
    "attn_q",         "attn_k",       "attn_v",        "attn_output",  "ffn_norm",
    "ffn_gate",       "ffn_up",       "ffn_down",      "ffn_gate_inp", "ffn_gate_inp_shexp",
    "ffn_gate_shexp", "ffn_up_shexp", "ffn_down_shexp"};
constexpr Spelling kHuggingFace{"model.embed_tokens",
                                "model.norm",
                                "lm_head",
                                "model.layers.",
                                "input_layernorm",
                                "self_attn.q_proj",
                                "self_attn.k_proj",
                                "self_attn.v_proj",
                                "self_attn.o_proj",
                                "post_attention_layernorm",
                                "mlp.gate_proj",
                                "mlp.up_proj",
                                "mlp.down_proj",
                                "mlp.gate",
                                "mlp.shared_expert_gate",
                                "mlp.shared_expert.gate_proj",
                                "mlp.shared_expert.up_proj",
                                "mlp.shared_expert.down_proj"};

const Spelling& spelling_of(const LlmFile& file) {
  return file.is_gguf ? kGguf : kHuggingFace;
}

std::string name_in_layer(const LlmFile& file, std::size_t layer, const char* part,
                          const char* ending = ".weight") {
  return fmt::format("{}{}.{}{}", spelling_of(file).prefix, layer, part, ending);
}

const StoredTensor& tensor_of(const LlmFile& file, const std::string& name,
                              const std::vector<std::size_t>& shape) {
  const StoredTensor* found = file.model.find(name);
  if (found == nullptr) {
    throw Error(file.path + ": tensor " + quote(name) +
                " is missing: the file is incomplete, or its model is not supported");
  }
  if (found->shape != shape) {
    throw Error(fmt::format("{}: tensor {}: the model's other sizes require [{}]", file.path,
                            found->describe(), fmt::join(shape, ",")));
  }
  return *found;
}

struct StoredLayer {
  const StoredTensor *attention_norm, *query, *key, *value, *out, *ffn_norm;
  std::vector<StoredTensor> gate, up, down;
  const StoredTensor *router = nullptr, *shared_gate = nullptr, *shared_w1 = nullptr, *shared_w3 = nullptr,
                     *shared_w2 = nullptr;
  const StoredTensor *query_bias = nullptr, *key_bias = nullptr, *value_bias = nullptr;
};

/// Among Hugging Face files only Mixtral has experts without a shared one.
bool is_mixtral(const LlmFile& file) {
  return !file.is_gguf && file.config.is_gated() && file.config.shared_hidden == 0;
}

/// [rows, columns] each: slices of one tensor in GGUF, else separate tensors.
std::vector<StoredTensor> experts_of(const LlmFile& file, std::size_t layer, const char* part,
                                     const char* of_mixtral, std::size_t rows, std::size_t columns) {
  const std::size_t experts = file.config.experts;
  if (!file.config.is_gated()) return {tensor_of(file, name_in_layer(file, layer, part), {rows, columns})};
  std::vector<StoredTensor> found;
  if (file.is_gguf) {
    const std::string name = name_in_layer(file, layer, (std::string(part) + "_exps").c_str());
    const StoredTensor& all = tensor_of(file, name, {experts, rows, columns});
    const std::size_t bytes = all.bytes.size() / experts;
    for (std::size_t expert = 0; expert < experts; ++expert)
      found.push_back({name,
                       all.type,
                       {rows, columns},
                       all.offset + expert * bytes,
                       all.bytes.subspan(expert * bytes, bytes)});
    return found;
  }
  for (std::size_t expert = 0; expert < experts; ++expert) {
    const std::string name = is_mixtral(file)
                                 ? fmt::format("block_sparse_moe.experts.{}.{}", expert, of_mixtral)
                                 : fmt::format("mlp.experts.{}.{}", expert, std::string(part).substr(4));
    found.push_back(tensor_of(file, name_in_layer(file, layer, name.c_str()), {rows, columns}));
  }
  return found;
}

StoredLayer layer_of(const LlmFile& file, std::size_t index) {
  const LlmConfig& config = file.config;
  const Spelling& spelling = spelling_of(file);
  const auto matrix = [&](const char* part, std::size_t rows, std::size_t columns) {
    return &tensor_of(file, name_in_layer(file, index, part), {rows, columns});
  };
  const auto vector = [&](const char* part, std::size_t size, const char* ending = ".weight") {
    return &tensor_of(file, name_in_layer(file, index, part, ending), {size});
  };
  const std::size_t dim = config.dim, q_dim = config.q_dim(), kv_dim = config.kv_dim(),
                    hidden = config.hidden;
  StoredLayer layer{vector(spelling.attention_norm, dim),
                    matrix(spelling.query, q_dim, dim),
                    matrix(spelling.key, kv_dim, dim),
                    matrix(spelling.value, kv_dim, dim),
                    matrix(spelling.out, dim, q_dim),
                    vector(spelling.ffn_norm, dim),
                    experts_of(file, index, spelling.gate, "w1", hidden, dim),
                    experts_of(file, index, spelling.up, "w3", hidden, dim),
                    experts_of(file, index, spelling.down, "w2", dim, hidden)};
  if (config.is_gated())
    layer.router = matrix(is_mixtral(file) ? "block_sparse_moe.gate" : spelling.router, config.experts, dim);
  if (config.shared_hidden > 0) {
    layer.shared_gate =
        file.is_gguf ? vector(spelling.shared_gate, dim) : matrix(spelling.shared_gate, 1, dim);
    layer.shared_w1 = matrix(spelling.shared_w1, config.shared_hidden, dim);
    layer.shared_w3 = matrix(spelling.shared_w3, config.shared_hidden, dim);
    layer.shared_w2 = matrix(spelling.shared_w2, dim, config.shared_hidden);
  }
  if (config.has_bias) {
    layer.query_bias = vector(spelling.query, q_dim, ".bias");
    layer.key_bias = vector(spelling.key, kv_dim, ".bias");
    layer.value_bias = vector(spelling.value, kv_dim, ".bias");
  }
  return layer;
}

const StoredTensor& embedding_of(const LlmFile& file) {
  return tensor_of(file, std::string(spelling_of(file).embedding) + ".weight",
                   {file.config.vocab, file.config.dim});
}
const StoredTensor& norm_of(const LlmFile& file) {
  return tensor_of(file, std::string(spelling_of(file).norm) + ".weight", {file.config.dim});
}
/// Falls back to the embedding (tied weights).
const StoredTensor& output_of(const LlmFile& file) {
  const std::string name = std::string(spelling_of(file).output) + ".weight";
  if (file.model.find(name) == nullptr) return embedding_of(file);
  return tensor_of(file, name, {file.config.vocab, file.config.dim});
}

std::vector<const StoredTensor*> pointers_to(std::initializer_list<const std::vector<StoredTensor>*> lists) {
  std::vector<const StoredTensor*> pointers;
  for (const auto* list : lists) {
    for (const StoredTensor& one : *list) pointers.push_back(&one);
  }
  return pointers;
}

LlmFormat format_of(const std::vector<const StoredTensor*>& together) {
  const StoredType type = together.front()->type;
  for (const StoredTensor* tensor : together) {
    if (tensor->type != type) return LlmFormat::kBf16;
  }
  constexpr std::pair<StoredType, LlmFormat> kBlocks[] = {{StoredType::kQ8Block, LlmFormat::kInt8Blocks},
                                                          {StoredType::kQ4Block, LlmFormat::kInt4Blocks},
                                                          {StoredType::kQ4Super, LlmFormat::kInt4Super},
                                                          {StoredType::kQ5Super, LlmFormat::kInt5Super},
                                                          {StoredType::kQ6Super, LlmFormat::kInt6Super}};
  for (const auto& [stored, format] : kBlocks) {
    if (stored == type) return format;
  }
  return LlmFormat::kBf16;
}

/// Checks every tensor to read; sets file.config's formats and file.stored.
void settle_formats(LlmFile& file) {
  std::map<StoredType, std::size_t> bytes;
  for (std::size_t index = 0; index < file.config.layers; ++index) {
    const StoredLayer layer = layer_of(file, index);
    std::vector<const StoredTensor*> matrices = pointers_to({&layer.gate, &layer.up, &layer.down});
    matrices.insert(matrices.end(), {layer.query, layer.key, layer.value, layer.out});
    LlmLayerFormats formats{format_of({layer.query}),
                            format_of({layer.out}),
                            format_of(pointers_to({&layer.gate, &layer.up})),
                            format_of(pointers_to({&layer.down})),
                            format_of({layer.key}),
                            format_of({layer.value})};
    if (file.config.shared_hidden > 0) {
      matrices.insert(matrices.end(), {layer.shared_w1, layer.shared_w3, layer.shared_w2});
      formats.shared_up = format_of({layer.shared_w1, layer.shared_w3});
      formats.shared_down = format_of({layer.shared_w2});
    }
    file.config.formats.push_back(formats);
    for (const StoredTensor* one : matrices) bytes[one->type] += one->bytes.size();
  }
  embedding_of(file);
  norm_of(file);
  file.config.output_dtype = name_of(format_of({&output_of(file)}));
  const auto most = std::ranges::max_element(bytes, {}, [](const auto& one) { return one.second; });
  file.stored = name_of(most->first);
}

std::set<std::string> shards_of(const fs::path& index) {
  const std::string source = index.string();
  const Json json = parse_json(read_file(index), source);
  const Json& map = json_member(json, "weight_map", source);
  if (!map.is_object()) throw Error(source + ": weight_map is not an object");
  std::set<std::string> names;
  for (const auto& [tensor, shard] : map.items()) {
    if (!shard.is_string() || shard.string().empty() || contains(shard.string(), "/"))
      throw Error(source + ": tensor " + quote(tensor) + " is in no file of this folder");
    names.insert(shard.string());
  }
  return names;
}

void add_tensors(StoredModel& whole, StoredModel& part, const fs::path& path, const char* kind) {
  for (auto& [tensor, stored] : part.tensors) {
    if (!whole.tensors.emplace(tensor, std::move(stored)).second)
      throw Error(fmt::format("{}: tensor {} is also in another {}", path.string(), quote(tensor), kind));
  }
}

void open_safetensors(LlmFile& file, const fs::path& folder, const std::set<std::string>& names) {
  for (const std::string& name : names) {
    const fs::path path = folder / name;
    StoredModel part = parse_safetensors(file.files.emplace_back(path).bytes(), path.string());
    add_tensors(file.model, part, path, "file");
  }
}

LlmDescription open_folder(LlmFile& file, const fs::path& path) {
  const bool is_folder = fs::is_directory(path);
  const fs::path folder = is_folder ? path : path.parent_path();
  const fs::path config = folder / "config.json", index = folder / "model.safetensors.index.json";
  if (!fs::exists(config)) {
    throw Error(quote(path.string()) +
                ": there is no config.json in this folder, which gives the model's shape");
  }
  LlmDescription description = describe_llm_json(read_file(config), config.string());
  if (!is_folder) {
    open_safetensors(file, folder, {path.filename().string()});
  } else if (fs::exists(index)) {
    open_safetensors(file, folder, shards_of(index));
  } else if (fs::exists(folder / "model.safetensors")) {
    open_safetensors(file, folder, {"model.safetensors"});
  } else {
    throw Error(quote(path.string()) + " has neither model.safetensors nor model.safetensors.index.json");
  }
  return description;
}

/// "MODEL-00002-of-00003" of a split GGUF.
struct ShardName {
  std::string model;
  std::uint64_t number = 0, count = 0;  ///< from 1 on
};

constexpr std::size_t kShardDigits = 5;

std::optional<ShardName> shard_of(const std::string& stem) {
  constexpr std::string_view kOf = "-of-";
  constexpr std::size_t kEnding = 1 + kShardDigits + kOf.size() + kShardDigits;
  if (stem.size() <= kEnding) return std::nullopt;
  const std::size_t start = stem.size() - kEnding;
  const std::string number = stem.substr(start + 1, kShardDigits),
                    count = stem.substr(stem.size() - kShardDigits);
  const bool has_digits = std::ranges::all_of(number + count, is_digit);
  if (!has_digits || stem[start] != '-' || stem.compare(start + 1 + kShardDigits, kOf.size(), kOf) != 0)
    return std::nullopt;
  return ShardName{stem.substr(0, start), std::stoull(number), std::stoull(count)};
}

std::uint64_t split_number(const StoredModel& model, const char* key, std::uint64_t fallback) {
  const auto found = model.metadata.find(key);
  if (found == model.metadata.end()) return fallback;
  if (const auto* whole = std::get_if<std::uint64_t>(&found->second)) return *whole;
  const auto* integer = std::get_if<std::int64_t>(&found->second);
  return integer != nullptr && *integer >= 0 ? static_cast<std::uint64_t>(*integer) : fallback;
}

constexpr const char* kMergeShards = "put all of them in one folder, or merge them: llama-gguf-split --merge";

/// Opens all shards of a split model, given any.
void open_gguf(LlmFile& file, const fs::path& path) {
  file.model = parse_gguf(file.files.emplace_back(path).bytes(), file.path);
  const std::uint64_t count = split_number(file.model, "split.count", 1);
  if (count <= 1) return;
  const std::uint64_t tensors = split_number(file.model, "split.tensors.count", 0);
  const std::string which = fmt::format("{} is shard {} of {} of a model", quote(file.path),
                                        split_number(file.model, "split.no", 0) + 1, count);
  const auto name = shard_of(path.stem().string());
  if (!name || name->count != count) {
    throw Error(fmt::format("{}, but its name does not end in -00001-of-{:05}.gguf: name the shards so, {}",
                            which, count, kMergeShards));
  }
  StoredModel whole;
  file.files.clear();
  for (std::uint64_t number = 1; number <= count; ++number) {
    const fs::path shard = path.parent_path() / fmt::format("{}-{:05}-of-{:05}{}", name->model, number, count,
                                                            path.extension().string());
    if (!fs::exists(shard))
      throw Error(fmt::format("{}, but {} is missing: {}", which, quote(shard.string()), kMergeShards));
    StoredModel part = parse_gguf(file.files.emplace_back(shard).bytes(), shard.string());
    if (split_number(part, "split.no", 0) + 1 != number || split_number(part, "split.count", 1) != count) {
      throw Error(fmt::format("{}: its metadata says shard {} of {}, but its name says {} of {}",
                              quote(shard.string()), split_number(part, "split.no", 0) + 1,
                              split_number(part, "split.count", 1), number, count));
    }
    whole.metadata.merge(part.metadata);
    add_tensors(whole, part, shard, "shard");
  }
  if (tensors != 0 && tensors != whole.tensors.size()) {
    throw Error(fmt::format("{} of {} tensors, but the shards have {}: one belongs to another model", which,
                            tensors, whole.tensors.size()));
  }
  file.model = std::move(whole);
}

/// `width` > 0: interleaves the halves of heads of `width` rows.
std::size_t stored_row(std::size_t row, std::size_t width) {
  if (width == 0) return row;
  const std::size_t at = row % width;
  return row - at + at / 2 + at % 2 * (width / 2);
}

/// Copies rows to `to`, from row `first` on.
void copy_rows(const StoredTensor& from, const LlmMatrix& to, std::size_t first, std::size_t width,
               const Team& team) {
  const std::size_t rows = from.shape.size() > 1 ? from.shape.front() : 1;  // a gate of one row is a vector
  const std::size_t bytes = from.bytes.size() / rows, row_bytes = to.row_bytes();
  const bool is_same =
      (to.format == LlmFormat::kBf16 && from.type == StoredType::kBf16) || is_blocked(to.format);
  team([&](int worker, int workers) {
    std::vector<float> values(is_same ? 0 : to.columns);
    const Slice slice = slice_of(rows, worker, workers);
    for (std::size_t row = slice.begin; row < slice.end; ++row) {
      const std::byte* numbers = from.bytes.data() + stored_row(row, width) * bytes;
      std::byte* const into = to.weights + (first + row) * row_bytes;
      if (is_same) {
        std::memcpy(into, numbers, bytes);
        continue;
      }
      dequantise(from.type, numbers, values);
      std::ranges::transform(values, reinterpret_cast<Bf16*>(into), to_bf16);
    }
  });
}

std::vector<float> values_of(const StoredTensor& tensor) {
  std::vector<float> values(tensor.shape.front());
  dequantise(tensor.type, tensor.bytes.data(), values);
  return values;
}
void copy_vector(const StoredTensor& from, Bf16* to) {
  std::ranges::transform(values_of(from), to, to_bf16);
}
void copy_bias(const StoredTensor& from, float* to, std::size_t width) {
  const std::vector<float> values = values_of(from);
  for (std::size_t row = 0; row < values.size(); ++row) to[row] = values[stored_row(row, width)];
}

void load_layer(const LlmFile& file, const StoredLayer& from, const LlmLayer& to, const Team& team) {
  const LlmConfig& config = file.config;
  const std::size_t width = file.has_halves ? config.head_dim() : 0;
  copy_vector(*from.attention_norm, to.attention_norm);
  copy_vector(*from.ffn_norm, to.ffn_norm);
  copy_rows(*from.query, to.qkv, 0, width, team);
  const bool is_one = to.keys.rows == 0;
  copy_rows(*from.key, is_one ? to.qkv : to.keys, is_one ? config.q_dim() : 0, width, team);
  copy_rows(*from.value, is_one ? to.qkv : to.values, is_one ? config.q_dim() + config.kv_dim() : 0, 0, team);
  if (config.has_bias) {
    copy_bias(*from.query_bias, to.bias, width);
    copy_bias(*from.key_bias, to.bias + config.q_dim(), width);
    copy_bias(*from.value_bias, to.bias + config.q_dim() + config.kv_dim(), 0);
  }
  copy_rows(*from.out, to.out, 0, 0, team);
  for (std::size_t expert = 0; expert < config.experts; ++expert) {
    copy_rows(from.gate[expert], to.w1[expert], 0, 0, team);
    copy_rows(from.up[expert], to.w3[expert], 0, 0, team);
    copy_rows(from.down[expert], to.w2[expert], 0, 0, team);
  }
  if (config.is_gated()) copy_rows(*from.router, to.gate, 0, 0, team);
  if (config.shared_hidden == 0) return;
  copy_rows(*from.shared_gate, to.shared_gate, 0, 0, team);
  copy_rows(*from.shared_w1, to.shared_w1, 0, 0, team);
  copy_rows(*from.shared_w3, to.shared_w3, 0, 0, team);
  copy_rows(*from.shared_w2, to.shared_w2, 0, 0, team);
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
  if (metadata.number("attention.key_length")) config.head_size = metadata.size("attention.key_length");
  config.rope_base = metadata.number("rope.freq_base").value_or(10000);
  const double epsilon = metadata.number("attention.layer_norm_rms_epsilon").value_or(1e-5);
  config.norm_epsilon = static_cast<float>(epsilon);
  const StoredTensor* embedding = model.find("token_embd.weight");
  if (embedding == nullptr) throw Error(source + ": tensor 'token_embd.weight' is missing");
  config.vocab = embedding->shape.front();
  config.has_bias = model.find("blk.0.attn_q.bias") != nullptr;
  read_experts(metadata, model, config, source);
  require_rope(config.rope_base, epsilon, source);
  with_source(source, [&] { require_valid(config); });
  refuse_unsupported(metadata, config, source);
  with_source(source, [&] { scale_rotation(config, scaling_of(metadata, model)); });
  read_rope_factors(model, config, source);
  const auto longest = metadata.number("context_length");
  return {config, longest && *longest >= 1 && *longest < 1e9 ? static_cast<std::size_t>(*longest) : 0};
}

LlmDescription describe_llm_json(const std::string& text, const std::string& source) {
  const Json json = parse_json(text, source);
  if (!json.is_object()) throw Error(source + ": it is not a JSON object");
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
  if (json_optional(json, "head_dim", source) != nullptr)
    config.head_size = json_size(json, "head_dim", source);
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
  with_source(source, [&] { require_valid(config); });
  refuse_unsupported(json, source);
  with_source(source, [&] { scale_rotation(config, scaling_of(json, source)); });
  const double longest = json_number_or(json, "max_position_embeddings", 0, source);
  return {config, longest >= 1 && longest < 1e9 ? static_cast<std::size_t>(longest) : 0};
}

LlmFile open_llm_file(const fs::path& path) {
  LlmFile file;
  file.path = path.string();
  std::error_code problem;
  if (!fs::exists(path, problem)) throw Error(quote(file.path) + ": there is no such file or folder");
  LlmDescription description;
  if (fs::is_directory(path, problem) || path.extension() == ".safetensors") {
    description = open_folder(file, path);
    file.has_halves = true;
  } else {
    file.is_gguf = true;
    open_gguf(file, path);
    description = describe_llm_gguf(file.model, file.path);
    // llama.cpp's conversion makes rotated pairs adjacent for Llama, not for Qwen2.
    const auto& family = file.model.metadata.at("general.architecture");
    file.has_halves = std::get<std::string>(family).starts_with("qwen2");
  }
  file.config = description.config;
  file.longest = description.longest;
  const fs::path plain = fs::absolute(path).lexically_normal();
  const fs::path last = plain.has_filename() ? plain : plain.parent_path();
  file.config.model = fs::is_directory(path, problem) ? last.filename().string() : last.stem().string();
  if (const auto shard = shard_of(file.config.model)) file.config.model = shard->model;
  settle_formats(file);
  return file;
}

LlmConfig config_of_layers(const LlmFile& file, std::size_t layers) {
  if (layers > file.config.layers) {
    throw Error(fmt::format("{} has {} layers, fewer than --layers {}", quote(file.path), file.config.layers,
                            layers));
  }
  LlmConfig config = file.config;
  config.layers = layers;
  config.formats.resize(layers);
  return config;
}

LlmWeights load_llm_weights(const LlmFile& file, std::size_t layers, const Team& team) {
  LlmWeights weights = LlmWeights::zeroed(config_of_layers(file, layers), team);
  for (std::size_t index = 0; index < layers; ++index)
    load_layer(file, layer_of(file, index), weights.layer(index), team);
  const LlmMatrix embedding{reinterpret_cast<std::byte*>(weights.embedding(0)), nullptr, file.config.vocab,
                            file.config.dim, LlmFormat::kBf16};
  copy_rows(embedding_of(file), embedding, 0, 0, team);
  copy_vector(norm_of(file), weights.final_norm());
  copy_rows(output_of(file), weights.output(), 0, 0, team);
  return weights;
}

}  // namespace headroom
