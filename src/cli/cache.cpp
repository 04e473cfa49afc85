// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/measuring/measurement.h"
#include "headroom/base/error.h"
#include "headroom/base/files.h"
#include "headroom/base/json.h"
#include "headroom/base/secrets.h"
#include "headroom/base/text.h"
#include "headroom/base/units.h"
#include "headroom/command/cache_layer.h"
#include "headroom/command/cache_results.h"
#include "headroom/command/cache_run.h"
#include "headroom/command/suite.h"
#include "headroom/console/command.h"
#include "headroom/console/interrupt.h"
#include "headroom/console/option_table.h"
#include "headroom/console/output.h"
#include "headroom/results/record_files.h"
#include "headroom/tables/table.h"

namespace headroom::cli {
namespace {

struct CacheOptions {
  std::string suite;                 ///< name or file; "list"; empty for a command
  std::vector<std::string> command;  ///< after "--"
  std::vector<std::string> layers;
  std::vector<std::string> models;
  std::string metric, unit, order, timeout, max_time, pytorch;
  OptionValues set;
  int repeat = 0;  ///< 0: as in the suite
  bool warm_twice = false;
  bool each_layer = false;
  std::string name;  ///< of a measured command
  std::uint64_t seed = 1;
  std::string output;  ///< as from PyTorch's cachebench.py
  std::string json, oss;
  std::string store;  ///< history to append to, or empty
  bool recover = false;
};

constexpr ConstantHelp kCacheExamples[] = {
    {"headroom cache --suite list", "the suites, and what each lacks on this machine"},
    {"headroom cache --suite ccache --repeat 10", "ten pairs of each model, models in random order"},
    {"headroom cache --suite mine.toml -m resnet50 --warm2 --json result.json", ""},
    {"headroom cache --layer ccache -- ccache c++ -c x.cpp -o x.o", ""},
    {"headroom cache --layer inductor --layer triton --metric csv:compile_s --unit s -- python3 model.py "
     "--csv={output}",
     ""},
    {"headroom cache --layer pages:model.bin -- ./load model.bin", ""},
    {"headroom cache --benchmark torchbench --pytorch ~/pytorch --device cpu --output result.json",
     "as PyTorch's cachebench.py, with its output file"},
};

constexpr const char* kCacheDetails[] = {
    "--layer: inductor, triton, cuda, pocl, ccache, jax, xla, openvino (each variable set to a fresh "
    "folder); env:VARIABLE (the same for any variable); folder:PATH (moved away and restored); pages:PATH "
    "(dropped from the page cache); pages (the whole page cache, as root). Commands may use {work}, {output} "
    "and {layer.NAME}. HEADROOM_PYTHON is the Python of suites (default python3), HEADROOM_SUITE_DIR the "
    "folder of torchbench.py and huggingface.py. See docs/how-to/compile-caches.md.",
};

constexpr ForeignOption kForeignCacheOptions[] = {
    {"-o", true, "--output {}"},
    {"-r,--runs", true, "--repeat {}"},
    {"-w,--warmup", true, "", "each pair is a cold and a warm run; no option needed"},
};

struct RawCacheOptions {
  std::string benchmark, suite, mode, device;
  std::vector<std::string> set;
  bool dynamic = false, no_store = false;
  std::vector<std::string> option_names;
};

void declare_subject(OptionTable& table, RawCacheOptions& raw, CacheOptions& options) {
  table.add_option("--suite", raw.suite, "suite by name or file; 'list' shows all")
      .completed_by(Completes::kSuite);
  table
      .add_option("--benchmark", raw.benchmark,
                  "torchbench or huggingface, with the options of cachebench.py")
      .one_of({"torchbench", "huggingface"});
  table.add_option("-m,--model", options.models, "measure only this model; repeat for more").repeated();
  table.add_option("--mode", raw.mode, "inference or training, if the suite has both");
  table.add_option("--device", raw.device, "cuda or cpu, if the suite has both");
  table.add_flag("--dynamic", raw.dynamic, "use dynamic shapes, if the suite has them");
  table.add_option("--set", raw.set, "set an option of the suite: option=value").repeated();
  table.add_option("--pytorch", options.pytorch, "PyTorch checkout with the programs in benchmarks/dynamo")
      .completed_by(Completes::kFile);
  table.add_option("--layer", options.layers, "cache that the command after -- uses; repeat for more")
      .repeated();
  table.add_option(
      "--metric", options.metric,
      "metric of that command: wall (default), cpu, rss, csv:COLUMN, json:/POINTER, output:EXPRESSION");
  table.add_option("--name", options.name, "name of that command in results (default: the command)");
  table.add_option("--unit", options.unit, "unit of a metric that the command writes");
}

void declare_measuring(OptionTable& table, RawCacheOptions& raw, CacheOptions& options) {
  table
      .add_option("--repeat", options.repeat,
                  "pairs of a cold and a warm run for each model (default: the suite's, or 6)")
      .range(1, 100000);
  table.add_flag("--warm2", options.warm_twice,
                 "add a second warm run to each pair, to check that warm runs are stable");
  table.add_flag("--each-layer", options.each_layer,
                 "measure what each cache saves: add a run without it to each pair (implies --warm2)");
  table.add_option("--order", options.order, "order of the models: random (in each round) or listed")
      .one_of({"random", "listed"});
  table.add_option("--seed", options.seed, "seed of the random order (default 1)");
  table.add_option(
      "--max-time", options.max_time,
      std::string("maximum time for the pairs of each model, at least one pair (default: none)") +
          kRunTimeHelp);
  table.add_option("--timeout", options.timeout, "maximum time of one run (default: the suite's, or 2000s)");
  table.add_option("--output", options.output, "write records as PyTorch's cachebench.py does (JSON)")
      .completed_by(Completes::kFile);
  declare_record_files(table, options.json, options.oss);
  declare_store(table, options.store, raw.no_store);
  table.add_flag("--recover", options.recover, "only restore files that a killed run had moved away");
}

void read_suite_options(const RawCacheOptions& raw, CacheOptions& options) {
  if (!raw.mode.empty()) options.set["mode"] = raw.mode;
  if (!raw.device.empty()) options.set["device"] = raw.device;
  if (raw.dynamic) options.set["dynamic"] = "true";
  for (const std::string& text : raw.set) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos) throw Error("--set " + quote(text) + " is not option=value");
    options.set[text.substr(0, equals)] = text.substr(equals + 1);
  }
}

void check_subject(const RawCacheOptions& raw, const CacheOptions& options) {
  const int subjects =
      (raw.suite.empty() ? 0 : 1) + (raw.benchmark.empty() ? 0 : 1) + (options.command.empty() ? 0 : 1);
  if (options.recover && subjects == 0) return;
  if (subjects != 1)
    throw Error("give exactly one of --suite NAME, --benchmark NAME, or a command after --; see --help");
  if (options.command.empty() &&
      !(options.layers.empty() && options.metric.empty() && options.unit.empty() && options.name.empty())) {
    throw Error("--layer, --metric, --name and --unit need a command after --; a suite defines its own");
  }
  if (!options.command.empty() && !(options.models.empty() && options.set.empty())) {
    throw Error("--model, --mode, --device, --dynamic and --set need a suite");
  }
  if (!options.command.empty() && options.layers.empty()) {
    throw Error("no cache given: name the caches that the command uses with --layer");
  }
}

/// cachebench.py's parser ignores unknown arguments.
void refuse_unknown(const Arguments& unknown, const RawCacheOptions& raw) {
  if (unknown.empty() || !raw.benchmark.empty()) return;
  throw Error("unknown argument " + quote(unknown.front()) + did_you_mean(unknown.front(), raw.option_names) +
              "; put the command to measure after --");
}

namespace fs = std::filesystem;

std::string environment_or(const char* name, const std::string& fallback) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0' ? value : fallback;
}

fs::path shipped_folder() {
  return this_executable().parent_path().parent_path() / "share/headroom/suites";
}

bool is_file_name(const std::string& name) {
  return name.ends_with(".toml") || name.find('/') != std::string::npos;
}

Suite shipped_suite(const ShippedSuite& shipped) {
  return parse_suite(shipped.text, std::string(shipped.name) + ".toml", shipped_folder());
}

std::vector<std::string> layer_names(const Suite& suite) {
  std::vector<std::string> names;
  for (const LayerSpec& layer : suite.layers) names.push_back(layer.name);
  return names;
}

std::filesystem::path journal_folder() {
  return user_data_folder() / "set-aside";
}

void recover() {
  for (const std::string& told : recover_set_aside(journal_folder())) {
    print_sentence(told);
  }
}

std::vector<std::string> chosen_models(const Suite& suite, const std::vector<std::string>& asked) {
  for (const std::string& model : asked) {
    if (suite.any_model || std::ranges::find(suite.models, model) != suite.models.end()) continue;
    throw Error("the suite " + quote(suite.name) + " has no model " + quote(model) +
                did_you_mean(model, suite.models) + "; it has " + join(suite.models, ", "));
  }
  return asked.empty() ? suite.models : asked;
}

/// Finds a suite by name or file. Throws Error.
Suite find_suite(const std::string& name) {
  if (is_file_name(name)) {
    const fs::path path(name);
    return parse_suite(read_file(path), name, fs::absolute(path).parent_path());
  }
  std::vector<std::string> names;
  for (const ShippedSuite& shipped : shipped_suites()) {
    if (shipped.name == name) return shipped_suite(shipped);
    names.emplace_back(shipped.name);
  }
  throw Error("unknown suite " + quote(name) + did_you_mean(name, names) + "; the suites are " +
              join(names, ", ") + "; the name of a suite file ends in .toml");
}

Suite command_suite(const CacheOptions& options) {
  Suite suite;
  suite.name = "command";
  suite.benchmark = "cache";
  for (const std::string& text : options.layers) suite.layers.push_back(parse_layer(text));
  for (auto layer = suite.layers.begin(); layer != suite.layers.end(); ++layer) {
    if (std::any_of(suite.layers.begin(), layer,
                    [&](const LayerSpec& other) { return other.name == layer->name; })) {
      throw Error("--layer " + layer->name + " is given twice");
    }
  }
  suite.metric = options.metric.empty() ? parse_metric("wall") : parse_metric(options.metric);
  check_metric(suite.metric);
  if (suite.metric.needs_document()) suite.metric.unit = options.unit;
  if (suite.metric.needs_document() == options.unit.empty()) {
    throw Error(options.unit.empty() ? "--metric " + options.metric + " needs a unit, for example --unit s"
                                     : "--unit needs a metric that the command writes: csv, json, output");
  }
  const std::vector<std::string> known = known_placeholders(suite.layers);
  for (const std::string& argument : options.command) {
    suite.command.push_back(escape_unknown_placeholders(argument, known));
  }
  suite.models = {options.name.empty() ? join(redact_secrets(options.command), " ") : options.name};
  suite.needs.programs = {suite.command.front()};
  return suite;
}

Placeholders suite_placeholders(const Suite& suite, const std::string& pytorch) {
  Placeholders places{{"python", environment_or("HEADROOM_PYTHON", "python3")},
                      {"bin", this_executable().parent_path().string()},
                      {"here", suite.here.string()}};
  std::string folder = environment_or("HEADROOM_SUITE_DIR", "");
  if (!pytorch.empty()) folder = (fs::path(pytorch) / "benchmarks/dynamo").string();
  if (!folder.empty()) places["suite_dir"] = fs::absolute(folder).string();
  return places;
}

CacheRequest request_of(const CacheOptions& options) {
  CacheRequest request;
  request.suite = options.command.empty() ? find_suite(options.suite) : command_suite(options);
  Suite& suite = request.suite;
  if (!options.order.empty()) suite.random_order = options.order == "random";
  if (!options.timeout.empty()) {
    suite.timeout_s = parse_time_ns(options.timeout) / 1e9;
    if (suite.timeout_s <= 0) throw Error("--timeout " + options.timeout + " must be above 0");
  }
  request.models = chosen_models(suite, options.models);
  request.options = option_values(suite, options.set);
  request.places = suite_placeholders(suite, options.pytorch);
  request.repeat = options.repeat > 0 ? static_cast<std::size_t>(options.repeat) : suite.repeat;
  // The baseline of runs without one cache.
  request.warm_twice = options.warm_twice || options.each_layer;
  request.each_layer = options.each_layer;
  request.seed = options.seed;
  StopOptions stop;
  stop.max_time = options.max_time;
  if (!options.max_time.empty()) request.max_ns_of_model = override_stop_rule({}, stop).max_time_ns;
  request.run_time_ns = run_time_ns(stop);
  request.out_of_time = not_reached_text(request.run_time_ns);
  request.journal = journal_folder();
  const std::vector<std::string> lacking = lacking_for(suite, request.places);
  if (!lacking.empty())
    throw Error("cannot run the suite " + quote(suite.name) + ": it lacks " + join(lacking, ", "));
  return request;
}

class CacheMeasurement final : public Measurement {
 public:
  CacheMeasurement(CacheRequest request, const Arguments& arguments, const CacheOptions& options)
      : Measurement(RecordFiles(options.json, options.oss), options.store), request_(std::move(request)) {
    // Like cachebench.py: no file without results.
    files().add("--output", options.output, [this](const std::string& path, const std::vector<Record>&) {
      const std::string json = cachebench_json(request_, run_);
      if (!json.empty()) write_file_atomically(path, json);
    });
    Environment environment =
        measuring_environment("cache", arguments, request_.seed, request_.max_ns_of_model);
    environment.extra_info["order"] = request_.suite.random_order ? "random" : "listed";
    environment_ = std::make_shared<const Environment>(std::move(environment));
  }

 private:
  void measure() override {
    const std::atomic<int>& interrupts = interrupt_count();
    journal().begin(*environment_);
    StatusLine line;
    CacheObserver observer;
    observer.on_step = [&](const CacheStep& step) {
      line.draw(fmt::format("[{}/{}] ", step.pair, step.pairs), step.model, ", " + step.phase);
    };
    observer.on_progress = [&](const CacheRun& so_far) { keep(so_far); };
    keep(run_cache(request_, observer, [&] { return interrupts > 0; }));
  }

  void keep(const CacheRun& run) {
    run_ = run;
    replace(cache_records(request_, run_, environment_));
  }

  CacheRequest request_;
  std::shared_ptr<const Environment> environment_;
  CacheRun run_;
};

ExitCode list_suites(const CacheOptions& options) {
  Table table(
      Columns().left({"suite"}).right({"models"}).text("cache layers").text("description", Cut::kEnd));
  Json list = Json::array();
  for (const ShippedSuite& shipped : shipped_suites()) {
    const Suite suite = shipped_suite(shipped);
    const std::vector<std::string> lacking = lacking_for(suite, suite_placeholders(suite, options.pytorch));
    table.row(
        {suite.name, std::to_string(suite.models.size()), join(layer_names(suite), ", "), suite.summary});
    table.line(lacking.empty() ? "  runs here" : "  lacks " + join(lacking, ", "));
    list.push_back({{"suite", suite.name},
                    {"summary", suite.summary},
                    {"models", suite.models},
                    {"layers", layer_names(suite)},
                    {"runnable", lacking.empty()},
                    {"lacking", lacking}});
  }
  if (!options.json.empty() && options.json != "-") require_writable(options.json);
  if (options.json != "-") print_table(table, stdout);
  if (!options.json.empty()) {
    write_file_atomically(options.json == "-" ? "/dev/stdout" : options.json, dump_json_pretty(list) + "\n");
  }
  return ExitCode::kSuccess;
}

}  // namespace

OptionTable cache_options(Arguments& arguments) {
  OptionTable table("Measure cold- against warm-cache time of commands, in pairs of runs.", "headroom cache");
  table.examples(kCacheExamples);
  table.foreign(kForeignCacheOptions);
  table.details(kCacheDetails);
  auto& options = table.own<CacheOptions>();
  auto& raw = table.own<RawCacheOptions>();
  const Arguments& unknown = table.allow_extras();
  declare_subject(table, raw, options);
  declare_measuring(table, raw, options);
  const Arguments all = arguments;
  const auto end = std::ranges::find(all, "--");
  if (end != all.end()) options.command.assign(end + 1, all.end());
  const bool lacks_command = end != all.end() && options.command.empty();
  arguments.assign(all.begin(), end);
  table.finish([&options, &raw, &unknown, all, lacks_command] {
    refuse_unknown(unknown, raw);
    read_suite_options(raw, options);
    if (lacks_command) throw Error("no command after --");
    check_subject(raw, options);
    options.suite = raw.benchmark.empty() ? raw.suite : raw.benchmark;
    if (!raw.benchmark.empty() && options.models.size() > 1) options.models = {options.models.back()};
    resolve_store(options.store, raw.no_store);
    if (!unknown.empty()) print_message("unknown arguments ignored: {}", join(unknown, " "));
    recover();
    if (options.recover && options.suite.empty() && options.command.empty()) return ExitCode::kSuccess;
    if (options.suite == "list") return list_suites(options);
    return CacheMeasurement(request_of(options), all, options).run();
  });
  for (const Option& option : table.options()) raw.option_names.push_back(option.all_names().front());
  return table;
}

}  // namespace headroom::cli
