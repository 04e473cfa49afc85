// SPDX-License-Identifier: Apache-2.0
#include "headroom_native/llm/llm_cases.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <numeric>

#include "headroom/base/units.h"
#include "headroom/workload/input_copies.h"
#include "headroom/workload/llm_workload.h"
#include "headroom_native/kernels/pool_team.h"
#include "headroom_native/llm/decoder.h"
#include "headroom_native/llm/llm_work.h"

namespace headroom::native {
namespace {

/// The model of a case, and what it runs on.
struct Running {
  std::shared_ptr<ThreadPool> pool;
  Team team;
  std::shared_ptr<const LlmWeights> weights;
  std::unique_ptr<LlmDecoder> decoder;
  double load_seconds = 0;

  const LlmConfig& config() const { return weights->config(); }
};

/// Vectors of the rows that are under way, and the logits.
std::size_t working_bytes(const LlmConfig& config, const LlmShape& shape) {
  const std::size_t rows = std::min(kLlmRowsAtOnce, shape.sequences * shape.tokens);
  const std::size_t wanted = shape.sequences * (shape.wanted == LlmLogits::kAll ? shape.tokens : 1);
  const std::size_t row = 12 * config.dim + 4 * config.qkv_rows() +
                          config.chosen * (4 * config.dim + 10 * config.hidden) + 10 * config.shared_hidden;
  return bytes_of(rows, row) + bytes_of(wanted, config.vocab, sizeof(float));
}

void describe(State& state, const LlmSubject& subject, const LlmConfig& config, const LlmShape& shape,
              Isa isa) {
  state.work(llm_work(config, shape, isa));
  const double position = 2 * static_cast<double>(config.layers * config.kv_dim() * sizeof(Bf16));
  state.input("weights", fmt::format("{}; {} in all",
                                     subject.stored.empty() ? config.dtype + ", random" : subject.stored,
                                     format_bytes(static_cast<double>(llm_bytes(config)))));
  state.input("keys and values",
              fmt::format("bf16, {} for each position: {} are read", format_bytes(position),
                          format_bytes(position * static_cast<double>(shape.context * shape.sequences))));
  state.note("model", subject.name);
}

Running start(State& state, const LlmSubject& subject, const LlmShape& shape) {
  const LlmConfig config = subject.config(size_axis(state, "layers"), state.text("dtype"));
  require_llm_memory(state, config, bytes_of(shape.sequences, shape.positions()),
                     working_bytes(config, shape));
  const Isa isa = chosen_isa();
  describe(state, subject, config, shape, isa);
  Running running;
  running.pool = shared_pool(state);
  running.team = team_of(*running.pool);
  const auto start = std::chrono::steady_clock::now();
  running.weights = state.shared<LlmWeights>(
      fmt::format("{} {} layers={} seed={}", subject.name, config.dtype, config.layers, state.seed()),
      [&] { return std::make_shared<LlmWeights>(subject.load(config, state.seed(), running.team)); });
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  running.load_seconds = took.count();
  running.decoder = std::make_unique<LlmDecoder>(
      *running.weights, *running.pool, isa, shape.positions(),
      TopKSampler(LlmWorkload::kTopK, LlmWorkload::kTemperature, state.seed(), isa), shape.sequences);
  running.decoder->pretend(shape.context, state.seed());
  state.note("isa", running.decoder->isa());
  return running;
}

/// [sequences, count]: the prompt as it was given, cut or repeated; else for each sequence another one.
std::vector<std::int32_t> tokens_for(const LlmSubject& subject, const LlmShape& shape, std::size_t vocab) {
  std::vector<std::int32_t> tokens = subject.tokens;
  if (tokens.empty()) tokens = llm_prompt(shape.tokens + shape.sequences, vocab);
  std::vector<std::int32_t> all;
  for (std::size_t sequence = 0; sequence < shape.sequences; ++sequence) {
    const std::size_t first = subject.tokens.empty() ? sequence : 0;
    for (std::size_t i = 0; i < shape.tokens; ++i) all.push_back(tokens[(first + i) % tokens.size()]);
  }
  return all;
}

/// "15:3.21 7:3.02 ...": what a user knows a model again by.
std::string likeliest(std::span<const float> logits) {
  std::vector<std::size_t> order(logits.size());
  std::iota(order.begin(), order.end(), 0U);
  const auto end = order.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(8, order.size()));
  std::partial_sort(order.begin(), end, order.end(),
                    [&](std::size_t a, std::size_t b) { return logits[a] > logits[b]; });
  std::string text;
  for (auto one = order.begin(); one != end; ++one)
    text += fmt::format("{}{}:{:.5g}", text.empty() ? "" : " ", *one, logits[*one]);
  return text;
}

/// Holds what a pass over `tokens` gives against float64, at some of the positions that are timed.
class Verification {
 public:
  Verification(State& state, Running& running, const LlmShape& shape, const std::vector<std::int32_t>& tokens)
      : state_(state), running_(running), shape_(shape), tokens_(tokens) {}

  /// The last token's logits of the first and the last sequence, and of all tokens where they are wanted
  /// those of the first; keys and values of the first, the middle and the last token.
  void run() {
    pass();
    state_.note("likeliest", likeliest(std::span(logits_).first(running_.config().vocab)));
    verify(0, shape_.tokens - 1);
    if (shape_.tokens > 1) verify(0, 0);
    if (shape_.tokens > 2) verify(0, shape_.tokens / 2);
    // Where its tokens went is known of the first sequence alone.
    if (shape_.sequences > 1 && !running_.config().is_gated())
      verify(shape_.sequences - 1, shape_.tokens - 1);
    const Tolerance tolerance = llm_tolerance(running_.config(), rounds_weights());
    std::vector<float> found(expected_.size());
    try {
      state_.verify(
          [&] {
            pass();
            std::ranges::copy(found_now(), found.begin());
          },
          std::span(found), expected_, tolerance);
    } catch (const WrongAnswer& wrong) {
      state_.wrong_answer(wrong.reason);
    }
    state_.check(std::span<const float>(kept_), kept_expected_, tolerance);
  }

 private:
  struct Place {
    std::size_t sequence, token;
  };

  void pass() {
    running_.decoder->rewind(shape_.context);
    const std::span<const float> logits = running_.decoder->forward(tokens_, shape_.wanted);
    logits_.assign(logits.begin(), logits.end());
  }

  bool rounds_weights() const { return shape_.rows() > 1 && is_blocked(running_.config().formats_of(0).up); }

  bool has_logits(std::size_t token) const {
    return shape_.wanted == LlmLogits::kAll || token == shape_.tokens - 1;
  }

  std::span<const float> logits_of(Place place) const {
    const std::size_t vocab = running_.config().vocab;
    const bool all = shape_.wanted == LlmLogits::kAll;
    const std::size_t row = all ? place.sequence * shape_.tokens + place.token : place.sequence;
    return std::span(logits_).subspan(row * vocab, vocab);
  }

  std::vector<float> found_now() const {
    std::vector<float> found;
    for (const Place& place : places_) {
      const std::span<const float> logits = logits_of(place);
      found.insert(found.end(), logits.begin(), logits.end());
    }
    return found;
  }

  void verify(std::size_t sequence, std::size_t token) {
    const LlmDecoder& decoder = *running_.decoder;
    const LlmKept kept{
        [&](std::size_t layer, std::size_t head) { return decoder.keys(layer, sequence, head); },
        [&](std::size_t layer, std::size_t head) { return decoder.values(layer, sequence, head); }};
    const ExactToken exact = exact_token(running_.team, *running_.weights, kept, shape_.context + token,
                                         tokens_[sequence * shape_.tokens + token], decoder.routing());
    if (exact.routing_gap > LlmWorkload::kRoutingSlack)
      state_.wrong_answer(
          fmt::format("a token went to an expert whose score is {:.3g} too low", exact.routing_gap));
    if (has_logits(token)) {
      places_.push_back({sequence, token});
      expected_.insert(expected_.end(), exact.logits.begin(), exact.logits.end());
    }
    keep(kept, shape_.context + token, exact);
  }

  void keep(const LlmKept& kept, std::size_t position, const ExactToken& exact) {
    const std::size_t width = running_.config().head_dim();
    const auto add = [&](const LlmKept::Head& of, const std::vector<double>& expected) {
      for (std::size_t layer = 0; layer < running_.config().layers; ++layer) {
        for (std::size_t head = 0; head < running_.config().kv_heads; ++head) {
          const Bf16* const from = of(layer, head) + position * width;
          std::transform(from, from + width, std::back_inserter(kept_), to_float);
        }
      }
      kept_expected_.insert(kept_expected_.end(), expected.begin(), expected.end());
    };
    add(kept.keys, exact.keys);
    add(kept.values, exact.values);
  }

  State& state_;
  Running& running_;
  LlmShape shape_;
  const std::vector<std::int32_t>& tokens_;
  std::vector<float> logits_, kept_;
  std::vector<Place> places_;
  std::vector<double> expected_, kept_expected_;
};

/// Runs `step` once to see how long the first takes, and reports what is the same of all cases.
void report(State& state, const Running& running, const LlmShape& shape) {
  state.rate("token_per_sec", shape.rows(), "tokens/s");
  state.value("compilation_time(s)", running.load_seconds, "s", Direction::kLowerIsBetter);
}

std::size_t axis(const State& state, const char* name) {
  return size_axis(state, name);
}

}  // namespace

void llm_decode_batch(State& state, const LlmSubject& subject) {
  const LlmShape shape{axis(state, "batch"), axis(state, "context"), 1};
  Running running = start(state, subject, shape);
  std::vector<std::int32_t> next = tokens_for(subject, shape, running.config().vocab);
  Verification(state, running, shape, next).run();
  report(state, running, shape);
  const std::size_t vocab = running.config().vocab;
  state.measure([&] {
    running.decoder->rewind(shape.context);
    const std::span<const float> logits = running.decoder->forward(next);
    for (std::size_t i = 0; i < next.size(); ++i) next[i] = greedy_token(logits.subspan(i * vocab, vocab));
  });
}

void llm_prefill(State& state, const LlmSubject& subject) {
  const LlmShape shape{axis(state, "batch"), 0, axis(state, "prompt_len")};
  Running running = start(state, subject, shape);
  const std::vector<std::int32_t> prompts = tokens_for(subject, shape, running.config().vocab);
  Verification(state, running, shape, prompts).run();
  report(state, running, shape);
  state.measure([&] {
    running.decoder->rewind();
    running.decoder->forward(prompts);
  });
}

void llm_verify(State& state, const LlmSubject& subject) {
  const LlmShape shape{1, axis(state, "context"), axis(state, "draft"), LlmLogits::kAll};
  Running running = start(state, subject, shape);
  const std::vector<std::int32_t> draft = tokens_for(subject, shape, running.config().vocab);
  Verification(state, running, shape, draft).run();
  report(state, running, shape);
  const std::size_t vocab = running.config().vocab;
  std::size_t agreed = 0;
  state.measure([&] {
    running.decoder->rewind(shape.context);
    const std::span<const float> logits = running.decoder->forward(draft, LlmLogits::kAll);
    for (std::size_t i = 0; i + 1 < draft.size(); ++i)
      agreed += greedy_token(logits.subspan(i * vocab, vocab)) == draft[i + 1] ? 1U : 0U;
    keep(agreed);
  });
}

}  // namespace headroom::native
