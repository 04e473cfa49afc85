// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <bit>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// Small GGUF and safetensors files; a number depends only on its position.
namespace headroom::model_bytes {

template <typename T>
void append(std::string& text, T value) {
  char bytes[sizeof value];
  std::memcpy(bytes, &value, sizeof value);
  text.append(bytes, sizeof value);
}
inline void append_text(std::string& text, std::string_view word) {
  append(text, std::uint64_t{word.size()});
  text += word;
}

struct Tensor {
  std::string name;
  std::vector<std::uint64_t> shape;
  std::uint32_t type = 0;  ///< ggml's number: 0 F32, 2 Q4_0, 8 Q8_0, 30 BF16
  std::string bytes;
};

inline float number_at(std::uint64_t place) {
  return static_cast<float>(static_cast<std::int64_t>((place * 2654435761U) % 2001) - 1000) / 1000;
}

inline Tensor tensor(const std::string& name, std::vector<std::uint64_t> shape, std::uint32_t type,
                     float scale, float middle = 0) {
  Tensor made{name, std::move(shape), type, {}};
  std::uint64_t count = 1;
  for (const std::uint64_t size : made.shape) count *= size;
  const std::uint64_t start = std::hash<std::string>()(name) % 100'000;
  for (std::uint64_t i = 0; i < count; ++i) {
    const float value = middle + scale * number_at(start + i);
    const bool begins = i % 32 == 0;
    if ((type == 2 || type == 8) && begins) append(made.bytes, std::uint16_t{0x2400});  // 2^-6
    if (type == 0) append(made.bytes, value);
    if (type == 30)
      append(made.bytes, static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(value) >> 16U));
    if (type == 8) append(made.bytes, static_cast<std::int8_t>(127 * number_at(start + i)));
    if (type == 2 && i % 32 < 16)
      append(made.bytes, static_cast<std::uint8_t>((start + i) * 2654435761U >> 7U));
  }
  return made;
}

struct Sizes {
  std::uint64_t layers = 2, dim = 64, heads = 4, kv_heads = 2, hidden = 96, vocab = 50;
  std::uint64_t head = 0;  ///< size of a head; 0: dim / heads

  std::uint64_t head_size() const { return head > 0 ? head : dim / heads; }
};

inline std::vector<Tensor> llama_tensors(const Sizes& sizes, std::uint32_t type, bool is_gguf) {
  const std::uint64_t dim = sizes.dim, q_dim = sizes.head_size() * sizes.heads,
                      kv_dim = sizes.head_size() * sizes.kv_heads;
  const auto name = [&](const char* gguf, const char* other) {
    return std::string(is_gguf ? gguf : other) + ".weight";
  };
  std::vector<Tensor> all{tensor(name("token_embd", "model.embed_tokens"), {sizes.vocab, dim}, type, 1)};
  const auto add = [&](std::uint64_t layer, const char* gguf, const char* other,
                       std::vector<std::uint64_t> shape) {
    const std::string prefix = fmt::format("{}{}.", is_gguf ? "blk." : "model.layers.", layer);
    const bool is_norm = shape.size() == 1;
    all.push_back(tensor(prefix + name(gguf, other), std::move(shape), is_norm ? 0 : type,
                         is_norm ? 0.1F : 0.2F, is_norm ? 1 : 0));
  };
  for (std::uint64_t layer = 0; layer < sizes.layers; ++layer) {
    add(layer, "attn_norm", "input_layernorm", {dim});
    add(layer, "attn_q", "self_attn.q_proj", {q_dim, dim});
    add(layer, "attn_k", "self_attn.k_proj", {kv_dim, dim});
    add(layer, "attn_v", "self_attn.v_proj", {kv_dim, dim});
    add(layer, "attn_output", "self_attn.o_proj", {dim, q_dim});
    add(layer, "ffn_norm", "post_attention_layernorm", {dim});
    add(layer, "ffn_gate", "mlp.gate_proj", {sizes.hidden, dim});
    add(layer, "ffn_up", "mlp.up_proj", {sizes.hidden, dim});
    add(layer, "ffn_down", "mlp.down_proj", {dim, sizes.hidden});
  }
  all.push_back(tensor(name("output_norm", "model.norm"), {dim}, 0, 0.1F, 1));
  all.push_back(tensor(name("output", "lm_head"), {sizes.vocab, dim}, type, 0.2F));
  return all;
}

/// GGUF metadata.
class Metadata {
 public:
  void text(std::string_view key, std::string_view value) {
    begin(key, 8);
    append_text(bytes_, value);
  }
  void number(std::string_view key, std::uint32_t value) {
    begin(key, 4);
    append(bytes_, value);
  }
  void real(std::string_view key, float value) {
    begin(key, 6);
    append(bytes_, value);
  }
  void words(std::string_view key, const std::vector<std::string>& values) {
    begin(key, 9);
    append(bytes_, std::uint32_t{8});
    append(bytes_, std::uint64_t{values.size()});
    for (const std::string& value : values) append_text(bytes_, value);
  }
  const std::string& bytes() const { return bytes_; }
  std::uint64_t count() const { return count_; }

 private:
  void begin(std::string_view key, std::uint32_t kind) {
    append_text(bytes_, key);
    append(bytes_, kind);
    ++count_;
  }
  std::string bytes_;
  std::uint64_t count_ = 0;
};

inline Metadata llama_metadata(const Sizes& sizes, std::string_view family = "llama") {
  Metadata metadata;
  const auto key = [&](const char* name) { return fmt::format("{}.{}", family, name); };
  metadata.text("general.architecture", family);
  metadata.words("tokenizer.ggml.tokens", {"a", "bc"});
  const auto number = [&](const char* name, std::uint64_t value) {
    metadata.number(key(name), static_cast<std::uint32_t>(value));
  };
  number("block_count", sizes.layers);
  number("embedding_length", sizes.dim);
  number("feed_forward_length", sizes.hidden);
  number("attention.head_count", sizes.heads);
  number("attention.head_count_kv", sizes.kv_heads);
  number("context_length", 128);
  if (sizes.head > 0) number("attention.key_length", sizes.head);
  metadata.real(key("attention.layer_norm_rms_epsilon"), 1e-5F);
  metadata.real(key("rope.freq_base"), 10000);
  return metadata;
}

inline std::string gguf(const Metadata& metadata, const std::vector<Tensor>& tensors,
                        std::uint32_t version = 3) {
  const auto padded = [](std::uint64_t size) { return (size + 31) / 32 * 32; };
  std::string text = "GGUF";
  append(text, version);
  append(text, std::uint64_t{tensors.size()});
  append(text, metadata.count());
  text += metadata.bytes();
  std::uint64_t offset = 0;
  for (const Tensor& one : tensors) {
    append_text(text, one.name);
    append(text, static_cast<std::uint32_t>(one.shape.size()));
    for (auto size = one.shape.rbegin(); size != one.shape.rend(); ++size) append(text, *size);
    append(text, one.type);
    append(text, offset);
    offset += padded(one.bytes.size());
  }
  for (const Tensor& one : tensors) {
    text.resize(padded(text.size()));
    text += one.bytes;
  }
  return text;
}

inline std::string safetensors(const std::vector<Tensor>& tensors) {
  std::string header, data;
  for (const Tensor& one : tensors) {
    header += fmt::format("{}\"{}\":{{\"dtype\":\"{}\",\"shape\":[{}],\"data_offsets\":[{},{}]}}",
                          header.empty() ? "{" : ",", one.name, one.type == 0 ? "F32" : "BF16",
                          fmt::join(one.shape, ","), data.size(), data.size() + one.bytes.size());
    data += one.bytes;
  }
  header += header.empty() ? "{}" : "}";
  std::string text;
  append(text, std::uint64_t{header.size()});
  return text + header + data;
}

inline std::string config_json(const Sizes& sizes, std::string_view family = "llama") {
  return fmt::format(
      R"({{"model_type":"{}","num_hidden_layers":{},"hidden_size":{},"intermediate_size":{},"num_attention_heads":{},"num_key_value_heads":{},"vocab_size":{},"rms_norm_eps":1e-5,"rope_theta":10000.0,"max_position_embeddings":128,"rope_scaling":null{}}})",
      family, sizes.layers, sizes.dim, sizes.hidden, sizes.heads, sizes.kv_heads, sizes.vocab,
      sizes.head > 0 ? fmt::format(",\"head_dim\":{}", sizes.head) : "");
}

}  // namespace headroom::model_bytes
