// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <span>
#include <vector>

#include "headroom/experiment/registry.h"
#include "headroom/experiment/state.h"
#include "headroom/workload/llm_model.h"
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

/// Decoding with one sequence: a prompt, then one new token after the other, each drawn from the 200
/// likeliest at a temperature of 0.8, as gpt-fast's benchmark does.
struct LlmWorkload {
  static constexpr std::size_t kTopK = 200;
  static constexpr float kTemperature = 0.8F;
  /// An expert is chosen rightly where its score is at most this much less than that of one that was not:
  /// scores have a standard deviation near 1 and the error of what they are made of.
  static constexpr double kRoutingSlack = 0.1;

  LlmWeights weights;
  double load_seconds;               ///< that making the weights took
  std::vector<std::int32_t> prompt;  ///< prompt_len tokens
  std::size_t new_tokens;            ///< that a generation makes

  std::size_t positions() const { return prompt.size() + new_tokens; }
  /// Tokens by which an implementation is verified: the first of a prompt at once, the last one by itself.
  std::vector<std::int32_t> verified_tokens() const;
};

/// gpt-fast's prompt, repeated or cut to `length`, for any size of the vocabulary.
std::vector<std::int32_t> llm_prompt(std::size_t length, std::size_t vocab);

/// What an iteration is: a whole generation where single tokens, each a little slower than the one before
/// it, would be told apart.
enum class LlmIteration { kToken, kGeneration };
constexpr std::size_t tokens_of(LlmIteration iteration, std::size_t new_tokens) {
  return iteration == LlmIteration::kToken ? 1 : new_tokens;
}

/// From the axes layers, prompt_len and max_new_tokens; the same weights for every case of this runner that
/// lives now. Says the work and the inputs to `state`; skips where the memory does not do, with the sizes.
std::shared_ptr<const LlmWorkload> llm_workload(State& state, LlmConfig config, const Team& team,
                                                LlmIteration iteration = LlmIteration::kToken);

/// Skips the case where the weights, keys and values of `positions` tokens in all and `rest` more bytes do
/// not fit the memory that is available with a margin of 5 %, saying what each takes.
void require_llm_memory(const State& state, const LlmConfig& config, std::size_t positions,
                        std::size_t rest = 0);

/// What the logits of a model may be off whose matrices, keys and values are multiplied with numbers rounded
/// to bf16, in units of their root mean square: 5 u / sqrt(3) sqrt(r (2 layers + 1)), with u = 2^-9 and r
/// roundings for each of the 2 layers + 1 times that something is added to the residual stream (or read from
/// it): 3 where vectors are rounded, 5 where the weights of blocks are, too. A rounding is off by up to u,
/// evenly spread, so by u / sqrt(3) in the root mean square; as independent errors, each relative to what is
/// added, they add up by their squares; 5 standard deviations are passed by one of two million values.
Tolerance llm_tolerance(const LlmConfig& config, bool rounds_weights);

/// What runs a model. Logits are those behind the last of `tokens`, which are put behind those before.
template <typename Model>
concept LlmModel = requires(Model& model, std::span<const std::int32_t> tokens) {
  { model.forward(tokens) } -> std::convertible_to<std::span<const float>>;
  { model.sample() } -> std::convertible_to<std::int32_t>;        ///< from the logits of the last forward
  model.rewind();                                                 ///< to an empty sequence
  { model.routing() } -> std::convertible_to<const LlmRouting&>;  ///< of all positions; empty without experts
};

/// One generation after the other. Each step gives one token: the first one of a generation comes of the
/// prompt.
template <LlmModel Model>
class LlmGeneration {
 public:
  LlmGeneration(Model& model, const LlmWorkload& workload) : model_(model), workload_(workload) {}

  void step() {
    if (made_ == workload_.new_tokens) made_ = 0;
    if (made_ == 0) {
      model_.rewind();
      model_.forward(workload_.prompt);
    } else {
      model_.forward(std::span(&token_, 1));
    }
    token_ = model_.sample();
    ++made_;
  }

 private:
  Model& model_;
  const LlmWorkload& workload_;
  std::int32_t token_ = 0;
  std::size_t made_ = 0;
};

/// Runs the tokens that verify: all but the last at once, then the last one.
template <LlmModel Model>
std::span<const float> run_verified_tokens(const LlmWorkload& workload, Model& model) {
  const std::vector<std::int32_t> tokens = workload.verified_tokens();
  const std::span<const std::int32_t> all(tokens);
  model.rewind();
  if (all.size() > 1) model.forward(all.first(all.size() - 1));
  return model.forward(all.last(1));
}

/// The right logits for the routing that `model` took when it last ran the tokens that verify. Throws
/// WrongAnswer where it took experts whose scores are too low: for sums below f32 by what all errors together
/// may have, too.
std::vector<double> verified_logits(const LlmWorkload& workload, const LlmRouting& routing, const Team& team,
                                    const Tolerance& tolerance);

/// Verifies to `tolerance`, and reports token_per_sec and compilation_time(s). `made_in` is the time that
/// making the model took, tuning included.
template <LlmModel Model>
void verify_llm(State& state, const LlmWorkload& workload, Model& model, const Team& team,
                Tolerance tolerance, std::chrono::duration<double> made_in,
                LlmIteration iteration = LlmIteration::kToken) {
  LlmGeneration generation(model, workload);
  const auto start = std::chrono::steady_clock::now();
  generation.step();
  const std::chrono::duration<double> first_pass = std::chrono::steady_clock::now() - start;
  std::vector<float> logits(workload.weights.config().vocab);
  const auto run = [&] {
    const std::span<const float> found = run_verified_tokens(workload, model);
    std::copy(found.begin(), found.end(), logits.begin());
  };
  run();
  try {
    const std::vector<double> expected = verified_logits(workload, model.routing(), team, tolerance);
    state.verify(run, std::span(logits), expected, tolerance);
  } catch (const WrongAnswer& wrong) {
    state.wrong_answer(wrong.reason);
  }
  state.rate("token_per_sec", static_cast<double>(tokens_of(iteration, workload.new_tokens)), "tokens/s");
  state.value("compilation_time(s)", workload.load_seconds + (made_in + first_pass).count(), "s",
              Direction::kLowerIsBetter);
}

/// The same, and measures one token as one iteration on the clock of the host.
template <LlmModel Model>
void measure_llm(State& state, const LlmWorkload& workload, Model& model, const Team& team,
                 Tolerance tolerance, std::chrono::duration<double> made_in) {
  verify_llm(state, workload, model, team, tolerance, made_in);
  LlmGeneration measured(model, workload);
  state.measure([&] { measured.step(); });
}

/// A runner's implementation of decoding with a model.
using LlmFunction = std::function<void(State&, const LlmConfig&)>;

/// Adds llama2_7b_bf16, llama2_7b_int8 and mixtral_8x7b_int8, the models of gpt-fast's benchmark, with the
/// axes and metrics that are the same for every runner, on `device`: an iteration is a token on "cpu", a
/// generation on others. They run when they are named: each takes seconds to load and gigabytes.
void add_llm_experiments(Registry& registry, const LlmFunction& decode,
                         std::initializer_list<const char*> backends, const char* device = "cpu");

/// The same models with weights of 4 bits in groups of 32 (LlmFormat::kInt4Blocks), which gpt-fast's
/// benchmark does not have: llama2_7b_int4 and mixtral_8x7b_int4.
void add_int4_llm_experiments(Registry& registry, const LlmFunction& decode,
                              std::initializer_list<const char*> backends);

}  // namespace headroom
