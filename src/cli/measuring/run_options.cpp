// SPDX-License-Identifier: Apache-2.0
#include "cli/measuring/run_options.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "cli/measuring/commits.h"
#include "cli/measuring/measurement.h"
#include "cli/measuring/runners.h"
#include "headroom/base/error.h"
#include "headroom/base/files.h"
#include "headroom/base/text.h"
#include "headroom/base/units.h"
#include "headroom/compare/verdict.h"
#include "headroom/console/option_table.h"
#include "headroom/experiment/buffer.h"
#include "headroom/experiment/experiment.h"
#include "headroom/experiment/tensor_spec.h"
#include "headroom/process/affinity.h"
#include "headroom/process/spawn.h"
#include "headroom/ranks/collectives/collectives.h"
#include "headroom/ranks/ddp/ddp.h"
#include "headroom/ranks/dispatch/dispatch.h"
#include "headroom/results/record_files.h"

namespace headroom::cli {
namespace {

/// Options of models, under gpt-fast's names; 0: not given.
struct ModelOptions {
  std::int64_t layers = 0, prompt_len = 0, max_new_tokens = 0;
  std::string model, tokens;
  std::string batch, context, draft;  ///< "1,8,64"
};

struct ModuleOptions {
  std::vector<std::string> modules;
  std::vector<std::string> inputs;
};

constexpr std::array<const char*, 3> kExperiments{"llm.decode", "llm.prefill", "llm.verify"};
constexpr std::array<std::string_view, 2> kShapes{"llama2_7b", "mixtral_8x7b"};
/// They must fit one argument.
constexpr std::size_t kMaxTokens = 10'000;

std::string model_argument(const std::string& model) {
  namespace fs = std::filesystem;
  if (std::ranges::find(kShapes, model) != kShapes.end()) return model;
  std::error_code problem;
  if (!fs::exists(model, problem)) {
    throw Error("--model " + quote(model) +
                ": no such file or folder; give a GGUF file, a folder with safetensors and config.json, or "
                "llama2_7b or mixtral_8x7b (random weights)");
  }
  return fs::absolute(model).string();
}

/// Accepts commas and white space: "1,15,27".
std::string token_argument(const std::string& tokens) {
  const bool is_list = !tokens.empty() && is_digit(tokens.front());
  std::string text = is_list ? tokens : read_file(tokens);
  std::ranges::replace_if(
      text, [](char c) { return is_json_space(c) || c == ','; }, ' ');
  std::vector<std::string> words = split(text, ' ');
  std::erase(words, "");
  const std::string what = is_list ? "--tokens" : "--tokens " + quote(tokens);
  if (words.empty()) throw Error(what + ": no token id given");
  if (words.size() > kMaxTokens) throw Error(what + ": more than 10000 token ids");
  for (const std::string& word : words) {
    const auto id = to_integer(word);
    if (!id || *id < 0)
      throw Error(what + ": " + quote(word) + " is not a token id, such as those in 1,15043,29892");
  }
  return join(words, ",");
}

std::string readable_file(const std::string& path) {
  const std::string what = "--module " + quote(path);
  std::error_code problem;
  const std::filesystem::file_status status = std::filesystem::status(path, problem);
  if (!std::filesystem::exists(status)) throw Error(what + ": no such file");
  if (!std::filesystem::is_regular_file(status))
    throw Error(what + " is not a file: give the .pt file itself");
  if (access(path.c_str(), R_OK) != 0) throw Error(what + " cannot be read: permission denied");
  return std::filesystem::absolute(path).string();
}

/// The parts of a --peer argument needed here (headroom_native/peers/library_peer.h).
struct PeerText {
  std::string path, rest, name;  ///< rest: "SYMBOL,name=NAME"
};

PeerText parse(const std::string& peer) {
  // A path may contain commas and colons, a symbol cannot.
  const std::size_t colon = peer.rfind(':');
  if (colon == std::string::npos || colon == 0 || colon + 1 == peer.size()) {
    throw Error(
        "--peer " + quote(peer) +
        ": expected PATH:SYMBOL[,name=NAME][,dtype=bf16|int8][,threads=own], such as libmine.so:gemv_bf16");
  }
  PeerText text{peer.substr(0, colon), peer.substr(colon + 1), {}};
  for (const std::string& word : split(text.rest, ',')) {
    if (text.name.empty()) text.name = word;
    if (word.starts_with("name=")) text.name = word.substr(std::string_view("name=").size());
  }
  return text;
}

void declare_model_options(OptionTable& table, ModelOptions& options) {
  table.group("models");
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  table
      .add_option(
          "--model", options.model,
          "measure decoding (llm.decode), prompts (llm.prefill) and drafts (llm.verify) of this model: a "
          "GGUF file, a folder with safetensors and config.json, or llama2_7b, mixtral_8x7b")
      .type_name("MODEL")
      .completed_by(Completes::kFile);
  table
      .add_option("--tokens", options.tokens,
                  "token ids of the prompt, such as 1,15043,29892, or a file of them (default: any)")
      .completed_by(Completes::kFile);
  table.add_option("--layers", options.layers, "layers of the model (-a layers=N)").range(1, kMax);
  table.add_option("--prompt-len", options.prompt_len, "tokens of the prompt (-a prompt_len=N)")
      .range(1, kMax);
  table.add_option("--batch", options.batch, "sequences per batch: 1,8,64 (-a batch=...)");
  table.add_option("--context", options.context, "tokens before the decoded ones (-a context=...)");
  table.add_option("--draft", options.draft, "tokens of a verified draft (-a draft=...)");
  table.add_option("--max-new-tokens", options.max_new_tokens, "tokens per generation (-a max_new_tokens=N)")
      .range(1, kMax);
}

/// Throws Error.
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

/// Returns full path and token ids. Throws Error for a missing file or invalid ids.
std::vector<std::string> runner_arguments(const ModelOptions& options) {
  if (options.model.empty()) {
    if (!options.tokens.empty()) throw Error("--tokens needs a model: give --model FILE");
    return {};
  }
  std::vector<std::string> arguments{"--model", model_argument(options.model)};
  if (!options.tokens.empty())
    arguments.insert(arguments.end(), {"--tokens", token_argument(options.tokens)});
  return arguments;
}

/// Replaces "llm", or no name, by the model's experiments. Throws Error if names and model do not match.
void select_model(const ModelOptions& options, Selection& selection) {
  std::vector<std::string>& names = selection.names;
  const auto is_of_models = [](const std::string& name) { return name == "llm" || name.starts_with("llm."); };
  if (options.model.empty()) {
    const auto found = std::ranges::find_if(names, is_of_models);
    if (found != names.end()) throw Error(quote(*found) + " needs a model: give --model FILE");
    return;
  }
  const auto other = std::ranges::find_if_not(names, is_of_models);
  if (other != names.end()) {
    throw Error("--model measures only models: leave out " + quote(*other) +
                ", or measure it in a separate run");
  }
  if (!names.empty() && std::ranges::find(names, "llm") == names.end()) return;
  names.assign(kExperiments.begin(), kExperiments.end());
}

void declare_module_options(OptionTable& table, ModuleOptions& options) {
  table.group("models");
  table
      .add_option("--module", options.modules,
                  "measure the TorchScript module (.pt) or AOTInductor package (.pt2) in this file; repeat "
                  "to compare")
      .completed_by(Completes::kFile)
      .repeated();
  table
      .add_option("--input", options.inputs,
                  "input of the modules, in order: f32[1,3,224,224], i64[1,128]:0..31999 (range of integers)")
      .repeated();
}

/// Returns full paths. Throws Error for a missing file, an invalid input, or inputs without a module.
std::vector<std::string> runner_arguments(const ModuleOptions& options) {
  if (options.modules.empty() && !options.inputs.empty()) {
    throw Error("--input needs a module: give --module FILE");
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

/// Selects the experiment "module". Throws Error if an experiment was named.
void select_modules(Selection& selection) {
  if (!selection.names.empty()) {
    throw Error("--module measures only modules: leave out " + quote(selection.names.front()) +
                ", or measure it in a separate run");
  }
  selection.names = {"module"};
  if (selection.backends.empty()) selection.backends = {"all"};
}

void declare_peer_options(OptionTable& table, std::vector<std::string>& peers) {
  table.group("what to measure");
  table
      .add_option("--peer", peers,
                  "measure a function of a shared library as a backend of gemv, gather_gemv and layer_norm; "
                  "its properties follow: ,name=NAME ,dtype=bf16|int8 ,threads=own; repeat for several")
      .completed_by(Completes::kFile)
      .repeated();
}

/// Adds to the requested backends, "native" if none. Throws Error for an invalid peer or missing file.
void select_peers(const std::vector<std::string>& peers, Selection& selection) {
  if (peers.empty()) return;
  if (selection.backends.empty()) selection.backends.emplace_back("native");
  for (const std::string& peer : peers) {
    const PeerText text = parse(peer);
    std::error_code problem;
    if (!std::filesystem::exists(text.path, problem)) {
      throw Error("--peer " + quote(peer) + ": no file " + quote(text.path) +
                  "; give the path of the library");
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

/// True for headroom-native of any build.
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

/// Throws Error if no runner takes peers.
void require_peers_taken(const std::vector<std::string>& peers, const std::vector<std::string>& runners) {
  if (peers.empty() || std::ranges::any_of(runners, takes_peers)) return;
  throw Error(
      "--peer needs headroom-native, which does not take part: add one of its backends, or give it with "
      "--runner");
}

bool is_collective(const std::string& name) {
  return std::ranges::find(kCollectives, name) != std::end(kCollectives);
}

bool is_rank_experiment(const std::string& name) {
  return name.starts_with(kDdpPrefix) || name.starts_with(kDispatchPrefix) || is_collective(name) ||
         name == "limit.exchange";
}

int ranks_of_mesh(const std::string& mesh) {
  const std::vector<std::int64_t> sizes = parse_grid(mesh, "axis mesh", 1);
  return static_cast<int>(std::accumulate(sizes.begin(), sizes.end(), std::int64_t{1}, std::multiplies<>()));
}

int default_ranks(const std::string& name) {
  if (name.starts_with(kDispatchPrefix)) return ranks_of_mesh(axes_of(DispatchSetup{}).front().second);
  return name.starts_with(kDdpPrefix) ? 1 : 2;
}

constexpr ConstantHelp kRunExamples[] = {
    {"headroom run", "everything, against this machine's limits"},
    {"headroom run gemv D=4096,8192 dtype=int8", "two shapes of one experiment"},
    {"headroom run gemv -a D=1024-16384*2 --hot", "a range of sizes, inputs in cache"},
    {"headroom run gemv --backend native,aten", "two implementations, interleaved"},
    {"headroom run gemv --peer libmine.so:gemv_bf16",
     "a function of your library against native (docs/how-to/external-kernels.md)"},
    {"headroom run --git main --build make --gate 3% ./mine",
     "a runner at the merge base and at the last commit"},
    {"headroom run --runner build/old/bin/mine --runner build/new/bin/mine",
     "two builds of a runner, interleaved"},
    {"headroom run --module resnet.pt --input f32[1,3,224,224] --trace traces",
     "a TorchScript module, and a trace of its operators"},
    {"headroom run --quick --json result.json", "a first look, written as records"},
    {"headroom run gemv --live", "show the table while measuring"},
    {"headroom run llama2_7b_int8 --layers 4", "decoding with four layers of a model"},
    {"headroom run llm --model model.gguf --prompt-len 512 --batch 8",
     "your model: decoding, prompts, drafts"},
    {"headroom run bench.py --backend eager,native",
     "experiments in Python, against native ones of the same name"},
    {"headroom run all_reduce ddp.mlp -a ranks=1,2", "experiments of ranks, as in headroom ddp"},
    {"headroom run limit.read --huge-pages no", "memory bandwidth with small pages"},
    {"headroom run --calibrate-noise", "the run-to-run spread of this machine"},
    {"headroom run --output results.csv --fail-below-target", ""},
};

constexpr ForeignOption kForeignRunOptions[] = {
    {"-o,--csv", true, "--output {}"},
    {"-b,--benchmark", true, "--only {}"},
    {"-l,--benchmark_list_tests", false, "--list"},
    {"-k,--benchmark_filter", true, "--filter {}"},
    {"-r,--runs,--repeat,--repetitions,--iterations", true, "--num-samples {}"},
    {"-w,--warmup,--benchmark_min_warmup_time", true, "", "warm-up is detected; no option needed"},
    {"--benchmark_min_time", true, "--min-time {}"},
    {"--benchmark_repetitions", true, "", "ignored; sampling ends at --precision, or after --num-samples N"},
    {"--min-samples", true, "", "ignored; sampling ends at --precision, or after --num-samples N"},
    {"--benchmark_enable_random_interleaving", false, "", "cases are always interleaved; no option needed"},
    {"--benchmark_out,--jsonbin,--export-json", true, "--json {}",
     "writes headroom's records, as --json FILE"},
    {"--benchmark_format,--benchmark_out_format", true, "",
     "ignored; --json - prints JSON, --output FILE writes CSV"},
    {"--benchmark_color", true, "", "ignored; --color never prints no colours"},
    {"--benchmark_*", true, nullptr,
     "headroom run has no such option of Google Benchmark; its --help lists its own"},
    {"--benchmark-only", false, "", "headroom run measures nothing else; no option needed"},
    {"--benchmark-*", true, nullptr, "an option of pytest-benchmark: give it to pytest --headroom"},
    {"--md,--export-markdown", true, nullptr, "give --markdown and redirect the output: --markdown > FILE"},
    {"-d,--device,--devices", true, nullptr, "select the GPU by CUDA_VISIBLE_DEVICES=N headroom run"},
    {"--max-noise,--stopping-criterion", true, nullptr, "give --precision 1%: when sampling ends"},
    {"--profile,--run-once", false, nullptr, "give --num-samples 1 --processes 1 for one sample"},
    {"--count,--gate-count", true, nullptr,
     "takes commands, no runners: headroom ab --count instructions OLD NEW"},
    {"--why", false, nullptr, "takes commands, no runners: headroom ab --why OLD NEW"},
};

struct RawRunOptions {
  std::vector<std::string> only, axes, runners, modules_of_python;
  std::string threads;
  std::vector<std::string> sockets;
  StopOptions stop;
  ModuleOptions modules;
  ModelOptions model;
  std::vector<std::string> peers;
  std::vector<std::string> files;  ///< Python files among the names
  std::string timeout, huge_pages, gate;
  CommitOptions commits;
  bool hot = false, quick = false, all_backends = false, no_store = false;
};

bool has_python_files(const RawRunOptions& raw) {
  return !raw.files.empty() || !raw.modules_of_python.empty();
}

/// "1,2,4", "1-8*2".
std::vector<int> thread_counts(const std::string& text) {
  if (text.empty()) return {};
  std::vector<int> counts;
  for (const std::string& value : parse_axis_request("--threads=" + text).values) {
    const auto count = to_integer(value);
    constexpr std::int64_t kMax = 4096;
    if (!count || *count < 1 || *count > kMax)
      throw Error("--threads " + value + ": expected numbers from 1 to 4096, such as 4 or 1,2,4 or 1-8*2");
    if (std::ranges::find(counts, *count) == counts.end()) counts.push_back(static_cast<int>(*count));
  }
  return counts;
}

void declare_selection(OptionTable& table, RawRunOptions& raw, RunOptions& options) {
  table.group("what to measure");
  Selection& selection = options.request.selection;
  table
      .add_option(
          "NAME", selection.names,
          "experiments (gemv, 'ge*', gemv,mlp), axes (D=1024), a runner (./mine) or a Python file (default: "
          "all experiments except models)")
      .take_all()
      .completed_by(Completes::kExperiment);
  table.add_option("--only", raw.only, "experiments to run, as NAME")
      .take_all()
      .delimiter(',')
      .completed_by(Completes::kExperiment);
  table.add_option("--filter", selection.filter,
                   "run only cases whose name matches this regular expression: 'gemv.*int8'");
  table.add_flag("--list", options.list, "list experiments, axes and backends, and measure nothing");
  table
      .add_option("-a,--axis", raw.axes,
                  "set an axis: axis=a,b,c or axis=first-last*factor or axis=first-last+step")
      .repeated()
      .completed_by(Completes::kAxis);
  table
      .add_option("--backend", selection.backends,
                  "backends to compare, the baseline first (default: the first of each experiment; all of a "
                  "single --runner)")
      .take_all()
      .delimiter(',')
      .completed_by(Completes::kBackend);
  table.add_flag("--all-backends", raw.all_backends, "measure every backend of each experiment");
  table.add_option("--runner", raw.runners, "program with the experiments; repeat to compare")
      .repeated()
      .completed_by(Completes::kFile);
  table
      .add_option("--python", raw.modules_of_python,
                  "Python module with experiments (gpt_fast is shipped); give a file as NAME")
      .repeated();
  table.add_option("--runner-socket", raw.sockets,
                   "descriptor of a socket to a running runner; FD=NAME names it in results");
  declare_module_options(table, raw.modules);
  declare_model_options(table, raw.model);
  declare_peer_options(table, raw.peers);
  table.group("how to measure");
  table.add_option("--threads", raw.threads,
                   "threads of a case, several to compare: 1,2,4 or 1-8*2 (default: all CPUs of this "
                   "process; one in a rank)");
  table.add_flag("--hot", raw.hot,
                 "use one copy of the inputs, in cache if it fits (default: cold, rotating copies)");
  table
      .add_option("--huge-pages", raw.huge_pages,
                  "huge pages for inputs and limits of headroom-native: request (yes, also without this "
                  "option), refuse (no), or leave to the kernel (default)")
      .one_of({"yes", "no", "default"});
  table.add_option("--seed", selection.seed, "seed of the random inputs and of the order of sampling");
}

void declare_measuring(OptionTable& table, RawRunOptions& raw, RunOptions& options) {
  table.group("how to measure");
  table.add_option("--precision", raw.stop.precision,
                   "goal for the half-width of the 95 % interval (default 1%)");
  table.add_option("--min-time", raw.stop.min_time,
                   "minimum sampling time per group of compared cases (default 0.5s)");
  table.add_option(
      "--max-time", raw.stop.max_time,
      std::string("maximum sampling time per group of compared cases (default 5s)") + kRunTimeHelp);
  table
      .add_option("--num-samples", raw.stop.num_samples,
                  "exact number of samples of each case (default: until the interval is narrow)")
      .range(1, std::int64_t{1} << 40);
  table
      .add_option(
          "--processes", options.request.processes,
          "fresh runner processes that share the samples (default: 3; 1 with --quick if nothing is compared)")
      .range(1, 1000);
  table.add_flag("--quick", raw.quick,
                 "take a first look: precision 5%, at most 2 s of sampling per group, stored kernel "
                 "variants, cases above 1 GiB only if named, the whole run at most 1 min or 10 s per group, "
                 "whichever is more (or --max-time)");
  table.add_flag("--subtract-overhead", options.request.subtracts_overhead,
                 "subtract the cost of reading the clock or calling a Python body from each time");
  table.add_flag("!--no-limits", options.request.limits, "do not sample this machine's limits");
  table.add_flag("!--no-counters", options.request.counts,
                 "do not count instructions and bytes in hardware after the samples");
  table.add_flag("--retune", options.retune,
                 "choose block sizes and prefetch distances again (default: once per case and machine)");
  table.add_flag("--strict", options.request.strict,
                 "fail cases that accumulate in less than f32 (bf16, f16), even within that precision");
  table.add_flag("--keep-wrong", options.request.selection.keep_wrong,
                 "also time cases with a wrong answer: flagged, not compared, exit code 1");
  table.add_option("--timeout", raw.timeout,
                   "maximum time for a runner to answer one request (default 120s)");
}

void declare_output(OptionTable& table, RawRunOptions& raw, RunOptions& options) {
  table.group("results");
  table
      .add_option("--output", options.csv,
                  "append means over shapes to this CSV file, and JSON lines to the same name with .json")
      .completed_by(Completes::kFile);
  table.add_flag("--resume", options.resume,
                 "resume the newest killed run, in its folder and with its options; finished groups are not "
                 "measured again");
  table.add_flag("--markdown", options.markdown, "print the tables in Markdown");
  table.add_flag("--live", options.live,
                 "show the table and the distribution of samples while measuring (needs a terminal)");
  declare_record_files(table, options.json, options.oss);
  declare_exports(table, options.exports, Exported::kResults);
  declare_store(table, options.store, raw.no_store);
  table.add_flag("--calibrate-noise", options.calibrate_noise,
                 "run five times and store the run-to-run spread of this machine for headroom diff --gate");
  table
      .add_option(
          "--trace", options.request.traces,
          "folder for a Chrome trace of one call of each case, recorded after the samples (torch runners)")
      .completed_by(Completes::kFile);
  table.add_option("--targets", options.targets, "TOML file of targets (default: the shipped ones)")
      .completed_by(Completes::kFile);
  table.add_flag("--fail-below-target", options.fail_below_target, "exit 1 if a target is missed");
  table.add_option("--gate", raw.gate,
                   "exit 1 if a case is slower than with the first backend or runner by more than this, 3 if "
                   "inconclusive: 3%");
  declare_commits(table, raw.commits, "the runner");
}

StopRule stop_rule(const RawRunOptions& raw) {
  StopRule rule;
  rule.precision = raw.quick ? 0.05 : 0.01;
  rule.min_time_ns = raw.quick ? 0.05e9 : 0.5e9;
  rule.max_time_ns = raw.quick ? 2e9 : 5e9;
  return override_stop_rule(rule, raw.stop);
}

bool all_rank_experiments(const std::vector<std::string>& names) {
  return !names.empty() && std::ranges::all_of(names, is_rank_experiment);
}

/// Named programs, else those of the backends.
std::vector<FoundRunner> runners_of(const RawRunOptions& raw, const Selection& selection) {
  if (all_rank_experiments(selection.names)) return {};
  std::vector<FoundRunner> named;
  for (const std::string& path : raw.runners) named.push_back({path, true});
  const bool has_modules = !raw.modules.modules.empty();
  if (named.empty() && has_modules && !has_python_files(raw)) named.push_back({runner_of_modules(), true});
  if (has_modules && has_python_files(raw)) return named;
  if (!named.empty() || !raw.sockets.empty()) return named;
  const std::vector<std::string> backends = backends_of_runners(raw.peers, selection.backends);
  if (has_python_files(raw)) return known_runners_of_backends(backends);
  return runners_of_backends(backends);
}

std::vector<RunnerCommand> python_commands(const RawRunOptions& raw) {
  std::vector<RunnerCommand> commands;
  for (const std::string& file : raw.files) commands.push_back(python_file_runner(file));
  for (const std::string& module : raw.modules_of_python) commands.push_back(python_module_runner(module));
  for (const std::string& socket : raw.sockets) commands.push_back(socket_runner(socket));
  return commands;
}

/// Such as "all_reduce", "ddp.resnet18", "dispatch.add".
bool any_rank_experiment(const std::vector<std::string>& names) {
  return std::ranges::any_of(names, is_rank_experiment);
}

std::vector<RunnerCommand> runner_commands(const RawRunOptions& raw, const Selection& selection) {
  std::vector<RunnerCommand> commands;
  std::vector<std::string> arguments = runner_arguments(raw.modules);
  const std::vector<std::string> model = runner_arguments(raw.model);
  if (!arguments.empty() && !model.empty())
    throw Error("--module conflicts with --model: measure them in two runs");
  arguments.insert(arguments.end(), model.begin(), model.end());
  for (const FoundRunner& runner : runners_of(raw, selection)) {
    RunnerCommand command;
    command.path = runner.path;
    command.may_refuse = !runner.is_asked_for;
    command.is_companion = has_python_files(raw) && raw.runners.empty();
    command.arguments = arguments;
    if (takes_peers(runner.path)) add_peer_arguments(raw.peers, command.arguments);
    // Known runners may load libraries for long: half a minute for libtorch with CUDA.
    if (raw.runners.empty()) command.hello_timeout = command.reply_timeout;
    commands.push_back(std::move(command));
  }
  // The first requested backend is the baseline.
  std::vector<RunnerCommand> python = python_commands(raw);
  for (RunnerCommand& command : python) command.arguments = arguments;
  const bool known_first =
      !selection.backends.empty() && !known_runners_of_backends({selection.backends.front()}).empty();
  commands.insert(known_first ? commands.end() : commands.begin(), python.begin(), python.end());
  if (commands.empty() && !any_rank_experiment(selection.names)) {
    throw Error(
        "headroom-native not found next to this program or in PATH; give a runner with --runner PATH");
  }
  for (RunnerCommand& command : commands) {
    if (raw.timeout.empty()) break;
    command.reply_timeout = std::chrono::milliseconds(static_cast<long>(parse_time_ns(raw.timeout) / 1e6));
    command.hello_timeout = command.reply_timeout;
  }
  return commands;
}

std::vector<std::string> paths_of(const std::vector<RunnerCommand>& commands) {
  std::vector<std::string> paths;
  for (const RunnerCommand& command : commands) paths.push_back(command.path);
  return paths;
}

/// Job of the launcher, or with as many ranks as the axes "ranks" and "mesh" need. Throws like
/// resolve_rank_programs().
RankStart ranks_of_run(const std::vector<std::string>& names, const std::vector<AxisRequest>& axes,
                       std::vector<std::string> runners, int threads) {
  RankStart start;
  start.place = rank_place();
  start.runners = std::move(runners);
  start.threads = threads;
  int asked = 0;
  for (const AxisRequest& axis : axes) {
    for (const std::string& value : axis.values) {
      if (axis.name == "ranks") asked = std::max(asked, static_cast<int>(to_integer(value).value_or(0)));
      if (axis.name == "mesh") asked = std::max(asked, ranks_of_mesh(value));
    }
  }
  for (const std::string& name : names) {
    start.arguments += name + " ";
    if (asked == 0) start.ranks = std::max(start.ranks, default_ranks(name));
  }
  if (asked > 0) start.ranks = asked;
  if (start.place) start.ranks = start.place->size;
  resolve_rank_programs(start, "run " + names.front());
  return start;
}

/// Named programs are those of the ranks if all experiments are.
RankStart add_ranks(const RawRunOptions& raw, SessionRequest& request) {
  const Selection& selection = request.selection;
  const bool all = all_rank_experiments(selection.names);
  if (!all && !raw.runners.empty()) {
    throw Error("--runner cannot name programs for ranks and others at once: measure " +
                join(selection.names, " ") + " in two runs");
  }
  if (selection.threads.size() > 1) throw Error("--threads takes only one number for ranks");
  const int threads = selection.threads.empty() ? selection.default_threads : selection.threads.front();
  RankStart start = ranks_of_run(selection.names, selection.axes, raw.runners, threads);
  const RankTimeouts timeouts = rank_timeouts(raw.timeout);
  for (const std::string& runner : start.runners)
    request.runners.push_back(rank_command(start, runner, timeouts));
  return start;
}

bool is_name_letter(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '.';
}

/// "D=1024", "model=/path".
bool is_axis_word(const std::string& word) {
  const auto end = std::ranges::find_if_not(word, is_name_letter);
  return end != word.begin() && end != word.end() && *end == '=';
}

/// Splits "gemv,layer_norm" and "gemv D=1024"; else returns the word, as names of experiments may have any
/// letter.
std::vector<std::string> words_within(const std::string& word) {
  std::vector<std::string> parts = split(word, ' ');
  if (parts.size() > 1 && std::all_of(parts.begin() + 1, parts.end(), is_axis_word)) return parts;
  const auto is_listed = [](char c) {
    return is_name_letter(c) || c == ',' || c == '*' || c == '?' || c == '-';
  };
  if (!std::ranges::all_of(word, is_listed)) return {word};
  parts = split(word, ',');
  std::erase(parts, "");
  return parts;
}

/// "bench.py", "./mine", "D=1024", "gemv": files, runners, axes, names.
void sort_word(const std::string& word, RawRunOptions& raw, std::vector<std::string>& names) {
  std::error_code ignored;
  const bool is_file = std::filesystem::is_regular_file(word, ignored);
  const bool is_path = word.starts_with('/') || word.starts_with("./") || word.starts_with("../");
  if (word.ends_with(".py")) {
    raw.files.push_back(word);
  } else if (is_axis_word(word)) {
    raw.axes.push_back(word);
  } else if (is_file && (word.ends_with(".json") || word.ends_with(".csv") || word.ends_with(".gz"))) {
    throw Error(quote(word) +
                " is not an experiment: headroom show reads results, headroom trace reads traces");
  } else if (word.find('/') != std::string::npos && find_program(word)) {
    raw.runners.push_back(word);
  } else if (is_path) {
    throw Error("no program " + quote(word) +
                ": give a runner (./mine), a Python file (bench.py) or the name of an experiment");
  } else {
    names.push_back(word);
  }
}

/// The runners at each commit, oldest first.
std::vector<RunnerCommand> at_commits(const std::vector<RunnerCommand>& runners,
                                      const std::vector<BuiltCommit>& commits) {
  std::vector<RunnerCommand> all;
  for (const BuiltCommit& built : commits) {
    for (const RunnerCommand& runner : runners) {
      const bool is_path = runner.path.find('/') != std::string::npos || runner.path.ends_with(".py");
      if (!is_path || runner.path.starts_with('/')) {
        throw Error("--git runs what is in the repository, and " + quote(runner.path) +
                    " is not: give a runner (./mine) or a Python file (bench.py)");
      }
      RunnerCommand& at = all.emplace_back(runner);
      at.path = (built.folder / runner.path).lexically_normal();
      at.label = runner.path + "@" + built.commit.short_sha();
      if (!std::filesystem::exists(at.path))
        throw Error(built.commit.title() + " has no " + quote(runner.path));
    }
  }
  return all;
}

void fill_request(RawRunOptions& raw, RunOptions& options) {
  SessionRequest& request = options.request;
  Selection& selection = request.selection;
  selection.names.insert(selection.names.end(), raw.only.begin(), raw.only.end());
  for (const std::string& word : std::exchange(selection.names, {})) {
    for (const std::string& part : words_within(word)) sort_word(part, raw, selection.names);
  }
  for (const std::string& axis : raw.axes) selection.axes.push_back(parse_axis_request(axis));
  for (AxisRequest& one : axis_requests(raw.model)) selection.axes.push_back(std::move(one));
  // A runner named alone runs all its backends.
  const std::size_t programs =
      raw.runners.size() + raw.files.size() + raw.modules_of_python.size() + raw.sockets.size();
  const bool is_alone = programs == 1 && selection.backends.empty();
  if (raw.all_backends || is_alone) selection.backends = {"all"};
  if (!raw.modules.modules.empty()) {
    select_modules(selection);
  } else {
    select_model(raw.model, selection);
  }
  select_peers(raw.peers, selection);
  const bool of_ranks = any_rank_experiment(selection.names);
  const int threads = of_ranks ? 1 : static_cast<int>(allowed_cpus().size());
  selection.default_threads = threads;
  selection.threads = thread_counts(raw.threads);
  selection.caches = raw.hot ? Caches::kHot : Caches::kCold;
  if (raw.quick && selection.names.empty()) selection.most_bytes = std::size_t{1} << 30;
  request.runners = runner_commands(raw, selection);
  if (const std::vector<BuiltCommit> commits = build_commits(raw.commits); !commits.empty())
    request.runners = at_commits(request.runners, commits);
  require_peers_taken(raw.peers, paths_of(request.runners));
  if (of_ranks) options.ranks = add_ranks(raw, request);
  if (!raw.huge_pages.empty()) request.environment.emplace_back(kHugePagesVariable, raw.huge_pages);
  for (RunnerCommand& command : request.runners) {
    command.environment.insert(command.environment.end(), request.environment.begin(),
                               request.environment.end());
  }
  if (!request.traces.empty()) request.traces = std::filesystem::absolute(request.traces).string();
  if (request.limits) request.limit_runners = limit_runners_of(paths_of(request.runners));
  request.stop = stop_rule(raw);
  if (!raw.gate.empty()) {
    options.gate = with_context("--gate", [&] { return parse_margin(raw.gate); });
    if (raw.stop.precision.empty() && *options.gate > 0) request.stop.precision = *options.gate / 2;
  }
  request.run_time_ns = run_time_ns(raw.stop);
  if (raw.quick && raw.stop.max_time.empty()) request.group_time = {60e9, 10e9, "--quick"};
  // The number of samples is per process.
  if (request.processes == 0 && raw.stop.num_samples > 0) request.processes = 1;
  if (raw.quick) request.processes_alone = 1;
  if (!raw.sockets.empty()) request.processes = 1;
}

}  // namespace

OptionTable run_table(std::function<ExitCode(const RunOptions&)> action) {
  OptionTable table("Measure experiments, interleaved with each other and with this machine's limits.",
                    "headroom run");
  table.examples(kRunExamples);
  auto& options = table.own<RunOptions>();
  auto& raw = table.own<RawRunOptions>();
  // The last value of a repeated option wins: it overrides a script's defaults.
  declare_selection(table, raw, options);
  declare_measuring(table, raw, options);
  declare_output(table, raw, options);
  table.foreign(kForeignRunOptions);
  table.finish([&options, &raw, action = std::move(action)] {
    if (options.resume) return action(options);
    fill_request(raw, options);
    options.request.tunes = !raw.quick || options.retune;
    resolve_store(options.store, raw.no_store || options.calibrate_noise);
    return action(options);
  });
  return table;
}

}  // namespace headroom::cli
