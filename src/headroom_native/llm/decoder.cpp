// SPDX-License-Identifier: Apache-2.0
#include "headroom_native/llm/decoder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace headroom::native {
namespace {

/// Tokens of a prompt that go through a layer together.
constexpr std::size_t kTokensAtOnce = 16;
/// Weights that stay in the second-level cache while all tokens are multiplied with them.
constexpr std::size_t kBlockBytes = std::size_t{192} << 10;

/// Groups of rows for a kernel that takes four at once.
constexpr std::size_t kRowsAtOnce = 4;

}  // namespace

LlmDecoder::LlmDecoder(const LlmWeights& weights, ThreadPool& pool, Isa isa, std::size_t positions,
                       TopKSampler sampler)
    : weights_(weights),
      config_(weights.config()),
      pool_(pool),
      kernel_(gemv_kernel(config_.dtype, isa)),
      gate_kernel_(gemv_kernel("bf16", isa)),
      token_(token_kernels(isa)),
      sampler_(std::move(sampler)),
      rotary_(config_, positions),
      positions_(positions),
      x_(kTokensAtOnce * config_.dim),
      qkv_(kTokensAtOnce * config_.qkv_rows()),
      attended_(kTokensAtOnce * config_.dim),
      sums_(kTokensAtOnce * config_.chosen * config_.dim),
      gate_(kTokensAtOnce * config_.chosen * config_.hidden),
      up_(gate_.size()),
      hidden_(gate_.size()),
      logits_(config_.vocab),
      workers_(static_cast<std::size_t>(pool.workers())) {
  const std::size_t largest = std::max(config_.dim, config_.hidden);
  for (std::size_t layer = 0; layer < config_.layers; ++layer) {
    for (auto* caches : {&keys_, &values_}) caches->emplace_back(positions * config_.kv_dim() * sizeof(Bf16));
  }
  for (Worker& worker : workers_) {
    worker.vector.resize(config_.dim);
    for (std::size_t slot = 0; slot < kTokensAtOnce * config_.chosen; ++slot)
      worker.prepared.emplace_back(prepared_bytes(largest));
    if (config_.is_gated()) worker.prepared_gate = Buffer(prepared_bytes(config_.dim));
    worker.scores.resize(std::max(positions, config_.experts));
    worker.shares.resize(kTokensAtOnce * config_.chosen);
    worker.products.reserve(kTokensAtOnce * config_.chosen);
  }
  if (config_.is_gated()) routing_.reserve(positions * config_.layers * config_.chosen);
}

void LlmDecoder::rewind() {
  used_ = 0;
  routing_.clear();
}

std::span<const float> LlmDecoder::forward(std::span<const std::int32_t> tokens) {
  if (tokens.empty() || tokens.size() > positions_ - used_) {
    throw std::length_error(
        fmt::format("{} tokens behind {} in room for {}", tokens.size(), used_, positions_));
  }
  while (!tokens.empty()) {
    const std::size_t some = std::min(tokens.size(), kTokensAtOnce);
    forward_some(tokens.first(some));
    tokens = tokens.subspan(some);
    if (tokens.empty()) project_output(some - 1);
  }
  return logits_;
}

void LlmDecoder::forward_some(std::span<const std::int32_t> tokens) {
  for (std::size_t token = 0; token < tokens.size(); ++token) {
    const Bf16* row = weights_.embedding(static_cast<std::size_t>(tokens[token]));
    std::transform(row, row + config_.dim, x_.begin() + static_cast<std::ptrdiff_t>(token * config_.dim),
                   to_float);
  }
  if (config_.is_gated()) routing_.resize((used_ + tokens.size()) * config_.layers * config_.chosen);
  for (std::size_t layer = 0; layer < config_.layers; ++layer) run_layer(layer, tokens.size());
  used_ += tokens.size();
}

void LlmDecoder::run_layer(std::size_t index, std::size_t tokens) {
  const LlmLayer& layer = weights_.layer(index);
  pool_.run([&](int at, int workers) {
    Worker& worker = workers_[static_cast<std::size_t>(at)];
    worker.products.clear();
    for (std::size_t token = 0; token < tokens; ++token) {
      std::byte* prepared = worker.prepared[token].data();
      kernel_.prepare(normalised(token, layer.attention_norm, worker), config_.dim, prepared);
      worker.products.push_back({prepared, qkv_.data() + token * config_.qkv_rows()});
    }
    multiply(layer.qkv, slice_of(config_.qkv_rows(), at, workers), worker.products);
  });
  pool_.run([&](int at, int workers) {
    const Slice heads = slice_of(config_.kv_heads, at, workers);
    for (std::size_t head = heads.begin; head < heads.end; ++head)
      attend(index, tokens, head, workers_[static_cast<std::size_t>(at)]);
  });
  pool_.run([&](int at, int workers) {
    Worker& worker = workers_[static_cast<std::size_t>(at)];
    const Slice rows = slice_of(config_.dim, at, workers);
    worker.products.clear();
    for (std::size_t token = 0; token < tokens; ++token) {
      std::byte* prepared = worker.prepared[token].data();
      kernel_.prepare(attended_.data() + token * config_.dim, config_.dim, prepared);
      worker.products.push_back({prepared, sums_.data() + token * config_.dim});
    }
    multiply(layer.out, rows, worker.products);
    for (std::size_t token = 0; token < tokens; ++token) {
      const std::size_t start = token * config_.dim;
      for (std::size_t row = rows.begin; row < rows.end; ++row) x_[start + row] += sums_[start + row];
    }
  });
  pool_.run([&](int at, int workers) { expand(layer, tokens, at, workers); });
  if (config_.is_gated()) record_routing(index, tokens);
  pool_.run([&](int at, int workers) { contract(layer, tokens, at, workers); });
}

/// Of one key-value head: keeps key and value of each token, and attends for the query heads that share them.
void LlmDecoder::attend(std::size_t index, std::size_t tokens, std::size_t kv_head, Worker& worker) {
  const std::size_t width = config_.head_dim(), shared = config_.heads / config_.kv_heads;
  const std::size_t start = kv_head * positions_ * width;
  Bf16* const keys = keys_[index].as<Bf16>().data() + start;
  Bf16* const values = values_[index].as<Bf16>().data() + start;
  for (std::size_t token = 0; token < tokens; ++token) {
    const std::size_t position = used_ + token;
    float* const queries = qkv_.data() + token * config_.qkv_rows();
    float* const key = queries + config_.dim + kv_head * width;
    const float* const cosines = rotary_.cosines.data() + position * rotary_.pairs;
    const float* const sines = rotary_.sines.data() + position * rotary_.pairs;
    token_.rotate(key, cosines, sines, rotary_.pairs);
    token_.round(key, width, keys + position * width);
    token_.round(key + config_.kv_dim(), width, values + position * width);
    for (std::size_t head = kv_head * shared; head < (kv_head + 1) * shared; ++head) {
      float* const query = queries + head * width;
      token_.rotate(query, cosines, sines, rotary_.pairs);
      token_.attend(query, keys, values, position + 1, width, worker.scores.data(),
                    attended_.data() + token * config_.dim + head * width);
    }
  }
}

/// The worker's rows of the hidden activations.
void LlmDecoder::expand(const LlmLayer& layer, std::size_t tokens, int at, int workers) {
  Worker& worker = workers_[static_cast<std::size_t>(at)];
  const Slice rows = slice_of(config_.hidden, at, workers);
  for (std::size_t token = 0; token < tokens; ++token) {
    const Bf16* x = normalised(token, layer.ffn_norm, worker);
    if (config_.is_gated()) choose_experts(layer, token, worker);
    kernel_.prepare(x, config_.dim, worker.prepared[token].data());
  }
  for (std::size_t expert = 0; expert < config_.experts; ++expert) {
    multiply(layer.w1[expert], rows, products_of(expert, tokens, false, gate_, config_.hidden, worker));
    multiply(layer.w3[expert], rows, products_of(expert, tokens, false, up_, config_.hidden, worker));
  }
  for (std::size_t share = 0; share < tokens * config_.chosen; ++share) {
    const std::size_t from = share * config_.hidden + rows.begin;
    token_.swiglu(gate_.data() + from, up_.data() + from, rows.size(), hidden_.data() + from);
  }
}

/// The worker's rows of what the feed-forward layer adds to the residual stream.
void LlmDecoder::contract(const LlmLayer& layer, std::size_t tokens, int at, int workers) {
  Worker& worker = workers_[static_cast<std::size_t>(at)];
  const Slice rows = slice_of(config_.dim, at, workers);
  for (std::size_t share = 0; share < tokens * config_.chosen; ++share)
    kernel_.prepare(hidden_.data() + share * config_.hidden, config_.hidden, worker.prepared[share].data());
  for (std::size_t expert = 0; expert < config_.experts; ++expert)
    multiply(layer.w2[expert], rows, products_of(expert, tokens, true, sums_, config_.dim, worker));
  for (std::size_t share = 0; share < tokens * config_.chosen; ++share) {
    const float weight = worker.shares[share].weight;
    const float* const sums = sums_.data() + share * config_.dim;
    float* const x = x_.data() + share / config_.chosen * config_.dim;
    for (std::size_t row = rows.begin; row < rows.end; ++row) x[row] += weight * sums[row];
  }
}

void LlmDecoder::project_output(std::size_t token) {
  pool_.run([&](int at, int workers) {
    Worker& worker = workers_[static_cast<std::size_t>(at)];
    std::byte* prepared = worker.prepared.front().data();
    kernel_.prepare(normalised(token, weights_.final_norm(), worker), config_.dim, prepared);
    const Product product{prepared, logits_.data()};
    multiply(weights_.output(), slice_of(config_.vocab, at, workers), std::span(&product, 1));
  });
}

/// Every worker chooses for itself, and all alike: that costs some microseconds and saves a meeting. The
/// softmax over all experts, cut to the chosen ones and scaled to 1, is the softmax over those.
void LlmDecoder::choose_experts(const LlmLayer& layer, std::size_t token, Worker& worker) const {
  gate_kernel_.prepare(worker.vector.data(), config_.dim, worker.prepared_gate.data());
  gate_kernel_.multiply(layer.gate.weights, config_.experts, config_.dim, worker.prepared_gate.data(),
                        Reach::kNear, worker.scores.data());
  Share* const shares = worker.shares.data() + token * config_.chosen;
  const auto end = worker.scores.begin() + static_cast<std::ptrdiff_t>(config_.experts);
  float most = 0, sum = 0;
  for (std::size_t i = 0; i < config_.chosen; ++i) {
    const auto best = std::max_element(worker.scores.begin(), end);
    if (i == 0) most = *best;
    shares[i] = {static_cast<std::uint32_t>(best - worker.scores.begin()), std::exp(*best - most)};
    sum += shares[i].weight;
    *best = -INFINITY;
  }
  for (std::size_t i = 0; i < config_.chosen; ++i) shares[i].weight /= sum;
}

void LlmDecoder::record_routing(std::size_t index, std::size_t tokens) {
  const std::vector<Share>& shares = workers_.front().shares;
  for (std::size_t share = 0; share < tokens * config_.chosen; ++share) {
    const std::size_t position = used_ + share / config_.chosen;
    routing_[(position * config_.layers + index) * config_.chosen + share % config_.chosen] =
        shares[share].expert;
  }
}

const Bf16* LlmDecoder::normalised(std::size_t token, const Bf16* weight, Worker& worker) const {
  token_.rms_norm(x_.data() + token * config_.dim, weight, config_.dim, config_.norm_epsilon,
                  worker.vector.data());
  return worker.vector.data();
}

void LlmDecoder::multiply(const LlmMatrix& matrix, Slice rows, std::span<const Product> products) const {
  if (products.empty()) return;
  const std::size_t row_bytes = matrix.row_bytes();
  const std::size_t block = std::max<std::size_t>(1, kBlockBytes / row_bytes / kRowsAtOnce) * kRowsAtOnce;
  const std::size_t step = products.size() == 1 ? std::max<std::size_t>(1, rows.size()) : block;
  for (std::size_t row = rows.begin; row < rows.end; row += step) {
    const std::size_t count = std::min(step, rows.end - row);
    GemvWalk walk = kernel_.far_walk;
    for (const Product& product : products) {
      kernel_.multiply(matrix.weights + row * row_bytes, count, matrix.columns, product.prepared, walk,
                       product.sums + row);
      walk = Reach::kNear;
    }
  }
  if (matrix.scales == nullptr) return;
  for (const Product& product : products) {
    for (std::size_t row = rows.begin; row < rows.end; ++row)
      product.sums[row] *= to_float(matrix.scales[row]);
  }
}

std::span<const LlmDecoder::Product> LlmDecoder::products_of(std::size_t expert, std::size_t tokens,
                                                             bool slot_for_each_share,
                                                             std::vector<float>& sums, std::size_t rows,
                                                             Worker& worker) const {
  worker.products.clear();
  for (std::size_t share = 0; share < tokens * config_.chosen; ++share) {
    if (worker.shares[share].expert != expert) continue;
    const std::size_t slot = slot_for_each_share ? share : share / config_.chosen;
    worker.products.push_back({worker.prepared[slot].data(), sums.data() + share * rows});
  }
  return worker.products;
}

}  // namespace headroom::native
