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

/// Cosines and sines of position times frequency, times rope_magnitude, [positions, head_dim / 2] each: pair
/// i turns by position / base^(2 i / head_dim). Source: Su et al., "RoFormer", 2021, equation 15.
struct RotaryTable {
  std::size_t pairs = 0;
  std::vector<float> cosines, sines;

  RotaryTable(const LlmConfig& config, std::size_t positions);
};

/// [token][layer][chosen], tokens in order of position.
using LlmRouting = std::vector<std::uint32_t>;

struct ExactLogits {
  std::vector<double> logits;  ///< [vocab], after the last token
  /// Largest excess of an expert's score outside the given routing over one within, in standard deviations of
  /// the scores; 0 if the reference routes the same way.
  double routing_gap = 0;
};

/// Logits after `tokens` in float64, without intermediate rounding. Uses the experts of `routing`, since
/// rounding decides between close scores; empty: the highest scores.
ExactLogits exact_logits(const Team& team, const LlmWeights& weights, std::span<const std::int32_t> tokens,
                         const LlmRouting& routing = {});

/// [positions, head_dim] per key-value head.
struct LlmKvCache {
  using Head = std::function<const Bf16*(std::size_t layer, std::size_t head)>;
  Head keys, values;
};

struct ExactToken {
  std::vector<double> logits;
  std::vector<double> keys, values;  ///< [layers, kv_dim]; keys are rotated
  double routing_gap = 0;            ///< as in ExactLogits
};

/// Computes `token` at `position` from an implementation's keys and values of earlier positions: the
/// reference of a long context at the price of one token. `routing` is empty or covers positions up to this
/// one.
ExactToken exact_token(const Team& team, const LlmWeights& weights, const LlmKvCache& kept,
                       std::size_t position, std::int32_t token, const LlmRouting& routing = {});

/// query[width], keys and values [positions, width].
std::vector<double> exact_attention(std::span<const double> query, std::span<const double> keys,
                                    std::span<const double> values);

/// Rotates the pairs (x[0], x[1]), (x[2], x[3]), ... of a head. `factors`, if any, divide the frequencies;
/// `magnitude` scales the head.
void exact_rotation(std::span<double> head, std::size_t position, double base,
                    std::span<const float> factors = {}, double magnitude = 1);

/// Decodes one sequence: a prompt, then tokens drawn from the 200 likeliest at temperature 0.8, as in
/// gpt-fast's benchmark.
struct LlmWorkload {
  static constexpr std::size_t kTopK = 200;
  static constexpr float kTemperature = 0.8F;
  /// Largest acceptable excess of an unchosen expert's score; scores have a standard deviation near 1.
  static constexpr double kRoutingSlack = 0.1;

  LlmWeights weights;
  double load_seconds;
  std::vector<std::int32_t> prompt;
  std::size_t new_tokens;

  std::size_t positions() const { return prompt.size() + new_tokens; }
  /// The first tokens of the prompt; the last runs separately.
  std::vector<std::int32_t> verified_tokens() const;
};

/// gpt-fast's, repeated or cut to `length`.
std::vector<std::int32_t> llm_prompt(std::size_t length, std::size_t vocab);

/// kGeneration: for devices that resolve the slow-down along a sequence.
enum class LlmIteration { kToken, kGeneration };
constexpr std::size_t tokens_of(LlmIteration iteration, std::size_t new_tokens) {
  return iteration == LlmIteration::kToken ? 1 : new_tokens;
}

/// From the axes layers, prompt_len and max_new_tokens; live cases of this runner share the weights. Declares
/// work and inputs; skips the case, with the sizes, if memory is short.
std::shared_ptr<const LlmWorkload> llm_workload(State& state, LlmConfig config, const Team& team,
                                                LlmIteration iteration = LlmIteration::kToken);

/// Skips the case, with the sizes, unless the weights, keys and values of `positions` tokens, and `rest` more
/// bytes fit the available memory with 5 % to spare.
void require_llm_memory(const State& state, const LlmConfig& config, std::size_t positions,
                        std::size_t rest = 0);

/// Tolerance of the logits with numbers rounded to bf16, in units of their root mean square: 5 u / sqrt(3)
/// sqrt(r (2 layers + 1)), u = 2^-9. r is the number of roundings for each of the 2 layers + 1 additions to
/// (or reads from) the residual stream: 3 for rounded vectors, 5 with rounded weights of blocks. Rounding
/// errors are uniform up to u, so u / sqrt(3) in the root mean square; independent ones, relative to the
/// added term, add by squares. One of two million values exceeds 5 standard deviations.
Tolerance llm_tolerance(const LlmConfig& config, bool rounds_weights);

/// `forward` appends tokens and returns the logits that `sample` draws from.
template <typename Model>
concept LlmModel = requires(Model& model, std::span<const std::int32_t> tokens) {
  { model.forward(tokens) } -> std::convertible_to<std::span<const float>>;
  { model.sample() } -> std::convertible_to<std::int32_t>;
  model.rewind();                                                 ///< to an empty sequence
  { model.routing() } -> std::convertible_to<const LlmRouting&>;  ///< empty without experts
};

/// Each step gives one token; the first of a generation includes the prompt.
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

/// All but the last at once, then the last one.
template <LlmModel Model>
std::span<const float> run_verified_tokens(const LlmWorkload& workload, Model& model) {
  const std::vector<std::int32_t> tokens = workload.verified_tokens();
  const std::span<const std::int32_t> all(tokens);
  model.rewind();
  if (all.size() > 1) model.forward(all.first(all.size() - 1));
  return model.forward(all.last(1));
}

/// Reference logits for the routing of the last run of verified_tokens(). Throws WrongAnswer if chosen
/// experts score too low: by more than kRoutingSlack, plus tolerance.root_mean_square for sums in less than
/// f32.
std::vector<double> verified_logits(const LlmWorkload& workload, const LlmRouting& routing, const Team& team,
                                    const Tolerance& tolerance);

/// Verifies, and reports token_per_sec and compilation_time(s). `made_in`: time to make the model, tuning
/// included. `workload` and `model` must live until the measurement ends.
template <LlmModel Model>
void verify_llm(State& state, const LlmWorkload& workload, Model& model, const Team& team,
                Tolerance tolerance, std::chrono::duration<double> made_in,
                LlmIteration iteration = LlmIteration::kToken) {
  LlmGeneration generation(model, workload);
  const auto start = std::chrono::steady_clock::now();
  generation.step();
  const std::chrono::duration<double> first_pass = std::chrono::steady_clock::now() - start;
  const auto logits = std::make_shared<std::vector<float>>(workload.weights.config().vocab);
  const auto run = [&workload, &model, logits] {
    const std::span<const float> found = run_verified_tokens(workload, model);
    std::copy(found.begin(), found.end(), logits->begin());
  };
  run();
  try {
    const std::vector<double> expected = verified_logits(workload, model.routing(), team, tolerance);
    state.verify(run, std::span(*logits), expected, tolerance);
  } catch (const WrongAnswer& wrong) {
    state.wrong_answer(wrong.reason);
  }
  state.rate("token_per_sec", static_cast<double>(tokens_of(iteration, workload.new_tokens)), "tokens/s");
  state.value("compilation_time(s)", workload.load_seconds + (made_in + first_pass).count(), "s",
              Direction::kLowerIsBetter);
}

/// Verifies; measures one token per iteration on the host's clock.
template <LlmModel Model>
void measure_llm(State& state, const LlmWorkload& workload, Model& model, const Team& team,
                 Tolerance tolerance, std::chrono::duration<double> made_in) {
  verify_llm(state, workload, model, team, tolerance, made_in);
  LlmGeneration measured(model, workload);
  state.measure([&] { measured.step(); });
}

using LlmFunction = std::function<void(State&, const LlmConfig&)>;

/// llama2_7b_bf16, llama2_7b_int8 and mixtral_8x7b_int8 of gpt-fast's benchmark. An iteration is a token on
/// "cpu", else a generation. They run only on request: each takes seconds to load and gigabytes.
void add_llm_experiments(Registry& registry, const LlmFunction& decode,
                         std::initializer_list<const char*> backends, const char* device = "cpu");

/// llama2_7b_int4 and mixtral_8x7b_int4, of LlmFormat::kInt4Blocks; not in gpt-fast's benchmark.
void add_int4_llm_experiments(Registry& registry, const LlmFunction& decode,
                              std::initializer_list<const char*> backends);

}  // namespace headroom
