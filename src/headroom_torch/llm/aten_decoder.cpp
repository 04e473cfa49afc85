// SPDX-License-Identifier: Apache-2.0
#include "headroom_torch/llm/aten_decoder.h"

#include <ATen/Context.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>

#include "headroom_torch/tensors/tensors.h"

namespace headroom::torch_runner {
namespace {

std::int64_t size_of(std::size_t size) {
  return static_cast<std::int64_t>(size);
}

/// ATen rounds the residual stream to bf16 twice per layer, each up to 2^-9 of its current size.
constexpr Tolerance kDecodeTolerance{.relative = 0.3};

/// The gate and attention are too small to matter.
Precision precision_of(const LlmConfig& config) {
  const auto product = [](const at::Tensor& weights, const at::Tensor& x) {
    return at::linear(x.unsqueeze(0), weights);
  };
  const auto dim = static_cast<std::int64_t>(config.dim), hidden = static_cast<std::int64_t>(config.hidden);
  return std::min(precision_of_sums(product, {hidden, dim}, Place{}),
                  precision_of_sums(product, {dim, hidden}, Place{}));
}

/// Errors of one layer and the logits; the residual stream grows like its error.
Tolerance tolerance_of(const LlmConfig& config) {
  return tolerance_of_sums(kDecodeTolerance, precision_of(config),
                           {config.dim, config.dim, config.dim, config.hidden, config.dim}, config.vocab);
}

}  // namespace

AtenDecoder::AtenDecoder(const LlmWeights& weights, std::size_t positions, std::int64_t top_k,
                         double temperature, Int8 int8)
    : config_(weights.config()), top_k_(top_k), temperature_(temperature), int8_(int8) {
  for (std::size_t index = 0; index < config_.layers; ++index)
    layers_.push_back(layer_of(weights.layer(index), positions));
  embedding_ = view_of(weights.embedding(0), {size_of(config_.vocab), size_of(config_.dim)}, at::kBFloat16);
  final_norm_ = view_of(weights.final_norm(), {size_of(config_.dim)}, at::kBFloat16);
  output_ = matrix_of(weights.output());
  const RotaryTable rotary(config_, positions);
  const std::vector<std::int64_t> shape{size_of(positions), 1, size_of(rotary.pairs)};
  cosines_ = at::tensor(rotary.cosines).view(shape);
  sines_ = at::tensor(rotary.sines).view(shape);
}

AtenDecoder::Matrix AtenDecoder::matrix_of(const LlmMatrix& matrix) {
  const std::vector<std::int64_t> shape{size_of(matrix.rows), size_of(matrix.columns)};
  if (matrix.scales == nullptr) return {view_of(matrix.weights, shape, at::kBFloat16), {}};
  const std::int64_t count = shape[0] * shape[1];
  if (int8_ == Int8::kIntoPlace && (!converted_.defined() || converted_.numel() < count))
    converted_ = at::zeros({count}, at::kBFloat16);
  return {view_of(matrix.weights, shape, at::kChar), view_of(matrix.scales, {shape[0]}, at::kBFloat16)};
}

AtenDecoder::Layer AtenDecoder::layer_of(const LlmLayer& layer, std::size_t positions) {
  Layer made;
  made.attention_norm = view_of(layer.attention_norm, {size_of(config_.dim)}, at::kBFloat16);
  made.ffn_norm = view_of(layer.ffn_norm, {size_of(config_.dim)}, at::kBFloat16);
  if (config_.is_gated()) made.gate = matrix_of(layer.gate).weights;
  made.qkv = matrix_of(layer.qkv);
  made.out = matrix_of(layer.out);
  for (std::size_t index = 0; index < config_.experts; ++index) {
    made.w1.push_back(matrix_of(layer.w1[index]));
    made.w2.push_back(matrix_of(layer.w2[index]));
    made.w3.push_back(matrix_of(layer.w3[index]));
  }
  const std::vector<std::int64_t> cache{size_of(config_.kv_heads), size_of(positions),
                                        size_of(config_.head_dim())};
  made.keys = at::zeros(cache, at::kBFloat16);
  made.values = at::zeros(cache, at::kBFloat16);
  return made;
}

at::Tensor AtenDecoder::linear(const Matrix& matrix, const at::Tensor& x) {
  if (!matrix.scales.defined()) return at::linear(x, matrix.weights);
  if (int8_ == Int8::kFresh) return at::linear(x, matrix.weights.to(at::kBFloat16)) * matrix.scales;
  const at::Tensor room = converted_.narrow(0, 0, matrix.weights.numel()).view(matrix.weights.sizes());
  room.copy_(matrix.weights);
  return at::linear(x, room).mul_(matrix.scales);
}

at::Tensor AtenDecoder::norm(const at::Tensor& x, const at::Tensor& weight) const {
  const at::Tensor wide = x.to(at::kFloat);
  const at::Tensor squares = at::mean(wide * wide, {-1}, true);
  return (wide * at::rsqrt(squares + double{config_.norm_epsilon})).to(at::kBFloat16) * weight;
}

/// Rotates x[tokens, heads, head_dim] at the positions after those in use.
at::Tensor AtenDecoder::rotated(const at::Tensor& x) const {
  const at::Tensor pairs = x.to(at::kFloat).view({x.size(0), x.size(1), -1, 2});
  const at::Tensor first = pairs.select(3, 0), second = pairs.select(3, 1);
  const at::Tensor cosines = cosines_.narrow(0, used_, x.size(0)), sines = sines_.narrow(0, used_, x.size(0));
  return at::stack({first * cosines - second * sines, second * cosines + first * sines}, -1)
      .flatten(2)
      .to(at::kBFloat16);
}

at::Tensor AtenDecoder::attention(Layer& layer, const at::Tensor& x) {
  const std::int64_t tokens = x.size(0), width = size_of(config_.head_dim()),
                     kv_heads = size_of(config_.kv_heads);
  const std::int64_t q_dim = size_of(config_.q_dim()), kv_dim = size_of(config_.kv_dim()),
                     length = used_ + tokens;
  const std::vector<at::Tensor> parts = linear(layer.qkv, x).split_with_sizes({q_dim, kv_dim, kv_dim}, 1);
  const at::Tensor queries = rotated(parts[0].reshape({tokens, -1, width}));
  const at::Tensor keys = rotated(parts[1].reshape({tokens, kv_heads, width}));
  layer.keys.narrow(1, used_, tokens).copy_(keys.transpose(0, 1));
  layer.values.narrow(1, used_, tokens).copy_(parts[2].reshape({tokens, kv_heads, width}).transpose(0, 1));

  // Heads that share keys are adjacent: [kv_heads, heads of each * tokens, width].
  const at::Tensor grouped = queries.transpose(0, 1).reshape({kv_heads, -1, width});
  at::Tensor scores = at::matmul(grouped, layer.keys.narrow(1, 0, length).transpose(1, 2)) /
                      std::sqrt(static_cast<double>(width));
  if (tokens > 1) {
    const at::Tensor later = at::ones({tokens, length}, at::kBool).triu(used_ + 1);
    scores = scores.view({kv_heads, -1, tokens, length})
                 .masked_fill(later, -std::numeric_limits<double>::infinity())
                 .view({kv_heads, -1, length});
  }
  const at::Tensor y = at::matmul(at::softmax(scores, -1), layer.values.narrow(1, 0, length));
  return linear(layer.out, y.view({-1, tokens, width}).transpose(0, 1).reshape({tokens, q_dim}));
}

at::Tensor AtenDecoder::expert(const Layer& layer, std::size_t index, const at::Tensor& x) {
  return linear(layer.w2[index], at::silu(linear(layer.w1[index], x)) * linear(layer.w3[index], x));
}

at::Tensor AtenDecoder::feed_forward(const Layer& layer, std::size_t index, const at::Tensor& x) {
  if (!config_.is_gated()) return expert(layer, 0, x);
  const std::int64_t tokens = x.size(0), count = size_of(config_.chosen);
  auto [shares, chosen] = at::topk(at::softmax(at::linear(x, layer.gate), -1), count, -1);
  shares = shares / shares.sum(-1, true);
  std::vector<at::Tensor> sums;
  for (std::int64_t token = 0; token < tokens; ++token) {
    const at::Tensor one = x.narrow(0, token, 1);
    at::Tensor sum;
    for (std::int64_t i = 0; i < count; ++i) {
      const auto which = static_cast<std::size_t>(chosen[token][i].item<std::int64_t>());
      const auto position = static_cast<std::size_t>(used_ + token);
      routing_[(position * config_.layers + index) * config_.chosen + static_cast<std::size_t>(i)] =
          static_cast<std::uint32_t>(which);
      const at::Tensor part = expert(layer, which, one) * shares[token][i];
      sum = sum.defined() ? sum + part : part;
    }
    sums.push_back(sum);
  }
  return at::cat(sums);
}

std::span<const float> AtenDecoder::forward(std::span<const std::int32_t> tokens) {
  const at::NoGradGuard no_grad;
  const std::int64_t count = size_of(tokens.size());
  if (config_.is_gated())
    routing_.resize((static_cast<std::size_t>(used_) + tokens.size()) * config_.layers * config_.chosen);
  at::Tensor x = at::embedding(embedding_, view_of(tokens.data(), {count}, at::kInt));
  for (std::size_t index = 0; index < layers_.size(); ++index) {
    Layer& layer = layers_[index];
    x = x + attention(layer, norm(x, layer.attention_norm));
    x = x + feed_forward(layer, index, norm(x, layer.ffn_norm));
  }
  used_ += count;
  const at::Tensor last = norm(x.narrow(0, count - 1, 1), final_norm_);
  logits_ = linear(output_, last).to(at::kFloat).flatten().contiguous();
  return {logits_.data_ptr<float>(), config_.vocab};
}

std::int32_t AtenDecoder::sample() {
  const at::NoGradGuard no_grad;
  const at::Tensor scaled = logits_ / temperature_;
  const at::Tensor largest = std::get<0>(at::topk(scaled, std::min(top_k_, scaled.size(0))));
  const at::Tensor kept = scaled.masked_fill(scaled < largest[-1], -std::numeric_limits<double>::infinity());
  const at::Tensor shares = at::softmax(kept, -1);
  return static_cast<std::int32_t>(
      at::argmax(shares / at::empty_like(shares).exponential_(1)).item<std::int64_t>());
}

void AtenDecoder::rewind() {
  used_ = 0;
  routing_.clear();
}

void llm_decode(State& state, const LlmConfig& config) {
  use_threads_of(state);
  const Team team = fresh_threads(state.threads());
  const auto workload = llm_workload(state, config, team);
  const auto start = std::chrono::steady_clock::now();
  at::manual_seed(state.seed());
  const auto int8 = state.backend() == "aten" ? AtenDecoder::Int8::kFresh : AtenDecoder::Int8::kIntoPlace;
  AtenDecoder decoder(workload->weights, workload->positions(), static_cast<std::int64_t>(LlmWorkload::kTopK),
                      LlmWorkload::kTemperature, int8);
  const Tolerance tolerance = tolerance_of(workload->weights.config());
  measure_llm(state, *workload, decoder, team, tolerance, std::chrono::steady_clock::now() - start);
}

}  // namespace headroom::torch_runner
