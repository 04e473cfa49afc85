// SPDX-License-Identifier: Apache-2.0
#include "headroom/workload/llm_reference.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "headroom/workload/oracle.h"

namespace headroom {
namespace {

using Vector = std::vector<double>;

double angle_of(std::size_t position, std::size_t pair, std::size_t width, double base) {
  return static_cast<double>(position) *
         std::pow(base, -2 * static_cast<double>(pair) / static_cast<double>(width));
}

double factor_of(std::span<const float> factors, std::size_t pair) {
  return factors.empty() ? 1 : double{factors[pair]};
}

Vector times(const Team& team, const LlmMatrix& matrix, const Vector& x) {
  Vector y = exact_gemv(team, matrix.dtype(), matrix.weights, matrix.rows, x);
  if (matrix.scales == nullptr) return y;
  for (std::size_t row = 0; row < y.size(); ++row) y[row] *= to_float(matrix.scales[row]);
  return y;
}

Vector normalised(const Vector& x, const Bf16* weight, double epsilon) {
  double squares = 0;
  for (const double value : x) squares += value * value;
  const double scale = 1 / std::sqrt(squares / static_cast<double>(x.size()) + epsilon);
  Vector y(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) y[i] = x[i] * scale * to_float(weight[i]);
  return y;
}

void add(Vector& x, const Vector& y, double factor = 1) {
  for (std::size_t i = 0; i < x.size(); ++i) x[i] += factor * y[i];
}

void softmax(Vector& scores) {
  const double most = *std::ranges::max_element(scores);
  double sum = 0;
  for (double& score : scores) sum += score = std::exp(score - most);
  for (double& score : scores) score /= sum;
}

/// The standard deviation; 1 where all are alike.
double deviation_of(const Vector& values) {
  const auto count = static_cast<double>(values.size());
  double sum = 0, squares = 0;
  for (const double value : values) sum += value / count;
  for (const double value : values) squares += (value - sum) * (value - sum) / count;
  return squares > 0 ? std::sqrt(squares) : 1;
}

/// One pass over the layers for tokens one after the other; keys and values of earlier ones stay.
class Reference {
 public:
  Reference(const Team& team, const LlmWeights& weights, const LlmRouting& routing)
      : team_(team),
        weights_(weights),
        config_(weights.config()),
        routing_(routing),
        caches_(config_.layers) {}

  ExactLogits run(std::span<const std::int32_t> tokens) {
    Vector x;
    for (; position_ < tokens.size(); ++position_) {
      const auto token = static_cast<std::size_t>(tokens[position_]);
      x = as_doubles(std::span(weights_.embedding(token), config_.dim));
      for (std::size_t layer = 0; layer < config_.layers; ++layer) {
        add(x, attention(layer, normalised(x, weights_.layer(layer).attention_norm, epsilon())));
        add(x, feed_forward(layer, normalised(x, weights_.layer(layer).ffn_norm, epsilon())));
      }
    }
    return {times(team_, weights_.output(), normalised(x, weights_.final_norm(), epsilon())), gap_};
  }

  /// Of one token behind what is kept.
  ExactToken run_behind(const LlmKept& kept, std::size_t position, std::int32_t token) {
    kept_ = &kept;
    position_ = position;
    std::vector<std::int32_t> tokens(position + 1, token);
    const ExactLogits last = run(tokens);
    ExactToken found{last.logits, {}, {}, last.routing_gap};
    for (const Cache& cache : caches_) {
      for (std::size_t head = 0; head < config_.kv_heads; ++head) {
        found.keys.insert(found.keys.end(), cache.keys[head].begin(), cache.keys[head].end());
        found.values.insert(found.values.end(), cache.values[head].begin(), cache.values[head].end());
      }
    }
    return found;
  }

 private:
  /// Keys and values of every position, a vector for each key-value head.
  struct Cache {
    std::vector<Vector> keys, values;
  };

  double epsilon() const { return double{config_.norm_epsilon}; }

  Vector attention(std::size_t index, const Vector& x) {
    const LlmLayer& layer = weights_.layer(index);
    const std::size_t width = config_.head_dim(), shared = config_.heads / config_.kv_heads;
    Vector qkv;
    for (const LlmMatrix* part : {&layer.qkv, &layer.keys, &layer.values}) {
      const Vector some = part->rows > 0 ? times(team_, *part, x) : Vector();
      qkv.insert(qkv.end(), some.begin(), some.end());
    }
    for (std::size_t row = 0; layer.bias != nullptr && row < qkv.size(); ++row) qkv[row] += layer.bias[row];
    const std::span<double> all(qkv);
    for (std::size_t head = 0; head < config_.heads + config_.kv_heads; ++head)
      exact_rotation(all.subspan(head * width, width), position_, config_.rope_base, config_.rope_factors,
                     double{config_.rope_magnitude});

    Cache& cache = caches_[index];
    cache.keys.resize(config_.kv_heads);
    cache.values.resize(config_.kv_heads);
    for (std::size_t head = 0; head < config_.kv_heads; ++head) {
      const auto key = all.subspan(config_.dim + head * width, width);
      const auto value = all.subspan(config_.dim + config_.kv_dim() + head * width, width);
      cache.keys[head].insert(cache.keys[head].end(), key.begin(), key.end());
      cache.values[head].insert(cache.values[head].end(), value.begin(), value.end());
    }
    Vector y;
    for (std::size_t kv_head = 0; kv_head < config_.kv_heads; ++kv_head) {
      const Vector keys = behind_kept(index, kv_head, cache.keys[kv_head], &LlmKept::keys);
      const Vector values = behind_kept(index, kv_head, cache.values[kv_head], &LlmKept::values);
      for (std::size_t head = kv_head * shared; head < (kv_head + 1) * shared; ++head) {
        const Vector part = exact_attention(all.subspan(head * width, width), keys, values);
        y.insert(y.end(), part.begin(), part.end());
      }
    }
    return times(team_, layer.out, y);
  }

  /// The reference's own keys or values of a head, behind those that are kept of the positions before.
  Vector behind_kept(std::size_t layer, std::size_t head, const Vector& own,
                     LlmKept::Head LlmKept::*which) const {
    if (kept_ == nullptr) return own;
    const std::size_t count = position_ * config_.head_dim();
    Vector all = as_doubles(std::span((kept_->*which)(layer, head), count));
    all.insert(all.end(), own.begin(), own.end());
    return all;
  }

  Vector feed_forward(std::size_t index, const Vector& x) {
    const LlmLayer& layer = weights_.layer(index);
    if (!config_.is_gated()) return expert(layer.w1.front(), layer.w3.front(), layer.w2.front(), x);
    const Vector scores = times(team_, layer.gate, x);
    const std::vector<std::uint32_t> chosen = choose(index, scores);
    Vector all = scores, shares;
    softmax(all);
    for (const std::uint32_t one : chosen)
      shares.push_back(config_.has_shares_of_all ? all[one] : scores[one]);
    if (!config_.has_shares_of_all) softmax(shares);
    Vector y(config_.dim);
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      const std::uint32_t one = chosen[i];
      add(y, expert(layer.w1[one], layer.w3[one], layer.w2[one], x), shares[i]);
    }
    if (config_.shared_hidden > 0) {
      const double score = times(team_, layer.shared_gate, x).front();
      add(y, expert(layer.shared_w1, layer.shared_w3, layer.shared_w2, x), 1 / (1 + std::exp(-score)));
    }
    return y;
  }

  std::vector<std::uint32_t> choose(std::size_t layer, const Vector& scores) {
    std::vector<std::uint32_t> order(config_.experts);
    std::iota(order.begin(), order.end(), 0U);
    std::ranges::stable_sort(order, [&](std::uint32_t a, std::uint32_t b) { return scores[a] > scores[b]; });
    std::vector<std::uint32_t> chosen(order.begin(),
                                      order.begin() + static_cast<std::ptrdiff_t>(config_.chosen));
    if (routing_.empty()) return chosen;
    const std::size_t at = (position_ * config_.layers + layer) * config_.chosen;
    std::copy_n(routing_.begin() + static_cast<std::ptrdiff_t>(at), config_.chosen, chosen.begin());
    double least = std::numeric_limits<double>::infinity(), left = -std::numeric_limits<double>::infinity();
    for (const std::uint32_t one : chosen) least = std::min(least, scores.at(one));
    for (const std::uint32_t one : order) {
      if (std::ranges::find(chosen, one) == chosen.end()) left = std::max(left, scores[one]);
    }
    gap_ = std::max(gap_, (left - least) / deviation_of(scores));
    return chosen;
  }

  Vector expert(const LlmMatrix& w1, const LlmMatrix& w3, const LlmMatrix& w2, const Vector& x) {
    Vector hidden = times(team_, w1, x);
    const Vector up = times(team_, w3, x);
    for (std::size_t i = 0; i < hidden.size(); ++i)
      hidden[i] = hidden[i] / (1 + std::exp(-hidden[i])) * up[i];
    return times(team_, w2, hidden);
  }

  const Team& team_;
  const LlmWeights& weights_;
  const LlmConfig& config_;
  const LlmRouting& routing_;
  std::vector<Cache> caches_;
  const LlmKept* kept_ = nullptr;
  std::size_t position_ = 0;
  double gap_ = 0;
};

}  // namespace

RotaryTable::RotaryTable(const LlmConfig& config, std::size_t positions) : pairs(config.head_dim() / 2) {
  const double magnitude = config.rope_magnitude;
  cosines.reserve(positions * pairs);
  sines.reserve(positions * pairs);
  for (std::size_t position = 0; position < positions; ++position) {
    for (std::size_t pair = 0; pair < pairs; ++pair) {
      const double angle = angle_of(position, pair, config.head_dim(), config.rope_base) /
                           factor_of(config.rope_factors, pair);
      cosines.push_back(static_cast<float>(magnitude * std::cos(angle)));
      sines.push_back(static_cast<float>(magnitude * std::sin(angle)));
    }
  }
}

void exact_rotation(std::span<double> head, std::size_t position, double base, std::span<const float> factors,
                    double magnitude) {
  for (std::size_t pair = 0; pair < head.size() / 2; ++pair) {
    const double angle = angle_of(position, pair, head.size(), base) / factor_of(factors, pair);
    const double first = magnitude * head[2 * pair], second = magnitude * head[2 * pair + 1];
    head[2 * pair] = first * std::cos(angle) - second * std::sin(angle);
    head[2 * pair + 1] = second * std::cos(angle) + first * std::sin(angle);
  }
}

std::vector<double> exact_attention(std::span<const double> query, std::span<const double> keys,
                                    std::span<const double> values) {
  const std::size_t width = query.size();
  Vector shares(keys.size() / width);
  for (std::size_t position = 0; position < shares.size(); ++position) {
    for (std::size_t i = 0; i < width; ++i) shares[position] += query[i] * keys[position * width + i];
    shares[position] /= std::sqrt(static_cast<double>(width));
  }
  softmax(shares);
  Vector y(width);
  for (std::size_t position = 0; position < shares.size(); ++position) {
    for (std::size_t i = 0; i < width; ++i) y[i] += shares[position] * values[position * width + i];
  }
  return y;
}

ExactLogits exact_logits(const Team& team, const LlmWeights& weights, std::span<const std::int32_t> tokens,
                         const LlmRouting& routing) {
  return Reference(team, weights, routing).run(tokens);
}

ExactToken exact_token(const Team& team, const LlmWeights& weights, const LlmKept& kept, std::size_t position,
                       std::int32_t token, const LlmRouting& routing) {
  return Reference(team, weights, routing).run_behind(kept, position, token);
}

}  // namespace headroom
