// SPDX-License-Identifier: Apache-2.0
#include "cli/measuring/runner_options.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <limits>

#include "headroom/base/error.h"
#include "headroom/base/files.h"
#include "headroom/base/text.h"
#include "headroom/console/option_table.h"
#include "headroom/experiment/tensor_spec.h"

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

std::string readable_file(const std::string& path) {
  const std::string what = "--module " + in_quotes(path);
  std::error_code problem;
  const std::filesystem::file_status status = std::filesystem::status(path, problem);
  if (!std::filesystem::exists(status)) throw Error(what + ": there is no such file");
  if (!std::filesystem::is_regular_file(status))
    throw Error(what + " is not a file: name the .pt file itself");
  if (access(path.c_str(), R_OK) != 0) throw Error(what + " cannot be read: its permissions forbid it");
  return std::filesystem::absolute(path).string();
}

/// What headroom-native reads by itself (headroom_native/peers/library_peer.h), as far as it matters here.
struct PeerText {
  std::string path, rest, name;  ///< rest: "SYMBOL,name=NAME"
};

PeerText parse(const std::string& peer) {
  // A path may have commas and colons in it, a symbol has neither.
  const std::size_t colon = peer.rfind(':');
  if (colon == std::string::npos || colon == 0 || colon + 1 == peer.size()) {
    throw Error(
        "--peer " + in_quotes(peer) +
        ": expected PATH:SYMBOL[,name=NAME][,dtype=bf16|int8][,threads=own], as libmine.so:gemv_bf16");
  }
  PeerText text{peer.substr(0, colon), peer.substr(colon + 1), {}};
  for (const std::string& word : split(text.rest, ',')) {
    if (text.name.empty()) text.name = word;
    if (word.starts_with("name=")) text.name = word.substr(std::string_view("name=").size());
  }
  return text;
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

void declare_module_options(OptionTable& table, ModuleOptions& options) {
  table
      .add_option(
          "--module", options.modules,
          "measure the TorchScript module (.pt) or AOTInductor package (.pt2) in this file; repeat it "
          "to compare")
      .completed_by(Completes::kFile)
      .repeated();
  table
      .add_option(
          "--input", options.inputs,
          "an input of the modules, in order: f32[1,3,224,224], i64[1,128]:0..31999 (the values of integers)")
      .repeated();
}

std::vector<std::string> runner_arguments(const ModuleOptions& options) {
  if (options.modules.empty() && !options.inputs.empty()) {
    throw Error("--input is what a module is called with: name one with --module FILE");
  }
  std::vector<std::string> arguments;
  for (const std::string& module : options.modules) {
    arguments.insert(arguments.end(), {"--module", readable_file(module)});
  }
  for (const std::string& input : options.inputs) {
    arguments.insert(
        arguments.end(),
        {"--input", with_context("--input", [&] { return to_string(parse_tensor_spec(input)); })});
  }
  return arguments;
}

void select_modules(Selection& selection) {
  if (!selection.names.empty()) {
    throw Error("--module measures modules alone: leave out " + in_quotes(selection.names.front()) +
                ", or measure it in a run of its own");
  }
  selection.names = {"module"};
  if (selection.backends.empty()) selection.backends = {"all"};
}

void declare_peer_options(OptionTable& table, std::vector<std::string>& peers) {
  table
      .add_option("--peer", peers,
                  "PATH:SYMBOL[,name=NAME][,dtype=bf16|int8][,threads=own]: a function of a shared library "
                  "as a backend of gemv, gather_gemv and layer_norm, beside native; repeat it for several")
      .completed_by(Completes::kFile)
      .repeated();
}

void select_peers(const std::vector<std::string>& peers, Selection& selection) {
  if (peers.empty()) return;
  if (selection.backends.empty()) selection.backends.emplace_back("native");
  for (const std::string& peer : peers) {
    const PeerText text = parse(peer);
    std::error_code problem;
    if (!std::filesystem::exists(text.path, problem)) {
      throw Error("--peer " + in_quotes(peer) + ": there is no file " + in_quotes(text.path) +
                  "; name the library by its path");
    }
    if (std::ranges::find(selection.backends, text.name) == selection.backends.end())
      selection.backends.push_back(text.name);
  }
}

std::vector<std::string> backends_of_runners(const std::vector<std::string>& peers,
                                             std::vector<std::string> backends) {
  for (const std::string& peer : peers) {
    const std::string name = parse(peer).name;
    std::ranges::replace(backends, name, std::string("native"));
  }
  return backends;
}

bool takes_peers(const std::string& path) {
  return std::filesystem::path(path).filename() == "headroom-native";
}

void add_peer_arguments(const std::vector<std::string>& peers, std::vector<std::string>& arguments) {
  for (const std::string& peer : peers) {
    const PeerText text = parse(peer);
    arguments.insert(arguments.end(),
                     {"--peer", std::filesystem::absolute(text.path).string() + ":" + text.rest});
  }
}

void require_peers_taken(const std::vector<std::string>& peers, const std::vector<std::string>& runners) {
  if (peers.empty() || std::ranges::any_of(runners, takes_peers)) return;
  throw Error(
      "--peer is loaded by headroom-native, which takes no part: ask for a backend of it, or name it with "
      "--runner");
}

}  // namespace headroom::cli
