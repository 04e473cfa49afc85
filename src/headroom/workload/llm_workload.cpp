// SPDX-License-Identifier: Apache-2.0
#include "headroom/workload/llm_workload.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "headroom/base/units.h"
#include "headroom/workload/input_copies.h"

namespace headroom {
namespace {

/// Keys and values of bf16.
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

}  // namespace

void require_llm_memory(const State& state, const LlmConfig& config, std::size_t positions,
                        std::size_t rest) {
  LlmConfig ends = config;
  ends.layers = 0;
  ends.formats.clear();
  const std::size_t weights = llm_bytes(config), beside = llm_bytes(ends),
                    cache = cache_bytes(config, positions);
  // So that what is needed is no more than 95 % of what there is.
  const std::size_t needed = bytes_of(bytes_of(weights + cache, 1) + rest, 1);
  try {
    state.require_memory(bytes_of(needed + needed / 19, 1));
  } catch (const SkipCase& skipped) {
    const auto text = [](std::size_t bytes) { return format_bytes(static_cast<double>(bytes)); };
    throw SkipCase{fmt::format(
        "{}, with a margin of 5 %: weights {} (a layer takes {}, the rest {}), keys and values {}; --layers "
        "N "
        "makes it smaller",
        skipped.reason, text(weights), text((weights - beside) / config.layers), text(beside), text(cache))};
  }
}

Tolerance llm_tolerance(const LlmConfig& config, bool rounds_weights) {
  const double roundings = rounds_weights ? 5 : 3;
  const double added = 2 * static_cast<double>(config.layers) + 1;
  return {.relative = 5 * 0x1p-9 / std::sqrt(3.0) * std::sqrt(roundings * added)};
}

std::vector<std::int32_t> LlmWorkload::verified_tokens() const {
  constexpr std::size_t kMost = 3;  // each costs the reference a pass over all weights
  return {prompt.begin(), prompt.begin() + static_cast<std::ptrdiff_t>(std::min(kMost, prompt.size()))};
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
    throw WrongAnswer{fmt::format(
        "a token went to an expert whose score is {:.3g} below that of one that was not chosen (float64; "
        "scores have a standard deviation of 1)",
        exact.routing_gap)};
  }
  return exact.logits;
}

}  // namespace headroom
