// SPDX-License-Identifier: Apache-2.0
#include "headroom_native/llm/llm_models.h"

#include <fmt/format.h>

#include <memory>
#include <utility>

#include "headroom/base/error.h"
#include "headroom/base/text.h"
#include "headroom/workload/llm_file.h"
#include "headroom_native/llm/llm_cases.h"

namespace headroom::native {
namespace {

struct Request {
  std::string model;
  std::vector<std::int32_t> tokens;
};

std::vector<std::int32_t> parse_tokens(const std::string& text) {
  std::vector<std::int32_t> tokens;
  for (const std::string& word : split(text, ',')) {
    const auto id = to_integer(word);
    if (!id || *id < 0 || *id >= std::int64_t{1} << 31)
      throw Error("--tokens: " + in_quotes(word) + " is no id of a token, as in 1,15043,29892");
    tokens.push_back(static_cast<std::int32_t>(*id));
  }
  return tokens;
}

Request parse(const std::vector<std::string>& arguments) {
  Request request;
  for (std::size_t i = 0; i < arguments.size(); i += 2) {
    const std::string& option = arguments[i];
    if (option != "--model" && option != "--tokens")
      throw Error("headroom-native takes --peer PATH:SYMBOL, --model FILE and --tokens IDS, and was given " +
                  in_quotes(option));
    if (i + 1 == arguments.size()) throw Error(option + " needs a value");
    if (option == "--model") {
      request.model = arguments[i + 1];
    } else {
      request.tokens = parse_tokens(arguments[i + 1]);
    }
  }
  if (request.model.empty()) throw Error("--tokens is the prompt of a model: name it with --model FILE");
  return request;
}

/// Shapes that are known by their names, with random weights.
struct Offered {
  LlmSubject subject;
  std::size_t layers = 0, vocab = 0;
  std::vector<std::string> dtypes;
};

Offered random_model(const std::string& name) {
  const auto shape = name == "llama2_7b" ? llama2_7b : mixtral_8x7b;
  Offered offered;
  offered.subject.name = name;
  offered.subject.config = [shape](std::size_t layers, const std::string& dtype) {
    LlmConfig config = shape(dtype);
    config.layers = layers;
    return config;
  };
  offered.subject.load = [](const LlmConfig& config, std::uint64_t seed, const Team& team) {
    return LlmWeights(config, seed, team);
  };
  offered.layers = shape("bf16").layers;
  offered.vocab = shape("bf16").vocab;
  offered.dtypes = {"bf16", "int8", "int4"};
  return offered;
}

Offered model_of_file(const std::string& path) {
  const auto file = std::make_shared<const LlmFile>(open_llm_file(path));
  Offered offered;
  offered.subject.name = file->config.model;
  offered.subject.stored = file->stored;
  offered.subject.config = [file](std::size_t layers, const std::string&) {
    return config_of_layers(*file, layers);
  };
  offered.subject.load = [file](const LlmConfig& config, std::uint64_t, const Team& team) {
    return load_llm_weights(*file, config.layers, team);
  };
  offered.layers = file->config.layers;
  offered.vocab = file->config.vocab;
  offered.dtypes = {file->stored};
  return offered;
}

bool is_known_shape(const std::string& name) {
  return name == "llama2_7b" || name == "mixtral_8x7b";
}

}  // namespace

void offer_llm(Registry& registry, const std::vector<std::string>& arguments) {
  Request request = parse(arguments);
  const auto offered = std::make_shared<Offered>(
      is_known_shape(request.model) ? random_model(request.model) : model_of_file(request.model));
  for (const std::int32_t id : request.tokens) {
    if (static_cast<std::size_t>(id) >= offered->vocab)
      throw Error(fmt::format("--tokens: {} is no token of {}, which has {}", id,
                              in_quotes(offered->subject.name), offered->vocab));
  }
  offered->subject.tokens = std::move(request.tokens);
  const auto add = [&](const char* name, const char* summary,
                       void (*run)(State&, const LlmSubject&)) -> Experiment& {
    return registry.add(name, [offered, run](State& state) { run(state, offered->subject); })
        .summary(summary)
        .axis(Axis{"model", Axis::Kind::kText, {offered->subject.name}})
        .axis(Axis{"dtype", Axis::Kind::kText, offered->dtypes})
        .axis("layers", {static_cast<long long>(offered->layers)})
        .metric("token_per_sec")
        .model(offered->subject.name)
        .on_request();
  };
  const std::size_t given = offered->subject.tokens.size();
  add("llm.decode", "one more token of each of some sequences", llm_decode_batch)
      .axis("batch", {1})
      .axis("context", {512})
      .also_metrics({"memory_bandwidth(GB/s)"});
  add("llm.prefill", "prompts, up to the logits behind them", llm_prefill)
      .axis("batch", {1})
      .axis("prompt_len", {given > 0 ? static_cast<long long>(given) : 512})
      .also_metrics({"flops_utilization"});
  add("llm.verify", "tokens of a draft, and the logits behind each", llm_verify)
      .axis("draft", {4})
      .axis("context", {512})
      .also_metrics({"memory_bandwidth(GB/s)"});
}

}  // namespace headroom::native
