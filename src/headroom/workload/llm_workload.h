// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "headroom/experiment/state.h"
#include "headroom/workload/llm_reference.h"
#include "headroom/workload/llm_weights.h"
#include "headroom/workload/team.h"

namespace headroom {

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

}  // namespace headroom
