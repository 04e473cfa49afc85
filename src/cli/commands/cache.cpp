// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/cache.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <memory>

#include "cli/commands/cache_options.h"
#include "cli/commands/cache_suites.h"
#include "cli/shared/interrupt.h"
#include "cli/shared/print_table.h"
#include "cli/shared/record_files.h"
#include "cli/shared/run_journal.h"
#include "cli/shared/say.h"
#include "headroom/base/error.h"
#include "headroom/base/files.h"
#include "headroom/base/text.h"
#include "headroom/base/units.h"
#include "headroom/base/user_folders.h"
#include "headroom/command/cache_records.h"
#include "headroom/command/cache_run.h"
#include "headroom/command/cache_table.h"
#include "headroom/command/set_aside.h"
#include "headroom/machine/fingerprint.h"

namespace headroom::cli {
namespace {

std::filesystem::path journal_folder() {
  return user_data_folder() / "set-aside";
}

void recover() {
  for (const std::string& told : recover_set_aside(journal_folder())) {
    say_sentence(told);
  }
}

std::vector<std::string> chosen_models(const Suite& suite, const std::vector<std::string>& asked) {
  for (const std::string& model : asked) {
    if (suite.any_model || std::ranges::find(suite.models, model) != suite.models.end()) continue;
    throw Error("the suite " + in_quotes(suite.name) + " has no model " + in_quotes(model) +
                did_you_mean(model, suite.models) + "; it has " + join(suite.models, ", "));
  }
  return asked.empty() ? suite.models : asked;
}

CacheRequest request_of(const CacheOptions& options) {
  CacheRequest request;
  request.suite = options.command.empty() ? find_suite(options.suite) : suite_of_command(options);
  Suite& suite = request.suite;
  if (!options.order.empty()) suite.random_order = options.order == "random";
  if (!options.timeout.empty()) {
    suite.timeout_s = parse_time_ns(options.timeout) / 1e9;
    if (suite.timeout_s <= 0) throw Error("--timeout " + options.timeout + " is not above 0");
  }
  request.models = chosen_models(suite, options.models);
  request.options = option_values(suite, options.set);
  request.places = suite_places(suite, options.pytorch);
  request.repeat = options.repeat > 0 ? static_cast<std::size_t>(options.repeat) : suite.repeat;
  // What runs without a cache are held against is measured among them.
  request.warm_twice = options.warm_twice || options.each_layer;
  request.each_layer = options.each_layer;
  request.seed = options.seed;
  request.journal = journal_folder();
  const std::vector<std::string> lacking = lacking_for(suite, request.places);
  if (!lacking.empty())
    throw Error("cannot run the suite " + in_quotes(suite.name) + ": it lacks " + join(lacking, ", "));
  return request;
}

std::shared_ptr<const Environment> environment_of(const Arguments& arguments, const CacheRequest& request) {
  std::vector<std::string> command{"headroom", "cache"};
  command.insert(command.end(), arguments.begin(), arguments.end());
  Environment environment = read_environment(command);
  environment.extra_info["seed"] = std::to_string(request.seed);
  environment.extra_info["order"] = request.suite.random_order ? "random" : "listed";
  return std::make_shared<const Environment>(std::move(environment));
}

/// One line of standard error, redrawn, where that is a terminal.
class ProgressLine {
 public:
  void draw(const CacheStep& step) {
    if (!is_terminal_) return;
    std::fprintf(stderr, "\r\033[K[%zu/%zu] %s, %s", step.pair, step.pairs, visible(step.model).c_str(),
                 visible(step.phase).c_str());
    std::fflush(stderr);
  }
  ~ProgressLine() {
    if (is_terminal_) std::fputs("\r\033[K", stderr);
  }

 private:
  bool is_terminal_ = ::isatty(STDERR_FILENO) != 0;
};

/// The files that a run was asked to write.
class CacheOutputs {
 public:
  explicit CacheOutputs(const CacheOptions& options)
      : files_(options.json, options.oss), output_(options.output) {
    if (!output_.empty()) require_writable(output_);
  }

  void write_so_far(const CacheRequest& request, const CacheRun& run,
                    const std::vector<Record>& records) const {
    write_each({[&] { files_.write_so_far(records); }, [&] { write_output(request, run); }});
  }
  void finish(const CacheRequest& request, const CacheRun& run, const std::vector<Record>& records) const {
    write_each({[&] { files_.finish(records); }, [&] { write_output(request, run); }});
  }
  bool uses_stdout() const { return files_.uses_stdout(); }

 private:
  void write_output(const CacheRequest& request, const CacheRun& run) const {
    if (output_.empty()) return;
    // No results, no file, as the program that it replaces has it.
    const std::string json = cachebench_json(request, run);
    if (!json.empty()) write_file_atomically(output_, json);
  }

  RecordFiles files_;
  std::string output_;
};

ExitCode measure(const Arguments& arguments, const CacheOptions& options) {
  const CacheRequest request = request_of(options);
  const CacheOutputs outputs(options);
  const auto environment = environment_of(arguments, request);
  const std::atomic<int>& interrupts = interrupt_count();
  RunJournal journal;
  journal.begin(*environment);
  CacheRun run;
  {
    ProgressLine line;
    CacheObserver observer;
    observer.on_step = [&](const CacheStep& step) { line.draw(step); };
    observer.on_progress = [&](const CacheRun& so_far) {
      const std::vector<Record> records = cache_records(request, so_far, environment);
      journal.replace(records);
      write_if_possible([&] { outputs.write_so_far(request, so_far, records); });
    };
    run = run_cache(request, observer, [&] { return interrupts > 0; });
  }
  const std::vector<Record> records = cache_records(request, run, environment);
  // Records on standard output are for a program to read: the table makes way.
  print_sheet(cache_sheet(request, run), outputs.uses_stdout() ? stderr : stdout);
  keep_results(records, options.store, journal, [&] { outputs.finish(request, run, records); });
  if (run.interrupted) return tell_interrupted();
  const bool failed =
      std::ranges::any_of(run.models, [](const ModelRun& model) { return !model.failure.empty(); });
  return failed ? ExitCode::kNo : ExitCode::kFine;
}

}  // namespace

ExitCode cache(const Arguments& arguments) {
  const CacheOptions options = parse_cache_options(arguments);
  if (options.done) return *options.done;
  if (!options.ignored.empty()) {
    say("not known here and ignored: {}", join(options.ignored, " "));
  }
  recover();
  if (options.recover && options.suite.empty() && options.command.empty()) return ExitCode::kFine;
  if (options.suite == "list") return list_suites(options);
  return measure(arguments, options);
}

}  // namespace headroom::cli
