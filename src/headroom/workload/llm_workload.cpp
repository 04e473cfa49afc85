// SPDX-License-Identifier: Apache-2.0
#include "headroom/workload/llm_workload.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>

#include "headroom/base/units.h"
#include "headroom/workload/input_copies.h"
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

/// 1 if all values are equal.
double deviation_of(const Vector& values) {
  const auto count = static_cast<double>(values.size());
  double sum = 0, squares = 0;
  for (const double value : values) sum += value / count;
  for (const double value : values) squares += (value - sum) * (value - sum) / count;
  return squares > 0 ? std::sqrt(squares) : 1;
}

/// Float64 model that runs tokens one by one and keeps their keys and values.
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
      x = to_doubles(std::span(weights_.embedding(token), config_.dim));
      for (std::size_t layer = 0; layer < config_.layers; ++layer) {
        add(x, attention(layer, normalised(x, weights_.layer(layer).attention_norm, epsilon())));
        add(x, feed_forward(layer, normalised(x, weights_.layer(layer).ffn_norm, epsilon())));
      }
    }
    return {times(team_, weights_.output(), normalised(x, weights_.final_norm(), epsilon())), gap_};
  }

  ExactToken run_after(const LlmKvCache& kept, std::size_t position, std::int32_t token) {
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
  /// A vector per key-value head.
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
      const auto key = all.subspan(config_.q_dim() + head * width, width);
      const auto value = all.subspan(config_.q_dim() + config_.kv_dim() + head * width, width);
      cache.keys[head].insert(cache.keys[head].end(), key.begin(), key.end());
      cache.values[head].insert(cache.values[head].end(), value.begin(), value.end());
    }
    Vector y;
    for (std::size_t kv_head = 0; kv_head < config_.kv_heads; ++kv_head) {
      const Vector keys = cached_then_own(index, kv_head, cache.keys[kv_head], &LlmKvCache::keys);
      const Vector values = cached_then_own(index, kv_head, cache.values[kv_head], &LlmKvCache::values);
      for (std::size_t head = kv_head * shared; head < (kv_head + 1) * shared; ++head) {
        const Vector part = exact_attention(all.subspan(head * width, width), keys, values);
        y.insert(y.end(), part.begin(), part.end());
      }
    }
    return times(team_, layer.out, y);
  }

  /// Returns a head's kept keys or values, then the reference's.
  Vector cached_then_own(std::size_t layer, std::size_t head, const Vector& own,
                         LlmKvCache::Head LlmKvCache::*which) const {
    if (kept_ == nullptr) return own;
    const std::size_t count = position_ * config_.head_dim();
    Vector all = to_doubles(std::span((kept_->*which)(layer, head), count));
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
  const LlmKvCache* kept_ = nullptr;
  std::size_t position_ = 0;
  double gap_ = 0;
};

std::size_t cache_bytes(const LlmConfig& config, std::size_t positions) {
  return bytes_of(bytes_of(2, config.layers, config.kv_dim(), sizeof(Bf16)), positions);
}

void describe(State& state, const LlmConfig& config, std::size_t tokens) {
  const LlmActivated activated = llm_activated(config);
  const auto times = static_cast<double>(tokens);
  state.work({.flops = 2 * activated.parameters * times,
              .bytes = activated.bytes * times,
              .dtype = dtype_of_peak(config.dtype)});
  const char* scales = config.dtype == "int8"                 ? ", a bf16 scale for each row"
                       : is_blocked(llm_format(config.dtype)) ? ", a binary16 scale for 32 of a row"
                                                              : "";
  state.input("weights",
              fmt::format("{} uniform, variance 1/columns{}; {} in all, {} activated for a token",
                          config.dtype, scales, format_bytes(static_cast<double>(llm_bytes(config))),
                          format_bytes(activated.bytes)));
  state.input("sampling", fmt::format("top-k {}, temperature {}, batch 1", LlmWorkload::kTopK,
                                      LlmWorkload::kTemperature));
  state.note("model", config.model);
}

std::shared_ptr<LlmWorkload> make_llm(const State& state, const LlmConfig& config, std::size_t prompt_len,
                                      std::size_t new_tokens, const Team& team) {
  require_llm_memory(state, config, prompt_len + new_tokens);
  const auto start = std::chrono::steady_clock::now();
  LlmWeights weights(config, state.seed(), team);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  return std::make_shared<LlmWorkload>(
      LlmWorkload{std::move(weights), took.count(), llm_prompt(prompt_len, config.vocab), new_tokens});
}

void add_llm(Registry& registry, const std::string& name, const LlmConfig& config, const LlmFunction& decode,
             std::initializer_list<const char*> backends, const std::string& device) {
  const std::string iteration = device == "cpu" ? "token" : "generation";
  registry.add(name, [decode, config](State& state) { decode(state, config); })
      .summary("decoding of " + config.model + ", one sequence, one " + iteration + " per iteration")
      .axis("layers", {static_cast<long long>(config.layers)})
      .axis("prompt_len", {6})
      .axis("max_new_tokens", {200})
      .axis(Axis{"dtype", Axis::Kind::kText, {config.dtype}})
      .device(device)
      .backends(backends)
      .metric("token_per_sec")
      .also_metrics({"memory_bandwidth(GB/s)", "compilation_time(s)"})
      .model(config.model)
      .on_request();
}

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

ExactToken exact_token(const Team& team, const LlmWeights& weights, const LlmKvCache& kept,
                       std::size_t position, std::int32_t token, const LlmRouting& routing) {
  return Reference(team, weights, routing).run_after(kept, position, token);
}

void require_llm_memory(const State& state, const LlmConfig& config, std::size_t positions,
                        std::size_t rest) {
  LlmConfig ends = config;
  ends.layers = 0;
  ends.formats.clear();
  const std::size_t weights = llm_bytes(config), beside = llm_bytes(ends),
                    cache = cache_bytes(config, positions);
  // Leaves a margin of 5 % of the available memory.
  const std::size_t needed = bytes_of(bytes_of(weights + cache, 1) + rest, 1);
  try {
    state.require_memory(bytes_of(needed + needed / 19, 1));
  } catch (const SkipCase& skipped) {
    const auto text = [](std::size_t bytes) { return format_bytes(static_cast<double>(bytes)); };
    throw SkipCase{fmt::format(
        "{}, with a margin of 5 %: weights {} (a layer takes {}, the rest {}), keys and values {}; use fewer "
        "layers: --layers N",
        skipped.reason, text(weights), text((weights - beside) / config.layers), text(beside), text(cache))};
  }
}

Tolerance llm_tolerance(const LlmConfig& config, bool rounds_weights) {
  const double roundings = rounds_weights ? 5 : 3;
  const double added = 2 * static_cast<double>(config.layers) + 1;
  return {.relative = 5 * 0x1p-9 / std::sqrt(3.0) * std::sqrt(roundings * added)};
}

std::vector<std::int32_t> LlmWorkload::verified_tokens() const {
  constexpr std::size_t kMax = 3;  // each costs the reference a pass over all weights
  return {prompt.begin(), prompt.begin() + static_cast<std::ptrdiff_t>(std::min(kMax, prompt.size()))};
}

std::vector<std::int32_t> llm_prompt(std::size_t length, std::size_t vocab) {
  constexpr std::array<std::int32_t, 6> kPrompt{1, 15043, 29892, 590, 1024, 338};  // "Hello, my name is"
  std::vector<std::int32_t> prompt;
  for (std::size_t i = 0; i < length; ++i)
    prompt.push_back(kPrompt[i % kPrompt.size()] % static_cast<std::int32_t>(vocab));
  return prompt;
}

std::shared_ptr<const LlmWorkload> llm_workload(State& state, LlmConfig config, const Team& team,
                                                LlmIteration iteration) {
  config.layers = size_axis(state, "layers");
  const std::size_t prompt_len = size_axis(state, "prompt_len");
  const std::size_t new_tokens = size_axis(state, "max_new_tokens");
  require_llm_memory(state, config, prompt_len + new_tokens);
  describe(state, config, tokens_of(iteration, new_tokens));
  return state.shared<LlmWorkload>(
      fmt::format("llm {} {} layers={} prompt={} new={} seed={}", config.model, config.dtype, config.layers,
                  prompt_len, new_tokens, state.seed()),
      [&] { return make_llm(state, config, prompt_len, new_tokens, team); });
}

std::vector<double> verified_logits(const LlmWorkload& workload, const LlmRouting& routing, const Team& team,
                                    const Tolerance& tolerance) {
  const ExactLogits exact = exact_logits(team, workload.weights, workload.verified_tokens(), routing);
  const bool coarse = std::isfinite(tolerance.root_mean_square);
  if (exact.routing_gap > LlmWorkload::kRoutingSlack + (coarse ? tolerance.root_mean_square : 0)) {
    throw WrongAnswer{
        fmt::format("a token was routed to an expert whose score is {:.3g} below that of an expert not "
                    "chosen (float64; scores have a standard deviation of 1)",
                    exact.routing_gap)};
  }
  return exact.logits;
}

void add_llm_experiments(Registry& registry, const LlmFunction& decode,
                         std::initializer_list<const char*> backends, const char* device) {
  add_llm(registry, "llama2_7b_bf16", llama2_7b("bf16"), decode, backends, device);
  add_llm(registry, "llama2_7b_int8", llama2_7b("int8"), decode, backends, device);
  add_llm(registry, "mixtral_8x7b_int8", mixtral_8x7b("int8"), decode, backends, device);
}

void add_int4_llm_experiments(Registry& registry, const LlmFunction& decode,
                              std::initializer_list<const char*> backends) {
  add_llm(registry, "llama2_7b_int4", llama2_7b("int4"), decode, backends, "cpu");
  add_llm(registry, "mixtral_8x7b_int4", mixtral_8x7b("int4"), decode, backends, "cpu");
}

}  // namespace headroom
