// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/run_model_options.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <limits>

#include "cli/shared/option_table.h"
#include "headroom/base/error.h"
#include "headroom/base/files.h"
#include "headroom/base/text.h"

namespace headroom::cli {
namespace {

constexpr std::array<const char*, 3> kExperiments{"llm.decode", "llm.prefill", "llm.verify"};
/// Shapes that the runner knows by their names.
constexpr std::array<std::string_view, 2> kShapes{"llama2_7b", "mixtral_8x7b"};
/// What a runner is given as one argument must fit one.
constexpr std::size_t kMostTokens = 10'000;

std::string model_argument(const std::string& model) {
  namespace fs = std::filesystem;
  if (std::ranges::find(kShapes, model) != kShapes.end()) return model;
  std::error_code problem;
  if (!fs::exists(model, problem)) {
    throw Error(
        "--model " + in_quotes(model) +
        ": there is no such file or folder; name a GGUF file, a folder with safetensors and config.json, "
        "or llama2_7b or mixtral_8x7b (random weights)");
  }
  return fs::absolute(model).string();
}

/// Numbers with commas or white space between them, as "1,15,27".
std::string token_argument(const std::string& tokens) {
  const bool is_list = !tokens.empty() && is_digit(tokens.front());
  std::string text = is_list ? tokens : read_file(tokens);
  std::ranges::replace_if(
      text, [](char c) { return is_json_space(c) || c == ','; }, ' ');
  std::vector<std::string> words = split(text, ' ');
  std::erase(words, "");
  const std::string what = is_list ? "--tokens" : "--tokens " + in_quotes(tokens);
  if (words.empty()) throw Error(what + ": there is no id of a token");
  if (words.size() > kMostTokens) throw Error(what + ": there are more than 10000 ids");
  for (const std::string& word : words) {
    const auto id = to_integer(word);
    if (!id || *id < 0)
      throw Error(what + ": " + in_quotes(word) + " is no id of a token, as in 1,15043,29892");
  }
  return join(words, ",");
}

}  // namespace

void declare_model_options(OptionTable& table, ModelOptions& options) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  table
      .add_option(
          "--model", options.model,
          "measure decoding (llm.decode), prompts (llm.prefill) and drafts (llm.verify) of this model: a "
          "GGUF file, a folder with safetensors and config.json, or llama2_7b, mixtral_8x7b")
      .completed_by(Completes::kFile);
  table
      .add_option("--tokens", options.tokens,
                  "ids of the prompt's tokens, as 1,15043,29892, or a file of them (default: any)")
      .completed_by(Completes::kFile);
  table.add_option("--layers", options.layers, "layers of a model (the same as -a layers=N)").range(1, kMost);
  table.add_option("--prompt-len", options.prompt_len, "tokens of its prompt (-a prompt_len=N)")
      .range(1, kMost);
  table.add_option("--batch", options.batch, "sequences at once: 1,8,64 (-a batch=...)");
  table.add_option("--context", options.context, "tokens before those that are decoded (-a context=...)");
  table.add_option("--draft", options.draft, "tokens of a draft that is verified (-a draft=...)");
  table
      .add_option("--max-new-tokens", options.max_new_tokens,
                  "tokens of a generation, after which the next begins (-a max_new_tokens=N)")
      .range(1, kMost);
}

std::vector<AxisRequest> axis_requests(const ModelOptions& options) {
  std::vector<AxisRequest> requests;
  const auto add = [&](const char* axis, std::int64_t value) {
    if (value > 0) requests.push_back({axis, {std::to_string(value)}});
  };
  add("layers", options.layers);
  add("prompt_len", options.prompt_len);
  add("max_new_tokens", options.max_new_tokens);
  const auto add_text = [&](const std::string& axis, const std::string& values) {
    if (!values.empty()) requests.push_back(parse_axis_request(axis + "=" + values));
  };
  add_text("batch", options.batch);
  add_text("context", options.context);
  add_text("draft", options.draft);
  return requests;
}

std::vector<std::string> runner_arguments(const ModelOptions& options) {
  if (options.model.empty()) {
    if (!options.tokens.empty()) throw Error("--tokens is the prompt of a model: name it with --model FILE");
    return {};
  }
  std::vector<std::string> arguments{"--model", model_argument(options.model)};
  if (!options.tokens.empty())
    arguments.insert(arguments.end(), {"--tokens", token_argument(options.tokens)});
  return arguments;
}

void select_model(const ModelOptions& options, Selection& selection) {
  std::vector<std::string>& names = selection.names;
  const auto is_of_models = [](const std::string& name) { return name == "llm" || name.starts_with("llm."); };
  if (options.model.empty()) {
    const auto found = std::ranges::find_if(names, is_of_models);
    if (found != names.end()) throw Error(in_quotes(*found) + " measures a model: name it with --model FILE");
    return;
  }
  const auto other = std::ranges::find_if_not(names, is_of_models);
  if (other != names.end()) {
    throw Error("--model measures a model alone: leave out " + in_quotes(*other) +
                ", or measure it in a run of its own");
  }
  if (!names.empty() && std::ranges::find(names, "llm") == names.end()) return;
  names.assign(kExperiments.begin(), kExperiments.end());
}

}  // namespace headroom::cli
