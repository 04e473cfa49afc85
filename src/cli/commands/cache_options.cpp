// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/cache_options.h"

#include <algorithm>

#include "cli/shared/option_table.h"
#include "cli/shared/record_options.h"
#include "headroom/base/error.h"
#include "headroom/base/text.h"

namespace headroom::cli {
namespace {

constexpr const char* kCacheExamples = R"(examples:
  headroom cache --suite list                     the suites, and what this machine lacks for each
  headroom cache --suite ccache --repeat 10       ten pairs of each model, models in random order
  headroom cache --suite mine.toml -m resnet50 --warm2 --json result.json
  headroom cache --layer ccache -- ccache c++ -c x.cpp -o x.o
  headroom cache --layer inductor --layer triton --metric csv:compile_s --unit s -- python3 model.py --csv={output}
  headroom cache --layer pages:model.bin -- ./load model.bin
  headroom cache --benchmark torchbench --pytorch ~/pytorch --device cpu --output result.json
                                                  what PyTorch's cachebench.py does, and its file

layers: inductor, triton, cuda, pocl, ccache, jax, xla, openvino (a fresh folder in the variable of each);
  env:VARIABLE (the same for yours); folder:PATH (set aside and put back); pages:PATH (out of the page cache);
  pages (all of it, as root). Commands may use {work}, {output} and {layer.NAME}.
HEADROOM_PYTHON is the Python of suites (default python3), HEADROOM_SUITE_DIR the folder of torchbench.py and
huggingface.py. docs/cache.md tells more.
)";

struct RawCacheOptions {
  std::string benchmark, suite, mode, device;
  std::vector<std::string> set;
  bool dynamic = false, no_store = false;
};

void declare_subject(OptionTable& table, RawCacheOptions& raw, CacheOptions& options) {
  table.add_option("--suite", raw.suite, "a suite by name, or its file; 'list' shows them")
      .completed_by(Completes::kSuite);
  table
      .add_option("--benchmark", raw.benchmark,
                  "torchbench or huggingface, with the command line of cachebench.py")
      .one_of({"torchbench", "huggingface"});
  table.add_option("-m,--model", options.models, "only this model; repeat it for more").repeated();
  table.add_option("--mode", raw.mode, "inference or training, where the suite has both");
  table.add_option("--device", raw.device, "cuda or cpu, where the suite has both");
  table.add_flag("--dynamic", raw.dynamic, "dynamic shapes, where the suite has them");
  table.add_option("--set", raw.set, "option=value of the suite").repeated();
  table.add_option("--pytorch", options.pytorch, "a PyTorch checkout: its benchmarks/dynamo has the programs")
      .completed_by(Completes::kFile);
  table.add_option("--layer", options.layers, "a cache that the command after -- uses; repeat it for more")
      .repeated();
  table.add_option("--metric", options.metric,
                   "what is measured of that command: wall (default), cpu, rss, csv:COLUMN, json:/POINTER, "
                   "output:EXPRESSION");
  table.add_option("--name", options.name,
                   "what the command after -- is called in results (default: the command)");
  table.add_option("--unit", options.unit, "unit of a metric that the command writes");
}

void declare_measuring(OptionTable& table, RawCacheOptions& raw, CacheOptions& options) {
  table
      .add_option("--repeat", options.repeat,
                  "pairs of a cold and a warm run for each model (default: the suite's, or 6)")
      .range(1, 100000);
  table.add_flag("--warm2", options.warm_twice, "a second warm run in each pair: is warm stable?");
  table.add_flag(
      "--each-layer", options.each_layer,
      "a run more in each pair for each cache, with that alone taken away, and --warm2 among them: "
      "what each saves");
  table.add_option("--order", options.order, "of the models: random (in each round) or listed")
      .one_of({"random", "listed"});
  table.add_option("--seed", options.seed, "of the random order (default 1)");
  table.add_option("--timeout", options.timeout, "most time for one run (default: the suite's, or 2000s)");
  table.add_option("--output", options.output, "records as PyTorch's cachebench.py writes them (JSON)")
      .completed_by(Completes::kFile);
  declare_record_files(table, options.json, options.oss);
  declare_store(table, options.store, raw.no_store);
  table.add_flag("--recover", options.recover, "only put back what a killed run had set aside");
}

void take_options_of_suite(const RawCacheOptions& raw, CacheOptions& options) {
  if (!raw.mode.empty()) options.set["mode"] = raw.mode;
  if (!raw.device.empty()) options.set["device"] = raw.device;
  if (raw.dynamic) options.set["dynamic"] = "true";
  for (const std::string& text : raw.set) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos) throw Error("--set " + in_quotes(text) + " is not option=value");
    options.set[text.substr(0, equals)] = text.substr(equals + 1);
  }
}

void check_subject(const RawCacheOptions& raw, const CacheOptions& options) {
  const int subjects =
      (raw.suite.empty() ? 0 : 1) + (raw.benchmark.empty() ? 0 : 1) + (options.command.empty() ? 0 : 1);
  if (options.recover && subjects == 0) return;
  if (subjects != 1)
    throw Error("give one of --suite NAME, --benchmark NAME, or a command after --; see --help");
  if (options.command.empty() &&
      !(options.layers.empty() && options.metric.empty() && options.unit.empty() && options.name.empty())) {
    throw Error("--layer, --metric, --name and --unit are for a command after --; a suite has its own");
  }
  if (!options.command.empty() && !(options.models.empty() && options.set.empty())) {
    throw Error("--model, --mode, --device, --dynamic and --set are for suites");
  }
  if (!options.command.empty() && options.layers.empty()) {
    throw Error(
        "give the caches that the command uses with --layer: without any, cold and warm are the same");
  }
}

/// What cachebench.py's parser would leave alone, and ours does not know.
void take_ignored(const OptionTable& table, const RawCacheOptions& raw, CacheOptions& options) {
  options.ignored = table.remaining();
  if (options.ignored.empty() || !raw.benchmark.empty()) return;
  std::vector<std::string> names;
  for (const Option& option : table.options()) names.push_back(option.all_names().front());
  throw Error("unknown argument " + in_quotes(options.ignored.front()) +
              did_you_mean(options.ignored.front(), names) + "; a command to measure stands after --");
}

}  // namespace

CacheOptions parse_cache_options(const Arguments& arguments) {
  CacheOptions options;
  RawCacheOptions raw;
  OptionTable table("Measures commands with cold caches against the same with warm ones, in pairs.",
                    "headroom cache");
  table.footer(kCacheExamples);
  table.allow_extras();
  declare_subject(table, raw, options);
  declare_measuring(table, raw, options);
  const auto end = std::ranges::find(arguments, "--");
  if (end != arguments.end()) options.command.assign(end + 1, arguments.end());
  if ((options.done = parse_arguments(table, Arguments(arguments.begin(), end)))) return options;
  take_ignored(table, raw, options);
  take_options_of_suite(raw, options);
  if (end != arguments.end() && options.command.empty()) throw Error("no command after --");
  check_subject(raw, options);
  options.suite = raw.benchmark.empty() ? raw.suite : raw.benchmark;
  if (!raw.benchmark.empty() && options.models.size() > 1) options.models = {options.models.back()};
  settle_store(options.store, raw.no_store);
  return options;
}

}  // namespace headroom::cli
