// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <numeric>

#include "../error_message.h"
#include "../model_bytes.h"
#include "headroom/experiment/bf16.h"
#include "headroom/workload/llm_file.h"
#include "headroom/workload/llm_reference.h"

/// Models whose feed-forward layers are experts, from files, against the definitions of their families.
namespace headroom {
namespace {

namespace fs = std::filesystem;
using Numbers = std::vector<double>;
constexpr std::uint64_t kExperts = 5, kChosen = 2, kShared = 40;

/// Of bf16 or f32, which is made bf16 when it is read.
Numbers numbers_of(const model_bytes::Tensor& tensor) {
  Numbers numbers;
  for (std::size_t at = 0; at < tensor.bytes.size();) {
    if (tensor.type == 0) {
      float value;
      std::memcpy(&value, tensor.bytes.data() + at, sizeof value);
      numbers.push_back(to_float(to_bf16(value)));
      at += sizeof value;
    } else {
      Bf16 value;
      std::memcpy(&value, tensor.bytes.data() + at, sizeof value);
      numbers.push_back(to_float(value));
      at += sizeof value;
    }
  }
  return numbers;
}

/// A model as GGUF names its tensors: Mixtral, or Qwen's with an expert for all tokens and biases.
struct ExpertModel {
  model_bytes::Sizes sizes;
  bool is_qwen = false;
  std::vector<model_bytes::Tensor> tensors;

  explicit ExpertModel(bool qwen) : is_qwen(qwen) {
    for (model_bytes::Tensor& one : model_bytes::llama_tensors(sizes, 30, true)) {
      if (one.name.find("ffn_gate") == std::string::npos && one.name.find("ffn_up") == std::string::npos &&
          one.name.find("ffn_down") == std::string::npos)
        tensors.push_back(one);
    }
    for (std::uint64_t layer = 0; layer < sizes.layers; ++layer) {
      const auto add = [&](const char* name, std::vector<std::uint64_t> shape, float scale) {
        tensors.push_back(
            model_bytes::tensor(fmt::format("blk.{}.{}", layer, name), std::move(shape), 30, scale));
      };
      add("ffn_gate_inp.weight", {kExperts, sizes.dim}, 1);
      add("ffn_gate_exps.weight", {kExperts, sizes.hidden, sizes.dim}, 0.5F);
      add("ffn_up_exps.weight", {kExperts, sizes.hidden, sizes.dim}, 0.5F);
      add("ffn_down_exps.weight", {kExperts, sizes.dim, sizes.hidden}, 0.5F);
      if (!is_qwen) continue;
      add("ffn_gate_inp_shexp.weight", {sizes.dim}, 0.5F);
      add("ffn_gate_shexp.weight", {kShared, sizes.dim}, 0.5F);
      add("ffn_up_shexp.weight", {kShared, sizes.dim}, 0.5F);
      add("ffn_down_shexp.weight", {sizes.dim, kShared}, 0.5F);
      for (const auto& [name, rows] : {std::pair{"attn_q", 64U}, {"attn_k", 32U}, {"attn_v", 32U}})
        add((std::string(name) + ".bias").c_str(), {rows}, 1);
    }
  }

  std::string gguf() const {
    model_bytes::Metadata metadata = model_bytes::llama_metadata(sizes, is_qwen ? "qwen2moe" : "llama");
    const std::string family = is_qwen ? "qwen2moe." : "llama.";
    metadata.number(family + "expert_count", kExperts);
    metadata.number(family + "expert_used_count", kChosen);
    if (is_qwen)
      metadata.number(family + "expert_feed_forward_length", static_cast<std::uint32_t>(sizes.hidden));
    return model_bytes::gguf(metadata, tensors);
  }

  /// The same numbers under the names of Hugging Face: each expert has a tensor of its own.
  std::vector<model_bytes::Tensor> hub_tensors() const {
    const std::map<std::string, std::string> names{
        {"attn_norm", "input_layernorm"},
        {"attn_q", "self_attn.q_proj"},
        {"attn_k", "self_attn.k_proj"},
        {"attn_v", "self_attn.v_proj"},
        {"attn_output", "self_attn.o_proj"},
        {"ffn_norm", "post_attention_layernorm"},
        {"ffn_gate_inp", is_qwen ? "mlp.gate" : "block_sparse_moe.gate"},
        {"ffn_gate_exps", is_qwen ? "mlp.experts.{}.gate_proj" : "block_sparse_moe.experts.{}.w1"},
        {"ffn_up_exps", is_qwen ? "mlp.experts.{}.up_proj" : "block_sparse_moe.experts.{}.w3"},
        {"ffn_down_exps", is_qwen ? "mlp.experts.{}.down_proj" : "block_sparse_moe.experts.{}.w2"},
        {"ffn_gate_inp_shexp", "mlp.shared_expert_gate"},
        {"ffn_gate_shexp", "mlp.shared_expert.gate_proj"},
        {"ffn_up_shexp", "mlp.shared_expert.up_proj"},
        {"ffn_down_shexp", "mlp.shared_expert.down_proj"}};
    const std::map<std::string, std::string> ends{{"token_embd.weight", "model.embed_tokens.weight"},
                                                  {"output_norm.weight", "model.norm.weight"},
                                                  {"output.weight", "lm_head.weight"}};
    std::vector<model_bytes::Tensor> renamed;
    for (model_bytes::Tensor one : tensors) {
      if (const auto end = ends.find(one.name); end != ends.end()) {
        one.name = end->second;
        renamed.push_back(one);
        continue;
      }
      const std::size_t part = one.name.find('.', 4) + 1, ending = one.name.rfind('.');
      const std::string layer = "model.layers." + one.name.substr(4, part - 4);
      const std::string name = layer + names.at(one.name.substr(part, ending - part));
      const std::string last = one.name.substr(ending);
      if (one.shape.size() < 3) {
        if (one.name.find("ffn_gate_inp_shexp") != std::string::npos) one.shape = {1, sizes.dim};
        one.name = name + last;
        renamed.push_back(one);
        continue;
      }
      const std::size_t bytes = one.bytes.size() / kExperts;
      for (std::uint64_t expert = 0; expert < kExperts; ++expert) {
        renamed.push_back({fmt::format(fmt::runtime(name), expert) + last,
                           {one.shape[1], one.shape[2]},
                           one.type,
                           one.bytes.substr(expert * bytes, bytes)});
      }
    }
    return renamed;
  }

  std::string config_json() const {
    std::string text = model_bytes::config_json(sizes, is_qwen ? "qwen2_moe" : "mixtral");
    text.pop_back();
    if (!is_qwen) return text + R"(,"num_local_experts":5,"num_experts_per_tok":2})";
    return text +
           R"(,"num_experts":5,"num_experts_per_tok":2,"moe_intermediate_size":96,"norm_topk_prob":false)" +
           R"(,"shared_expert_intermediate_size":40,"decoder_sparse_step":1,"mlp_only_layers":[]})";
  }

  Numbers numbers(const std::string& name) const {
    return numbers_of(*std::ranges::find(tensors, name, &model_bytes::Tensor::name));
  }
};

Numbers times(const double* matrix, std::size_t rows, const Numbers& x) {
  Numbers y(rows);
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t i = 0; i < x.size(); ++i) y[row] += matrix[row * x.size() + i] * x[i];
  }
  return y;
}
Numbers normalised(const Numbers& x, const Numbers& weight) {
  double squares = 0;
  for (const double value : x) squares += value * value / static_cast<double>(x.size());
  Numbers y;
  for (std::size_t i = 0; i < x.size(); ++i) y.push_back(x[i] / std::sqrt(squares + 1e-5) * weight[i]);
  return y;
}
Numbers feed_forward(const double* gate, const double* up, const double* down, std::size_t hidden,
                     const Numbers& x) {
  Numbers inner = times(gate, hidden, x);
  const Numbers other = times(up, hidden, x);
  for (std::size_t i = 0; i < hidden; ++i) inner[i] = inner[i] / (1 + std::exp(-inner[i])) * other[i];
  return times(down, x.size(), inner);
}

/// What the experts of a layer add. Sources: transformers' modeling_mixtral.py (the softmax over all experts,
/// of which the chosen ones' shares are made to sum to 1) and modeling_qwen2_moe.py (they are not; an expert
/// for all tokens, times a sigmoid).
Numbers experts(const ExpertModel& model, const std::string& layer, const Numbers& x) {
  const std::size_t hidden = model.sizes.hidden, each = hidden * model.sizes.dim;
  const Numbers scores = times(model.numbers(layer + "ffn_gate_inp.weight").data(), kExperts, x);
  double sum = 0, taken = 0;
  for (const double score : scores) sum += std::exp(score);
  std::vector<std::size_t> order(kExperts);
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::sort(order, [&](std::size_t a, std::size_t b) { return scores[a] > scores[b]; });
  for (std::size_t i = 0; i < kChosen; ++i) taken += std::exp(scores[order[i]]) / sum;
  const Numbers gate = model.numbers(layer + "ffn_gate_exps.weight"),
                up = model.numbers(layer + "ffn_up_exps.weight"),
                down = model.numbers(layer + "ffn_down_exps.weight");
  Numbers y(x.size());
  for (std::size_t i = 0; i < kChosen; ++i) {
    const std::size_t at = order[i] * each;
    const double share = std::exp(scores[order[i]]) / sum / (model.is_qwen ? 1 : taken);
    const Numbers part = feed_forward(&gate[at], &up[at], &down[at], hidden, x);
    for (std::size_t k = 0; k < y.size(); ++k) y[k] += share * part[k];
  }
  if (!model.is_qwen) return y;
  const double score = times(model.numbers(layer + "ffn_gate_inp_shexp.weight").data(), 1, x).front();
  const Numbers part = feed_forward(model.numbers(layer + "ffn_gate_shexp.weight").data(),
                                    model.numbers(layer + "ffn_up_shexp.weight").data(),
                                    model.numbers(layer + "ffn_down_shexp.weight").data(), kShared, x);
  for (std::size_t k = 0; k < y.size(); ++k) y[k] += part[k] / (1 + std::exp(-score));
  return y;
}

/// The logits behind one token by itself: it attends to itself alone, so that what is attended is its value.
Numbers logits_of(const ExpertModel& model, std::size_t token) {
  const std::size_t dim = model.sizes.dim, width = dim / model.sizes.heads;
  const Numbers embedding = model.numbers("token_embd.weight");
  Numbers x(embedding.begin() + static_cast<std::ptrdiff_t>(token * dim),
            embedding.begin() + static_cast<std::ptrdiff_t>((token + 1) * dim));
  const auto add = [&](const Numbers& more) {
    for (std::size_t i = 0; i < dim; ++i) x[i] += more[i];
  };
  for (std::uint64_t index = 0; index < model.sizes.layers; ++index) {
    const std::string layer = fmt::format("blk.{}.", index);
    Numbers value = times(model.numbers(layer + "attn_v.weight").data(), model.sizes.kv_heads * width,
                          normalised(x, model.numbers(layer + "attn_norm.weight")));
    if (model.is_qwen) {
      const Numbers bias = model.numbers(layer + "attn_v.bias");
      for (std::size_t i = 0; i < value.size(); ++i) value[i] += bias[i];
    }
    Numbers attended;
    for (std::uint64_t head = 0; head < model.sizes.heads; ++head) {
      const std::uint64_t from = head / (model.sizes.heads / model.sizes.kv_heads) * width;
      for (std::size_t i = 0; i < width; ++i) attended.push_back(value[from + i]);
    }
    add(times(model.numbers(layer + "attn_output.weight").data(), dim, attended));
    add(experts(model, layer, normalised(x, model.numbers(layer + "ffn_norm.weight"))));
  }
  return times(model.numbers("output.weight").data(), model.sizes.vocab,
               normalised(x, model.numbers("output_norm.weight")));
}

class ExpertFiles : public testing::TestWithParam<bool> {
 protected:
  ExpertFiles() {
    fs::remove_all(folder_);
    fs::create_directories(folder_ / "hub");
  }
  ~ExpertFiles() override { fs::remove_all(folder_); }
  fs::path write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name, std::ios::binary) << text;
    return folder_ / name;
  }

  const fs::path folder_ = fs::path(testing::TempDir()) / (GetParam() ? "qwen_experts" : "mixtral_experts");
  const ExpertModel model_{GetParam()};
};

TEST_P(ExpertFiles, TokensGoToTheExpertsThatTheFamilySendsThemTo) {
  const Team team = fresh_threads(1);
  const LlmFile packed = open_llm_file(write("a.gguf", model_.gguf()));
  write("hub/config.json", model_.config_json());
  write("hub/model.safetensors", model_bytes::safetensors(model_.hub_tensors()));
  const LlmFile hub = open_llm_file(folder_ / "hub");
  for (const LlmFile* file : {&packed, &hub}) {
    EXPECT_EQ(file->config.experts, kExperts);
    EXPECT_EQ(file->config.shared_hidden, GetParam() ? kShared : 0);
    const LlmWeights weights = load_llm_weights(*file, 2, team);
    for (const std::int32_t token : {1, 17, 40}) {
      const std::vector<double> found = exact_logits(team, weights, std::vector{token}).logits;
      const Numbers right = logits_of(model_, static_cast<std::size_t>(token));
      double squares = 0;
      for (const double value : right) squares += value * value / static_cast<double>(right.size());
      for (std::size_t i = 0; i < right.size(); ++i)
        EXPECT_NEAR(found[i], right[i], 1e-6 * std::sqrt(squares)) << token << " " << i;
    }
  }
}

TEST_P(ExpertFiles, ATokenReadsTheExpertsThatItChooses) {
  const LlmFile file = open_llm_file(write("a.gguf", model_.gguf()));
  double bytes = 5 * 64 * 2 + (GetParam() ? 2 * 128 * 4 : 0);  // norms of bf16, biases of f32
  for (const auto& [name, stored] : file.model.tensors) {
    const bool is_gate = name.find("inp_shexp") != std::string::npos;
    if ((stored.shape.size() < 2 && !is_gate) || name == "token_embd.weight") continue;
    const double share = stored.shape.size() == 3 ? static_cast<double>(kChosen) / kExperts : 1;
    bytes += share * static_cast<double>(stored.bytes.size());
  }
  EXPECT_EQ(llm_activated(file.config).bytes, bytes);
}

TEST_P(ExpertFiles, WhatIsMissingOrNotComputedIsNamed) {
  const auto message = [&](const ExpertModel& model) {
    return test::message_of([&] { open_llm_file(write("a.gguf", model.gguf())); });
  };
  ExpertModel wrong = model_;
  const auto found = std::ranges::find(wrong.tensors, "blk.1.ffn_up_exps.weight", &model_bytes::Tensor::name);
  *found = model_bytes::tensor(found->name, {kExperts + 1, 96, 64}, 30, 1);
  EXPECT_THAT(message(wrong), testing::AllOf(testing::HasSubstr("'blk.1.ffn_up_exps.weight' [6,96,64]"),
                                             testing::HasSubstr("want [5,96,64]")));
  found->name = "other";
  EXPECT_THAT(message(wrong), testing::HasSubstr("'blk.1.ffn_up_exps.weight' is missing"));
  std::string config = model_.config_json();
  config.replace(config.find("\"num_experts_per_tok\":2"), 23, "\"num_experts_per_tok\":6");
  write("hub/config.json", config);
  EXPECT_THAT(test::message_of([&] { open_llm_file(folder_ / "hub"); }),
              testing::HasSubstr("more experts are chosen than there are"));
}

INSTANTIATE_TEST_SUITE_P(Families, ExpertFiles, testing::Bool(),
                         [](const auto& suite) { return suite.param ? "qwen2_moe" : "mixtral"; });

}  // namespace
}  // namespace headroom
