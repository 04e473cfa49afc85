// SPDX-License-Identifier: Apache-2.0
#include "headroom_torch/ddp/transformer.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "headroom_torch/ddp/layers.h"

namespace headroom::torch_runner {
namespace {

constexpr std::int64_t kTokens = 64, kVocabulary = 1000, kModelWidth = 256, kHeads = 4, kInner = 1024;
constexpr int kLayers = 4;

class Layer {
 public:
  Layer(LayerMaker& maker, const std::string& name)
      : attention_norm_(maker, name + ".ln_1", kModelWidth),
        query_key_value_(maker, name + ".attn.c_attn", kModelWidth, 3 * kModelWidth),
        output_(maker, name + ".attn.c_proj", kModelWidth, kModelWidth),
        inner_norm_(maker, name + ".ln_2", kModelWidth),
        inner_(maker, name + ".mlp.c_fc", kModelWidth, kInner),
        outer_(maker, name + ".mlp.c_proj", kInner, kModelWidth) {}

  /// [n, tokens, width]; `mask` is added to the scores [tokens, tokens].
  at::Tensor operator()(const at::Tensor& x, const at::Tensor& mask) const {
    const at::Tensor y = x + attention(attention_norm_(x), mask);
    return y + outer_(at::gelu(inner_(inner_norm_(y))));
  }

 private:
  at::Tensor attention(const at::Tensor& x, const at::Tensor& mask) const {
    const std::int64_t n = x.size(0), tokens = x.size(1);
    const at::Tensor heads =
        query_key_value_(x).view({n, tokens, 3, kHeads, kModelWidth / kHeads}).permute({2, 0, 3, 1, 4});
    const double scale = 1 / std::sqrt(static_cast<double>(kModelWidth / kHeads));
    const at::Tensor scores = at::matmul(heads[0], heads[1].transpose(-2, -1)) * scale + mask;
    const at::Tensor mixed = at::matmul(at::softmax(scores, -1), heads[2]);
    return output_(mixed.transpose(1, 2).reshape({n, tokens, kModelWidth}));
  }

  LayerNorm attention_norm_;
  Linear query_key_value_, output_;
  LayerNorm inner_norm_;
  Linear inner_, outer_;
};

class Transformer final : public Model {
 public:
  explicit Transformer(std::uint64_t seed) {
    LayerMaker maker(parameters_, buffers_, seed);
    tokens_ = maker.normal("wte.weight", {kVocabulary, kModelWidth}, 0.02);
    positions_ = maker.normal("wpe.weight", {kTokens, kModelWidth}, 0.02);
    for (int i = 0; i < kLayers; ++i) layers_.emplace_back(maker, fmt::format("h.{}", i));
    norm_ = LayerNorm(maker, "ln_f", kModelWidth);
    head_ = Linear(maker, "lm_head", kModelWidth, kVocabulary);
    mask_ = maker.buffer(
        at::full({kTokens, kTokens}, -std::numeric_limits<float>::infinity(), at::kFloat).triu(1));
  }

  at::Tensor forward(const at::Tensor& input) override {
    at::Tensor x = at::embedding(tokens_, input) + positions_;
    for (const Layer& layer : layers_) x = layer(x, mask_);
    return head_(norm_(x)).view({-1, kVocabulary});
  }

  Batch batch(std::int64_t size, std::int64_t /*image_size*/, std::uint64_t seed) const override {
    return {at::randint(0, kVocabulary, {size, kTokens}, seeded(seed), at::TensorOptions(at::kLong)),
            at::ones({size * kTokens}, at::kLong)};
  }

 private:
  at::Tensor tokens_, positions_, mask_;
  std::vector<Layer> layers_;
  LayerNorm norm_;
  Linear head_;
};

}  // namespace

std::unique_ptr<Model> transformer(std::uint64_t seed) {
  return std::make_unique<Transformer>(seed);
}

}  // namespace headroom::torch_runner
