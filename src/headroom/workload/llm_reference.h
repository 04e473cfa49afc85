// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "headroom/workload/llm_weights.h"
#include "headroom/workload/team.h"

namespace headroom {

/// cos and sin of position times frequency, times the config's rope_magnitude, [positions, head_dim / 2]
/// each: pair i of a head turns by position / base^(2 i / head_dim). Source: Su et al., "RoFormer", 2021,
/// equation 15.
struct RotaryTable {
  std::size_t pairs = 0;
  std::vector<float> cosines, sines;

  RotaryTable(const LlmConfig& config, std::size_t positions);
};

/// The experts that tokens chose: [token][layer][chosen], tokens in the order of their positions.
using LlmRouting = std::vector<std::uint32_t>;

struct ExactLogits {
  std::vector<double> logits;  ///< [vocab], behind the last token
  /// By how many standard deviations of the scores that of an expert that was not taken exceeds that of one
  /// that was: 0 where the routing is the reference's own.
  double routing_gap = 0;
};

/// The logits behind `tokens` in float64, computed as plainly as possible. Nothing is rounded on the way.
/// Where the model has experts, those of `routing` are taken, as a score that lies between two experts may
/// fall either way; empty: the reference's own choice.
ExactLogits exact_logits(const Team& team, const LlmWeights& weights, std::span<const std::int32_t> tokens,
                         const LlmRouting& routing = {});

/// The keys and values that an implementation has of a sequence: of a key-value head [positions, head_dim].
struct LlmKept {
  using Head = std::function<const Bf16*(std::size_t layer, std::size_t head)>;
  Head keys, values;
};

/// What one token gives in float64.
struct ExactToken {
  std::vector<double> logits;
  std::vector<double> keys, values;  ///< [layers, kv_dim]; keys are rotated
  double routing_gap = 0;            ///< as ExactLogits has it
};

/// Of `token` at `position`, where at those before it lies what an implementation has kept: the right answer
/// to a long context for the price of one token. Routing, where not empty, is of all positions up to this
/// one.
ExactToken exact_token(const Team& team, const LlmWeights& weights, const LlmKept& kept, std::size_t position,
                       std::int32_t token, const LlmRouting& routing = {});

/// One head's attention in float64: query[width], keys and values [positions, width].
std::vector<double> exact_attention(std::span<const double> query, std::span<const double> keys,
                                    std::span<const double> values);

/// Turns the pairs (x[0], x[1]), (x[2], x[3]), ... of a head at `position`; the frequency of each is divided
/// by its factor, where there are factors, and the head becomes `magnitude` times as long.
void exact_rotation(std::span<double> head, std::size_t position, double base,
                    std::span<const float> factors = {}, double magnitude = 1);

}  // namespace headroom
