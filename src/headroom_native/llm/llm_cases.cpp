// SPDX-License-Identifier: Apache-2.0
#include "headroom_native/llm/llm_cases.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <numeric>
#include <string_view>
#include <utility>

#include "headroom/base/error.h"
#include "headroom/base/text.h"
#include "headroom/base/units.h"
#include "headroom/workload/input_copies.h"
#include "headroom/workload/llm_file.h"
#include "headroom/workload/llm_workload.h"
#include "headroom/workload/team.h"
#include "headroom_native/kernels/thread_pool.h"

namespace headroom::native {
namespace {

/// Too few to change a bound.
constexpr double kFewOperations = 0.05;

double wanted_logits(const LlmShape& shape) {
  return shape.wanted == LlmLogits::kAll ? shape.rows() : static_cast<double>(shape.sequences);
}

/// Assumes that each token chooses at random.
double expected_experts(const LlmConfig& config, double rows) {
  const auto experts = static_cast<double>(config.experts);
  return experts * (1 - std::pow(1 - static_cast<double>(config.chosen) / experts, rows));
}

double integer_operations(const LlmConfig& config, const LlmShape& shape, Isa isa) {
  const double rows = shape.rows(), passes = std::ceil(rows / static_cast<double>(kLlmRowsAtOnce));
  const double chosen = rows * static_cast<double>(config.chosen), logits = wanted_logits(shape);
  const auto dim = static_cast<double>(config.dim), q_dim = static_cast<double>(config.q_dim()),
             hidden = static_cast<double>(config.hidden);
  double sum = 0;
  // `times` in total, `at_once` per read of the matrix.
  const auto add = [&](LlmFormat format, double numbers, double times, double at_once) {
    const auto vectors = static_cast<std::size_t>(std::max(1.0, std::round(at_once)));
    if (std::string_view(dtype_of_products(format, vectors, isa)) == "int8") sum += 2 * numbers * times;
  };
  const std::size_t different = std::max<std::size_t>(config.formats.size(), 1);
  const double alike = static_cast<double>(config.layers) / static_cast<double>(different);
  const double together = rows / passes, of_expert = config.is_gated()
                                                         ? together * static_cast<double>(config.chosen) /
                                                               expected_experts(config, together)
                                                         : together;
  for (std::size_t layer = 0; layer < different; ++layer) {
    const LlmLayerFormats formats = config.formats_of(layer);
    add(formats.qkv, alike * q_dim * dim, rows, together);
    for (const LlmFormat format : {formats.key, formats.value})
      add(format, alike * static_cast<double>(config.kv_dim()) * dim, rows, together);
    add(formats.out, alike * dim * q_dim, rows, together);
    add(formats.up, alike * 2 * hidden * dim, chosen, of_expert);
    add(formats.down, alike * hidden * dim, chosen, of_expert);
    const double shared = alike * static_cast<double>(config.shared_hidden) * dim;
    add(formats.shared_up, 2 * shared, rows, together);
    add(formats.shared_down, shared, rows, together);
  }
  add(config.output_format(), static_cast<double>(config.vocab) * dim, logits, logits / passes);
  return sum;
}

struct LlmSource {
  std::string name;
  std::string stored;                ///< format in the file ("Q8_0"); empty: random weights
  std::vector<std::int32_t> tokens;  ///< prompt as given; empty: any
  /// Throws Error.
  std::function<LlmConfig(std::size_t layers, const std::string& dtype)> config;
  std::function<LlmWeights(const LlmConfig& config, std::uint64_t seed, const Team& team)> load;
};

struct Running {
  std::shared_ptr<ThreadPool> pool;
  Team team;
  std::shared_ptr<const LlmWeights> weights;
  std::unique_ptr<LlmDecoder> decoder;
  double load_seconds = 0;

  const LlmConfig& config() const { return weights->config(); }
};

/// Vectors in flight and logits.
std::size_t working_bytes(const LlmConfig& config, const LlmShape& shape) {
  const std::size_t rows = std::min(kLlmRowsAtOnce, shape.sequences * shape.tokens);
  const std::size_t wanted = shape.sequences * (shape.wanted == LlmLogits::kAll ? shape.tokens : 1);
  const std::size_t row = 10 * config.dim + 2 * config.q_dim() + 4 * config.qkv_rows() +
                          config.chosen * (4 * config.dim + 10 * config.hidden) + 10 * config.shared_hidden;
  return bytes_of(rows, row) + bytes_of(wanted, config.vocab, sizeof(float));
}

void describe(State& state, const LlmSource& source, const LlmConfig& config, const LlmShape& shape,
              Isa isa) {
  state.work(llm_work(config, shape, isa));
  const double position = 2 * static_cast<double>(config.layers * config.kv_dim() * sizeof(Bf16));
  state.input("weights",
              fmt::format("{}; {} in all", source.stored.empty() ? config.dtype + ", random" : source.stored,
                          format_bytes(static_cast<double>(llm_bytes(config)))));
  state.input("keys and values",
              fmt::format("bf16, {} per position, {} read", format_bytes(position),
                          format_bytes(position * static_cast<double>(shape.context * shape.sequences))));
  state.note("model", source.name);
}

Running start(State& state, const LlmSource& source, const LlmShape& shape) {
  const LlmConfig config = source.config(size_axis(state, "layers"), state.text("dtype"));
  require_llm_memory(state, config, bytes_of(shape.sequences, shape.positions()),
                     working_bytes(config, shape));
  const Isa isa = chosen_isa();
  describe(state, source, config, shape, isa);
  Running running;
  running.pool = shared_pool(state);
  running.team = team_of(*running.pool);
  const auto start = std::chrono::steady_clock::now();
  running.weights = state.shared<LlmWeights>(
      fmt::format("{} {} layers={} seed={}", source.name, config.dtype, config.layers, state.seed()),
      [&] { return std::make_shared<LlmWeights>(source.load(config, state.seed(), running.team)); });
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  running.load_seconds = took.count();
  running.decoder = std::make_unique<LlmDecoder>(
      *running.weights, *running.pool, isa, shape.positions(),
      TopKSampler(LlmWorkload::kTopK, LlmWorkload::kTemperature, state.seed(), isa), shape.sequences);
  running.decoder->fill_random_cache(shape.context, state.seed());
  state.note("isa", running.decoder->isa());
  return running;
}

/// [sequences, tokens]: the prompt, cut or repeated; else different tokens per sequence.
std::vector<std::int32_t> tokens_for(const LlmSource& source, const LlmShape& shape, std::size_t vocab) {
  std::vector<std::int32_t> tokens = source.tokens;
  if (tokens.empty()) tokens = llm_prompt(shape.tokens + shape.sequences, vocab);
  std::vector<std::int32_t> all;
  for (std::size_t sequence = 0; sequence < shape.sequences; ++sequence) {
    const std::size_t first = source.tokens.empty() ? sequence : 0;
    for (std::size_t i = 0; i < shape.tokens; ++i) all.push_back(tokens[(first + i) % tokens.size()]);
  }
  return all;
}

/// "15:3.21 7:3.02 ...".
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

/// Against float64, at some positions. Must outlive the measurement.
class Verification {
 public:
  Verification(State& state, Running& running, const LlmShape& shape, std::vector<std::int32_t> tokens)
      : state_(state), running_(running), shape_(shape), tokens_(std::move(tokens)) {}

  /// Keys and values of the first, middle and last token, and the last token's logits of the first and last
  /// sequence (all tokens of the first for kAll).
  void run() {
    pass();
    state_.note("likeliest", likeliest(std::span(logits_).first(running_.config().vocab)));
    verify(0, shape_.tokens - 1);
    if (shape_.tokens > 1) verify(0, 0);
    if (shape_.tokens > 2) verify(0, shape_.tokens / 2);
    // Routing is recorded for the first sequence only.
    if (shape_.sequences > 1 && !running_.config().is_gated())
      verify(shape_.sequences - 1, shape_.tokens - 1);
    const Tolerance tolerance = llm_tolerance(running_.config(), rounds_weights());
    found_.resize(expected_.size());
    try {
      state_.verify(
          [&] {
            pass();
            std::ranges::copy(current_logits(), found_.begin());
          },
          std::span(found_), expected_, tolerance);
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

  std::vector<float> current_logits() const {
    std::vector<float> found;
    for (const Place& place : places_) {
      const std::span<const float> logits = logits_of(place);
      found.insert(found.end(), logits.begin(), logits.end());
    }
    return found;
  }

  void verify(std::size_t sequence, std::size_t token) {
    const LlmDecoder& decoder = *running_.decoder;
    const LlmKvCache kept{
        [&](std::size_t layer, std::size_t head) { return decoder.keys(layer, sequence, head); },
        [&](std::size_t layer, std::size_t head) { return decoder.values(layer, sequence, head); }};
    const ExactToken exact = exact_token(running_.team, *running_.weights, kept, shape_.context + token,
                                         tokens_[sequence * shape_.tokens + token], decoder.routing());
    if (exact.routing_gap > LlmWorkload::kRoutingSlack)
      state_.wrong_answer(
          fmt::format("a token was routed to an expert whose score is {:.3g} too low", exact.routing_gap));
    if (has_logits(token)) {
      places_.push_back({sequence, token});
      expected_.insert(expected_.end(), exact.logits.begin(), exact.logits.end());
    }
    keep(kept, shape_.context + token, exact);
  }

  void keep(const LlmKvCache& kept, std::size_t position, const ExactToken& exact) {
    const std::size_t width = running_.config().head_dim();
    const auto add = [&](const LlmKvCache::Head& of, const std::vector<double>& expected) {
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
  const std::vector<std::int32_t> tokens_;
  std::vector<float> logits_, kept_, found_;
  std::vector<Place> places_;
  std::vector<double> expected_, kept_expected_;
};

void report(State& state, const Running& running, const LlmShape& shape) {
  state.rate("token_per_sec", shape.rows(), "tokens/s");
  state.value("compilation_time(s)", running.load_seconds, "s", Direction::kLowerIsBetter);
}

/// Verifies, reports, and measures body(running, tokens).
template <typename Body>
void measure_shape(State& state, const LlmSource& source, const LlmShape& shape, const Body& body) {
  Running running = start(state, source, shape);
  std::vector<std::int32_t> tokens = tokens_for(source, shape, running.config().vocab);
  Verification verification(state, running, shape, tokens);
  verification.run();
  report(state, running, shape);
  state.measure([&] {
    running.decoder->rewind(shape.context);
    body(running, tokens);
  });
}

/// One more token for each of `batch` sequences of `context` tokens.
void llm_decode_batch(State& state, const LlmSource& source) {
  const LlmShape shape{size_axis(state, "batch"), size_axis(state, "context"), 1};
  measure_shape(state, source, shape, [](Running& running, std::vector<std::int32_t>& next) {
    const std::size_t vocab = running.config().vocab;
    const std::span<const float> logits = running.decoder->forward(next);
    for (std::size_t i = 0; i < next.size(); ++i) next[i] = greedy_token(logits.subspan(i * vocab, vocab));
  });
}

/// `batch` prompts of `prompt_len` tokens, up to their logits.
void llm_prefill(State& state, const LlmSource& source) {
  const LlmShape shape{size_axis(state, "batch"), 0, size_axis(state, "prompt_len")};
  measure_shape(state, source, shape, [](Running& running, const std::vector<std::int32_t>& prompts) {
    running.decoder->forward(prompts);
  });
}

/// Verifies a draft: `draft` tokens after `context`, with the logits of each.
void llm_verify(State& state, const LlmSource& source) {
  const LlmShape shape{1, size_axis(state, "context"), size_axis(state, "draft"), LlmLogits::kAll};
  std::size_t agreed = 0;
  measure_shape(state, source, shape, [&](Running& running, const std::vector<std::int32_t>& draft) {
    const std::size_t vocab = running.config().vocab;
    const std::span<const float> logits = running.decoder->forward(draft, LlmLogits::kAll);
    for (std::size_t i = 0; i + 1 < draft.size(); ++i)
      agreed += greedy_token(logits.subspan(i * vocab, vocab)) == draft[i + 1] ? 1U : 0U;
    keep(agreed);
  });
}

struct Request {
  std::string model;
  std::vector<std::int32_t> tokens;
};

std::vector<std::int32_t> parse_tokens(const std::string& text) {
  std::vector<std::int32_t> tokens;
  for (const std::string& word : split(text, ',')) {
    const auto id = to_integer(word);
    if (!id || *id < 0 || *id >= std::int64_t{1} << 31)
      throw Error("--tokens: " + quote(word) + " is not a token id, as in 1,15043,29892");
    tokens.push_back(static_cast<std::int32_t>(*id));
  }
  return tokens;
}

Request parse(const std::vector<std::string>& arguments) {
  Request request;
  for (std::size_t i = 0; i < arguments.size(); i += 2) {
    const std::string& option = arguments[i];
    if (option != "--model" && option != "--tokens")
      throw Error("headroom-native takes --peer PATH:SYMBOL, --model FILE and --tokens IDS, not " +
                  quote(option));
    if (i + 1 == arguments.size()) throw Error(option + " needs a value");
    if (option == "--model") {
      request.model = arguments[i + 1];
    } else {
      request.tokens = parse_tokens(arguments[i + 1]);
    }
  }
  if (request.model.empty()) throw Error("--tokens needs a model: name one with --model FILE");
  return request;
}

struct RegisteredModel {
  LlmSource source;
  std::size_t layers = 0, vocab = 0;
  std::vector<std::string> dtypes;
};

RegisteredModel random_model(const std::string& name) {
  const auto shape = name == "llama2_7b" ? llama2_7b : mixtral_8x7b;
  RegisteredModel registered;
  registered.source.name = name;
  registered.source.config = [shape](std::size_t layers, const std::string& dtype) {
    LlmConfig config = shape(dtype);
    config.layers = layers;
    return config;
  };
  registered.source.load = [](const LlmConfig& config, std::uint64_t seed, const Team& team) {
    return LlmWeights(config, seed, team);
  };
  registered.layers = shape("bf16").layers;
  registered.vocab = shape("bf16").vocab;
  registered.dtypes = {"bf16", "int8", "int4"};
  return registered;
}

RegisteredModel model_of_file(const std::string& path) {
  const auto file = std::make_shared<const LlmFile>(open_llm_file(path));
  RegisteredModel registered;
  registered.source.name = file->config.model;
  registered.source.stored = file->stored;
  registered.source.config = [file](std::size_t layers, const std::string&) {
    return config_of_layers(*file, layers);
  };
  registered.source.load = [file](const LlmConfig& config, std::uint64_t, const Team& team) {
    return load_llm_weights(*file, config.layers, team);
  };
  registered.layers = file->config.layers;
  registered.vocab = file->config.vocab;
  registered.dtypes = {file->stored};
  return registered;
}

bool is_known_shape(const std::string& name) {
  return name == "llama2_7b" || name == "mixtral_8x7b";
}

}  // namespace

Work llm_work(const LlmConfig& config, const LlmShape& shape, Isa isa) {
  const double rows = shape.rows(), layers = static_cast<double>(config.layers);
  const double output = static_cast<double>(config.vocab) * static_cast<double>(config.dim);
  LlmConfig one = config, two = config;
  one.chosen = 1;
  two.chosen = 2;
  const LlmActivated chosen = llm_activated(config), single = llm_activated(one);
  const double expert = config.is_gated() ? llm_activated(two).bytes - single.bytes : 0;
  const double tokens = static_cast<double>(shape.tokens), context = static_cast<double>(shape.context);
  const double pairs = static_cast<double>(shape.sequences) * (tokens * context + tokens * (tokens + 1) / 2);
  const double position = 2 * layers * static_cast<double>(config.kv_dim() * sizeof(Bf16));
  Work work;
  work.flops = 2 * (chosen.parameters - output) * rows + 2 * output * wanted_logits(shape) +
               4 * layers * static_cast<double>(config.q_dim()) * pairs;
  work.bytes_written = position * rows;
  work.bytes = single.bytes + (config.is_gated() ? expected_experts(config, rows) - 1 : 0) * expert +
               position * context * static_cast<double>(shape.sequences) + work.bytes_written;
  const bool is_integer = integer_operations(config, shape, isa) > kFewOperations * work.flops;
  work.dtype = is_integer ? "int8" : "bf16";
  return work;
}

void register_llm(Registry& registry, const std::vector<std::string>& arguments) {
  Request request = parse(arguments);
  const auto registered = std::make_shared<RegisteredModel>(
      is_known_shape(request.model) ? random_model(request.model) : model_of_file(request.model));
  for (const std::int32_t id : request.tokens) {
    if (static_cast<std::size_t>(id) >= registered->vocab)
      throw Error(fmt::format("--tokens: {} is outside the vocabulary of {}, which has {} tokens", id,
                              quote(registered->source.name), registered->vocab));
  }
  registered->source.tokens = std::move(request.tokens);
  const auto add = [&](const char* name, const char* summary,
                       void (*run)(State&, const LlmSource&)) -> Experiment& {
    return registry.add(name, [registered, run](State& state) { run(state, registered->source); })
        .summary(summary)
        .axis(Axis{"model", Axis::Kind::kText, {registered->source.name}})
        .axis(Axis{"dtype", Axis::Kind::kText, registered->dtypes})
        .axis("layers", {static_cast<long long>(registered->layers)})
        .metric("token_per_sec")
        .model(registered->source.name)
        .on_request();
  };
  const std::size_t given = registered->source.tokens.size();
  add("llm.decode", "decoding one token of each sequence", llm_decode_batch)
      .axis("batch", {1})
      .axis("context", {512})
      .also_metrics({"memory_bandwidth(GB/s)"});
  add("llm.prefill", "prefill of prompts, up to the logits after the last token", llm_prefill)
      .axis("batch", {1})
      .axis("prompt_len", {given > 0 ? static_cast<long long>(given) : 512})
      .also_metrics({"flops_utilization"});
  add("llm.verify", "verification of draft tokens, with the logits after each", llm_verify)
      .axis("draft", {4})
      .axis("context", {512})
      .also_metrics({"memory_bandwidth(GB/s)"});
}

void llm_decode(State& state, const LlmConfig& config) {
  const auto pool = shared_pool(state);
  const Team team = team_of(*pool);
  const auto workload = llm_workload(state, config, team);
  const auto start = std::chrono::steady_clock::now();
  const Isa isa = chosen_isa();
  LlmDecoder decoder(workload->weights, *pool, isa, workload->positions(),
                     TopKSampler(LlmWorkload::kTopK, LlmWorkload::kTemperature, state.seed(), isa));
  state.note("isa", decoder.isa());
  measure_llm(state, *workload, decoder, team, llm_tolerance(workload->weights.config(), false),
              std::chrono::steady_clock::now() - start);
}

}  // namespace headroom::native
