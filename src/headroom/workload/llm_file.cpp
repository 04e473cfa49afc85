// SPDX-License-Identifier: Apache-2.0
#include "headroom/workload/llm_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <set>

#include "headroom/base/error.h"
#include "headroom/base/files.h"
#include "headroom/base/json.h"
#include "headroom/base/text.h"
#include "headroom/workload/gguf_file.h"
#include "headroom/workload/llm_description.h"
#include "headroom/workload/safetensors_file.h"
#include "headroom/workload/slice.h"

namespace headroom {
namespace {

namespace fs = std::filesystem;

/// How files spell their tensors; those of layers follow the prefix and the number of the layer.
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
    throw Error(file.path + ": tensor " + in_quotes(name) +
                " is missing: the file is incomplete, or of a model that is not read");
  }
  if (found->shape != shape) {
    throw Error(fmt::format("{}: tensor {}: the model's other sizes want [{}]", file.path, found->describe(),
                            fmt::join(shape, ",")));
  }
  return *found;
}

/// The tensors of a layer.
struct StoredLayer {
  const StoredTensor *attention_norm, *query, *key, *value, *out, *ffn_norm;
  std::vector<StoredTensor> gate, up, down;  ///< of each expert
  const StoredTensor *router = nullptr, *shared_gate = nullptr, *shared_w1 = nullptr, *shared_w3 = nullptr,
                     *shared_w2 = nullptr;
  const StoredTensor *query_bias = nullptr, *key_bias = nullptr, *value_bias = nullptr;
};

/// Only Mixtral's experts have no width of their own, and no expert for all tokens beside them.
bool is_mixtral(const LlmFile& file) {
  return !file.is_gguf && file.config.is_gated() && file.config.shared_hidden == 0;
}

/// The matrices [rows, columns] of each expert: one tensor of all in GGUF, one for each elsewhere.
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
  const std::size_t dim = config.dim, kv_dim = config.kv_dim(), hidden = config.hidden;
  StoredLayer layer{vector(spelling.attention_norm, dim),
                    matrix(spelling.query, dim, dim),
                    matrix(spelling.key, kv_dim, dim),
                    matrix(spelling.value, kv_dim, dim),
                    matrix(spelling.out, dim, dim),
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
    layer.query_bias = vector(spelling.query, dim, ".bias");
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
/// Where there is none, the embedding does for it, too.
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
  switch (type) {
    case StoredType::kQ8Block:
      return LlmFormat::kInt8Blocks;
    case StoredType::kQ4Block:
      return LlmFormat::kInt4Blocks;
    case StoredType::kQ4Super:
      return LlmFormat::kInt4Super;
    case StoredType::kQ5Super:
      return LlmFormat::kInt5Super;
    case StoredType::kQ6Super:
      return LlmFormat::kInt6Super;
    default:
      return LlmFormat::kBf16;
  }
}

/// Looks at every tensor that will be read, and says in the config how their numbers will lie in memory.
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

/// The shards that an index names, each once.
std::set<std::string> shards_of(const fs::path& index) {
  const std::string source = index.string();
  const Json json = parse_json(read_file(index), source);
  const Json& map = json_member(json, "weight_map", source);
  if (!map.is_object()) throw Error(source + ": weight_map is no object");
  std::set<std::string> names;
  for (const auto& [tensor, shard] : map.items()) {
    if (!shard.is_string() || shard.string().empty() || contains(shard.string(), "/"))
      throw Error(source + ": tensor " + in_quotes(tensor) + " lies in no file of this folder");
    names.insert(shard.string());
  }
  return names;
}

void open_safetensors(LlmFile& file, const fs::path& folder, const std::set<std::string>& names) {
  for (const std::string& name : names) {
    const fs::path path = folder / name;
    StoredModel part = parse_safetensors(file.files.emplace_back(path).bytes(), path.string());
    for (auto& [tensor, stored] : part.tensors) {
      if (!file.model.tensors.emplace(tensor, std::move(stored)).second)
        throw Error(path.string() + ": tensor " + in_quotes(tensor) + " is in another file, too");
    }
  }
}

LlmDescription open_folder(LlmFile& file, const fs::path& path) {
  const bool is_folder = fs::is_directory(path);
  const fs::path folder = is_folder ? path : path.parent_path();
  const fs::path config = folder / "config.json", index = folder / "model.safetensors.index.json";
  if (!fs::exists(config)) {
    throw Error(in_quotes(path.string()) +
                ": there is no config.json beside the weights, and without it nobody "
                "knows the model's shape");
  }
  LlmDescription description = describe_llm_json(read_file(config), config.string());
  if (!is_folder) {
    open_safetensors(file, folder, {path.filename().string()});
  } else if (fs::exists(index)) {
    open_safetensors(file, folder, shards_of(index));
  } else if (fs::exists(folder / "model.safetensors")) {
    open_safetensors(file, folder, {"model.safetensors"});
  } else {
    throw Error(in_quotes(path.string()) + " has neither model.safetensors nor model.safetensors.index.json");
  }
  return description;
}

/// Rows of `from`, in their order or with the halves of heads of `width` rows interleaved, from row `first`
/// of `to` on.
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
      const std::size_t at = width == 0 ? row : row % width;
      const std::size_t source = width == 0 ? row : row - at + at / 2 + at % 2 * (width / 2);
      const std::byte* numbers = from.bytes.data() + source * bytes;
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
  for (std::size_t row = 0; row < values.size(); ++row) {
    const std::size_t at = width == 0 ? row : row % width;
    to[row] = values[width == 0 ? row : row - at + at / 2 + at % 2 * (width / 2)];
  }
}

void load_layer(const LlmFile& file, const StoredLayer& from, const LlmLayer& to, const Team& team) {
  const LlmConfig& config = file.config;
  const std::size_t width = file.has_halves ? config.head_dim() : 0;
  copy_vector(*from.attention_norm, to.attention_norm);
  copy_vector(*from.ffn_norm, to.ffn_norm);
  copy_rows(*from.query, to.qkv, 0, width, team);
  const bool is_one = to.keys.rows == 0;
  copy_rows(*from.key, is_one ? to.qkv : to.keys, is_one ? config.dim : 0, width, team);
  copy_rows(*from.value, is_one ? to.qkv : to.values, is_one ? config.dim + config.kv_dim() : 0, 0, team);
  if (config.has_bias) {
    copy_bias(*from.query_bias, to.bias, width);
    copy_bias(*from.key_bias, to.bias + config.dim, width);
    copy_bias(*from.value_bias, to.bias + config.dim + config.kv_dim(), 0);
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

LlmFile open_llm_file(const fs::path& path) {
  LlmFile file;
  file.path = path.string();
  std::error_code problem;
  if (!fs::exists(path, problem)) throw Error(in_quotes(file.path) + ": there is no such file or folder");
  LlmDescription description;
  if (fs::is_directory(path, problem) || path.extension() == ".safetensors") {
    description = open_folder(file, path);
    file.has_halves = true;
  } else {
    file.is_gguf = true;
    file.model = parse_gguf(file.files.emplace_back(path).bytes(), file.path);
    description = describe_llm_gguf(file.model, file.path);
    // Of Llama's files the rows of queries and keys were put side by side when they were converted.
    const auto& family = file.model.metadata.at("general.architecture");
    file.has_halves = std::get<std::string>(family).starts_with("qwen2");
  }
  file.config = description.config;
  file.longest = description.longest;
  const fs::path plain = fs::absolute(path).lexically_normal();
  const fs::path last = plain.has_filename() ? plain : plain.parent_path();
  file.config.model = fs::is_directory(path, problem) ? last.filename().string() : last.stem().string();
  settle_formats(file);
  return file;
}

LlmConfig config_of_layers(const LlmFile& file, std::size_t layers) {
  if (layers > file.config.layers) {
    throw Error(fmt::format("{} has {} layers: --layers {} is more", in_quotes(file.path), file.config.layers,
                            layers));
  }
  LlmConfig config = file.config;
  config.layers = layers;
  config.formats.resize(layers);
  return config;
}

LlmWeights load_llm_weights(const LlmFile& file, std::size_t layers, const Team& team) {
  LlmWeights weights = LlmWeights::unfilled(config_of_layers(file, layers), team);
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
