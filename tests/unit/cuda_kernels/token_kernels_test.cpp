// SPDX-License-Identifier: Apache-2.0
#include "emulated_device.h"
// emulated_device.h comes first: it defines CUDA's keywords.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <limits>
#include <list>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include "headroom/workload/llm_model.h"
#include "headroom/workload/llm_workload.h"
#include "headroom_cuda/kernels/streamed_kernels.cuh"
#include "headroom_cuda/kernels/token_kernels.cuh"

namespace headroom::cuda {
namespace {

using emulated::Order;

/// Keys and values from the position on are unset.
template <int kPerLane>
void expect_attention_is_right(std::uint32_t position, std::uint32_t splits, Order order) {
  constexpr std::uint32_t kHeads = 4, kKvHeads = 2, kPositions = 420, kWidth = 32 * kPerLane;
  std::uint64_t state = position + 1;
  const auto random = [&] {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<float>(state >> 40U) * 0x1p-23F - 1;
  };
  std::vector<float> qkv((kHeads + 2 * kKvHeads) * kWidth), cosines(kPositions * kWidth / 2),
      sines(cosines.size());
  for (float& value : qkv) value = random();
  for (std::size_t i = 0; i < cosines.size(); ++i) {
    const float angle = 3 * random();
    cosines[i] = std::cos(angle);
    sines[i] = std::sin(angle);
  }
  const ExactMemory of_qkv(qkv), of_cosines(cosines), of_sines(sines),
      keys(std::size_t{2} * kKvHeads * kPositions * kWidth),
      values(std::size_t{2} * kKvHeads * kPositions * kWidth), at(std::vector<std::uint32_t>{position}),
      parts(std::size_t{4} * kHeads * splits * (kWidth + 2)),
      finished(std::vector<std::uint32_t>(std::size_t{kHeads})), y(std::size_t{2} * kHeads * kWidth);
  const auto kept = [&](const ExactMemory& of, std::size_t head, std::size_t where) {
    return of.as<std::uint16_t>() + (head * kPositions + where) * kWidth;
  };
  for (std::size_t head = 0; head < kKvHeads; ++head) {
    for (std::size_t where = 0; where < position; ++where) {
      for (std::size_t i = 0; i < kWidth; ++i) {
        kept(keys, head, where)[i] = bf16_bits(random());
        kept(values, head, where)[i] = bf16_bits(random());
      }
    }
  }
  const AttentionProblem problem{of_qkv.as<float>(),
                                 of_cosines.as<float>(),
                                 of_sines.as<float>(),
                                 keys.as<std::uint16_t>(),
                                 values.as<std::uint16_t>(),
                                 at.as<std::uint32_t>(),
                                 parts.as<float>(),
                                 finished.as<std::uint32_t>(),
                                 y.as<std::uint16_t>(),
                                 kHeads,
                                 kKvHeads,
                                 kPositions,
                                 splits};
  const auto end_of_position = at.written_later(), end_of_qkv = of_qkv.written_later();
  const auto end = [&] {
    end_of_position();
    end_of_qkv();
  };
  emulated::launch_early(kHeads * splits, kAttentionThreads, order, end,
                         [&] { attention_kernel<kPerLane>(problem); });

  const auto turned = [&](const float* from, std::size_t i) {
    const std::size_t pair = position * kWidth / 2 + i / 2;
    const double own = from[i], other = from[i ^ 1U];
    return own * cosines[pair] + (i % 2 == 0 ? -other : other) * sines[pair];
  };
  for (std::size_t head = 0; head < kHeads; ++head) {
    const std::size_t kv_head = head / (kHeads / kKvHeads);
    const float* const own_key = qkv.data() + (kHeads + kv_head) * kWidth;
    const float* const own_value = own_key + kKvHeads * kWidth;
    for (std::size_t i = 0; i < kWidth; ++i) {
      EXPECT_NEAR(bf16_value(kept(keys, kv_head, position)[i]), turned(own_key, i), 0.01);
      EXPECT_EQ(kept(values, kv_head, position)[i], bf16_bits(own_value[i]));
    }
    std::vector<double> exact(kWidth);
    double sum = 0;
    for (std::size_t where = 0; where <= position; ++where) {
      double score = 0;
      for (std::size_t i = 0; i < kWidth; ++i)
        score += turned(qkv.data() + head * kWidth, i) * bf16_value(kept(keys, kv_head, where)[i]);
      const double weight = std::exp(score / std::sqrt(kWidth));
      sum += weight;
      for (std::size_t i = 0; i < kWidth; ++i)
        exact[i] += weight * bf16_value(kept(values, kv_head, where)[i]);
    }
    for (std::size_t i = 0; i < kWidth; ++i) {
      EXPECT_NEAR(bf16_value(y.as<std::uint16_t>()[head * kWidth + i]), exact[i] / sum,
                  0.004 * std::abs(exact[i] / sum) + 1e-5)
          << position << " in " << splits << ", head " << head << ", " << i;
    }
    EXPECT_EQ(finished.as<std::uint32_t>()[head], 0U);
  }
}

TEST(TokenAttention, OfOneBlockIsRight) {
  for (const std::uint32_t position : {0U, 15U, 127U, 128U, 419U})
    expect_attention_is_right<4>(position, 1, Order::kForward);
  expect_attention_is_right<2>(300, 1, Order::kBackward);
  expect_attention_is_right<8>(300, 1, Order::kBackward);
}

TEST(TokenAttention, OfSeveralBlocksIsRight) {
  for (const std::uint32_t position : {0U, 16U, 200U, 419U})
    expect_attention_is_right<4>(position, 3, Order::kBackward);
  expect_attention_is_right<2>(410, 2, Order::kForward);
  expect_attention_is_right<8>(100, 16, Order::kForward);
}

LlmConfig small_model(const std::string& dtype, std::size_t experts, std::size_t head_dim = 64) {
  LlmConfig config;
  config.model = "small";
  config.dtype = dtype;
  config.layers = 1;
  config.heads = 4;
  config.kv_heads = 2;
  config.dim = config.heads * head_dim;
  config.hidden = 384;
  config.vocab = 88;
  config.experts = experts;
  config.chosen = experts == 1 ? 1 : 2;
  return config;
}

/// A decoder of emulated launches with DeviceDecoder's layout.
template <typename Weights, int kPerLane, unsigned kDepth>
class EmulatedDecoder {
 public:
  EmulatedDecoder(const LlmWeights& weights, std::size_t positions, Order order, unsigned threads,
                  unsigned teams, bool late, unsigned splits)
      : weights_(weights),
        config_(weights.config()),
        positions_(static_cast<std::uint32_t>(positions)),
        order_(order),
        threads_(threads),
        teams_(teams),
        late_(late),
        splits_(splits),
        x_(config_.dim * 4),
        qkv_(config_.qkv_rows() * 4),
        keys_(config_.layers * config_.kv_dim() * positions * 2),
        values_(keys_.end() - keys_.begin()),
        attended_(config_.dim * 2),
        hidden_(config_.chosen * config_.hidden * 2),
        parts_(config_.heads * splits_ * (config_.head_dim() + 2) * 4),
        finished_(std::vector<std::uint32_t>(config_.heads)),
        tokens_(std::vector<std::int32_t>(positions)),
        counters_(std::vector<std::uint32_t>(3)),
        chosen_(config_.chosen * 4),
        shares_(config_.chosen * 4),
        routed_(positions * config_.layers * config_.chosen * 4),
        logits_(config_.vocab * 4),
        rotary_(config_, positions),
        cosines_(rotary_.cosines),
        sines_(rotary_.sines) {}

  std::vector<float> forward(const std::vector<std::int32_t>& tokens) {
    std::ranges::copy(tokens, tokens_.as<std::int32_t>());
    for (std::size_t i = 0; i < tokens.size(); ++i) pass();
    const auto* const from = logits_.as<float>();
    return {from, from + config_.vocab};
  }
  LlmRouting routing(std::size_t tokens) const {
    if (!config_.is_gated()) return {};
    const auto* const from = routed_.as<std::uint32_t>();
    return {from, from + tokens * config_.layers * config_.chosen};
  }

 private:
  /// Of exact size; the matrices of an entry alternate by rows.
  StreamedMatrix matrix(const std::vector<std::vector<const LlmMatrix*>>& stack) {
    const LlmMatrix& first = *stack.front().front();
    std::vector<std::byte> bytes;
    std::vector<Bf16> scales;
    for (const auto& entry : stack) {
      for (std::size_t row = 0; row < first.rows; ++row) {
        for (const LlmMatrix* const one : entry) {
          const std::byte* const from = one->weights + row * one->row_bytes();
          bytes.insert(bytes.end(), from, from + one->row_bytes());
          if (one->scales != nullptr) scales.push_back(one->scales[row]);
        }
      }
    }
    StreamedMatrix made;
    made.weights = kept_.emplace_back(bytes).begin();
    if (!scales.empty()) made.scales = kept_.emplace_back(scales).template as<std::uint16_t>();
    made.rows = static_cast<std::uint32_t>(first.rows * stack.front().size());
    made.columns = static_cast<std::uint32_t>(first.columns);
    return made;
  }
  const std::uint16_t* vector(const Bf16* values, std::size_t count) {
    return kept_.emplace_back(std::vector<Bf16>(values, values + count)).template as<std::uint16_t>();
  }
  /// An early launch; the previous one ends with `end`.
  void launch(
      unsigned blocks, unsigned threads, const std::function<void()>& kernel,
      const std::function<void()>& end = [] {}) {
    emulated::launch_early(blocks, threads, order_, end, kernel);
  }

  void pass() {
    kept_.clear();
    auto* const x = x_.as<float>();
    auto* const counters = counters_.as<std::uint32_t>();
    const TokenSequence sequence{tokens_.as<std::int32_t>(), counters, counters + 1, counters + 2,
                                 positions_};
    const std::uint16_t* const embedding = vector(weights_.embedding(0), config_.vocab * config_.dim);
    launch(1, kTokenThreads,
           [&] { embed_kernel(sequence, embedding, x, static_cast<unsigned>(config_.dim)); });
    for (std::size_t index = 0; index < config_.layers; ++index) layer(index, counters + 1);
    const StreamedMatrix output = matrix({{&weights_.output()}});
    const NormedStream last{x, vector(weights_.final_norm(), config_.dim), config_.norm_epsilon};
    launch(2, threads_,
           [&] { normed_rows_kernel<Weights, kDepth>(output, teams_, late_, last, logits_.as<float>()); });
  }

  void layer(std::size_t index, const std::uint32_t* position) {
    const LlmLayer& of = weights_.layer(index);
    auto* const x = x_.as<float>();
    const StreamedMatrix qkv = matrix({{&of.qkv}}), out = matrix({{&of.out}});
    const NormedStream normed{x, vector(of.attention_norm, config_.dim), config_.norm_epsilon};
    launch(3, threads_,
           [&] { normed_rows_kernel<Weights, kDepth>(qkv, teams_, late_, normed, qkv_.as<float>()); });
    const std::size_t cache = index * config_.kv_dim() * positions_;
    const AttentionProblem attention{qkv_.as<float>(),
                                     cosines_.as<float>(),
                                     sines_.as<float>(),
                                     keys_.as<std::uint16_t>() + cache,
                                     values_.as<std::uint16_t>() + cache,
                                     position,
                                     parts_.as<float>(),
                                     finished_.as<std::uint32_t>(),
                                     attended_.as<std::uint16_t>(),
                                     static_cast<std::uint32_t>(config_.heads),
                                     static_cast<std::uint32_t>(config_.kv_heads),
                                     positions_,
                                     splits_};
    launch(attention.heads * splits_, kAttentionThreads, [&] { attention_kernel<kPerLane>(attention); });
    launch(2, threads_, [&] {
      added_rows_kernel<Weights, kDepth>(out, teams_, late_, attended_.as<std::uint16_t>(), x, nullptr);
    });
    feed_forward(of, index, position);
  }

  void feed_forward(const LlmLayer& of, std::size_t index, const std::uint32_t* position) {
    auto* const x = x_.as<float>();
    std::vector<std::vector<const LlmMatrix*>> ups, downs;
    for (std::size_t expert = 0; expert < config_.experts; ++expert) {
      ups.push_back({&of.w1[expert], &of.w3[expert]});
      downs.push_back({&of.w2[expert]});
    }
    StreamedMatrix up = matrix(ups), down = matrix(downs);
    const NormedStream normed{x, vector(of.ffn_norm, config_.dim), config_.norm_epsilon};
    if (config_.is_gated()) {
      const RouteProblem route{
          vector(reinterpret_cast<const Bf16*>(of.gate.weights), config_.experts * config_.dim),
          normed,
          position,
          chosen_.as<std::int32_t>(),
          shares_.as<float>(),
          routed_.as<std::uint32_t>(),
          static_cast<std::uint32_t>(config_.experts),
          static_cast<std::uint32_t>(config_.dim),
          static_cast<std::uint32_t>(config_.chosen),
          static_cast<std::uint32_t>(index),
          static_cast<std::uint32_t>(config_.layers)};
      launch(1, kTokenThreads, [&] { route_kernel(route); });
      up.chosen = chosen_.as<std::int32_t>();
      up.slots = static_cast<std::uint32_t>(config_.chosen);
    }
    // The choosing launch may still run.
    const std::function<void()> choose = config_.is_gated() ? chosen_.written_later() : [] {};
    launch(
        3, threads_,
        [&] { gated_rows_kernel<Weights, kDepth>(up, teams_, late_, normed, hidden_.as<std::uint16_t>()); },
        choose);
    for (std::size_t slot = 0; slot < config_.chosen; ++slot) {
      if (config_.is_gated()) down.chosen = chosen_.as<std::int32_t>() + slot;
      const float* const share = config_.is_gated() ? shares_.as<float>() + slot : nullptr;
      launch(2, threads_, [&] {
        added_rows_kernel<Weights, kDepth>(down, teams_, late_,
                                           hidden_.as<std::uint16_t>() + slot * config_.hidden, x, share);
      });
    }
  }

  const LlmWeights& weights_;
  const LlmConfig& config_;
  std::uint32_t positions_;
  Order order_;
  unsigned threads_, teams_;
  bool late_;
  unsigned splits_;
  ExactMemory x_, qkv_, keys_, values_, attended_, hidden_, parts_, finished_, tokens_, counters_, chosen_,
      shares_, routed_, logits_;
  RotaryTable rotary_;
  ExactMemory cosines_, sines_;
  std::list<ExactMemory> kept_;
};

template <typename Weights, int kPerLane = 2, unsigned kDepth = kShallowStream>
void expect_right(std::size_t experts, Order order, unsigned threads, unsigned teams, bool late,
                  unsigned splits = 3) {
  const char* const dtype = Weights::kBytes == 1 ? "int8" : "bf16";
  const LlmWeights weights(small_model(dtype, experts, 32 * kPerLane), 7, alone());
  const std::vector<std::int32_t> tokens{3, 77, 3, 0};
  EmulatedDecoder<Weights, kPerLane, kDepth> decoder(weights, tokens.size(), order, threads, teams, late,
                                                     splits);
  const std::vector<float> logits = decoder.forward(tokens);
  const ExactLogits exact = exact_logits(alone(), weights, tokens, decoder.routing(tokens.size()));
  EXPECT_LE(exact.routing_gap, LlmWorkload::kRoutingSlack);
  expect_close(logits, exact.logits, llm_tolerance(weights.config(), false));
}

TEST(TokenPass, Int8IsRight) {
  expect_right<Int8Weights>(1, Order::kForward, 64, 1, false);
  expect_right<Int8Weights, 2, kDeepStream>(1, Order::kBackward, 64, 2, true, 1);
}

TEST(TokenPass, Bf16IsRight) {
  expect_right<Bf16Weights, 2, kMiddleStream>(1, Order::kForward, 128, 1, true);
  expect_right<Bf16Weights, 4>(1, Order::kBackward, 64, 2, false);
}

TEST(TokenPass, ExpertsAreRight) {
  expect_right<Int8Weights>(4, Order::kForward, 64, 2, false);
  expect_right<Bf16Weights>(5, Order::kBackward, 96, 1, true);
}

std::map<std::int32_t, int> drawn(const std::vector<float>& logits, std::uint32_t top_k, float temperature,
                                  int times, unsigned threads = 64) {
  const ExactMemory memory(logits), tokens(std::vector<std::int32_t>(2)),
      counters(std::vector<std::uint32_t>(3));
  auto* const counter = counters.as<std::uint32_t>();
  SampleProblem problem;
  problem.logits = memory.as<float>();
  problem.vocab = static_cast<std::uint32_t>(logits.size());
  problem.sequence = {tokens.as<std::int32_t>(), counter, counter + 1, counter + 2, 2};
  problem.top_k = top_k;
  problem.temperature = temperature;
  problem.seed = 42;
  std::map<std::int32_t, int> found;
  for (int i = 0; i < times; ++i) {
    emulated::launch_early(
        1, threads, emulated::Order::kForward, [] {}, [&] { sample_kernel(problem); });
    ++found[tokens.as<std::int32_t>()[0]];
  }
  EXPECT_EQ(counter[2], static_cast<std::uint32_t>(times));
  return found;
}

TEST(SampleKernel, DrawsTheLikeliestAsOftenAsTheirShares) {
  std::vector<float> logits(100, -1);
  logits[7] = 2;
  logits[50] = 1;
  logits[99] = 0;
  const std::map<std::int32_t, int> found = drawn(logits, 3, 0.8F, 200);
  ASSERT_EQ(found.size(), 3U);
  const double shares[] = {std::exp(2 / 0.8), std::exp(1 / 0.8), 1};
  const double sum = std::accumulate(std::begin(shares), std::end(shares), 0.0);
  // Five standard deviations.
  const auto expect_share = [&](std::int32_t token, double share) {
    EXPECT_NEAR(found.at(token), 200 * share, 5 * std::sqrt(200 * share * (1 - share))) << token;
  };
  expect_share(7, shares[0] / sum);
  expect_share(50, shares[1] / sum);
  expect_share(99, shares[2] / sum);
}

TEST(SampleKernel, TakesTheLargestOfAnyVocabulary) {
  for (const std::size_t vocab : {1, 31, 2048, 2049, 3001}) {
    std::vector<float> logits(vocab);
    for (std::size_t i = 0; i < vocab; ++i) logits[i] = -1.0F - static_cast<float>((i * 7919) % vocab);
    logits[vocab * 2 / 3] = -0.5F;
    EXPECT_EQ(drawn(logits, 1, 0.8F, 1).begin()->first, static_cast<std::int32_t>(vocab * 2 / 3)) << vocab;
  }
}

TEST(SampleKernel, NeverDrawsANanAndAlwaysAnInfinity) {
  const float nan = std::numeric_limits<float>::quiet_NaN(),
              infinite = std::numeric_limits<float>::infinity();
  EXPECT_EQ(drawn({nan, -3, nan}, 3, 1, 5).size(), 1U);
  EXPECT_EQ(drawn({nan, -3, nan}, 3, 1, 5).begin()->first, 1);
  EXPECT_EQ(drawn({1, infinite, 2}, 3, 1, 5), (std::map<std::int32_t, int>{{1, 5}}));
}

TEST(SampleKernel, TiesStayIn) {
  EXPECT_EQ(drawn(std::vector<float>(8, 0.25F), 1, 1, 80).size(), 8U);
}

}  // namespace
}  // namespace headroom::cuda
