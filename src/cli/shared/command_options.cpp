// SPDX-License-Identifier: Apache-2.0
#include "cli/shared/command_options.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/shared/option_table.h"
#include "cli/shared/record_options.h"
#include "cli/shared/stop_options.h"
#include "headroom/base/error.h"
#include "headroom/base/text.h"
#include "headroom/base/units.h"
#include "headroom/compare/margins.h"
#include "headroom/record/formats.h"

namespace headroom::cli {
namespace {

constexpr const char* kExamplesOfComparing = R"(examples:
  headroom ab './old input' './new input'        which is faster, by how much, and how sure is that
  headroom ab 'gzip -{n} -c f' 'zstd -{n} -c f' -L n 1,3,9
                                                 two programs at three settings
  headroom ab 'make -j{jobs}' -P jobs 1 8 1 --prepare 'make clean'
                                                 one command at eight settings, each against the first
  headroom ab --shell 'grep x f | wc -l' 'grep -c x f'
  headroom ab 'cc -O2 x.c' 'cc -O3 x.c' --json result.json --export hyperfine hyperfine.json
  headroom ab --runner old/mine --runner new/mine gemv
                                                 two builds of a runner, as headroom run has it

Each round runs every command once, in a new random order. Sampling ends when the widest interval of the ratios to the
first command is as narrow as --precision asks; where that is not said, when each is told from the first or the same
within --margin, or --max-time is over. All --setup lines are run before the first round and all --cleanup lines
after the last: what they make must not be in each other's way. Warm-up needs no option: first runs that take longer are
told by their trend, kept, and marked (W).
)";

constexpr const char* kExamplesOfTiming = R"(examples:
  headroom time 'sort -n numbers.txt'            median, its interval, user and system time, memory
  headroom time -- sort -n numbers.txt           the same, its words as your shell has split them
  headroom time --shell 'cat f | sort'           through /bin/sh; --shell=bash through another
  headroom time --prepare 'sync; echo 3 > /proc/sys/vm/drop_caches' 'wc -l big.txt'
  headroom time 'sleep {t}' -L t 0.01,0.02       several, each against the first
  headroom time --runs 20 --markdown ./mine      exactly so many runs, and the table for a pull request

Warm-up needs no option: first runs that take longer are told by their trend, kept, and marked (W).
)";

/// Options as text, before they mean anything.
struct RawCommandOptions {
  std::vector<std::pair<std::string, std::string>> lists;
  std::vector<std::string> steps;
  StopOptions stop;
  std::string margin, timeout;
  std::size_t min_rounds = 0, max_rounds = 0;  ///< 0: not given
  bool quick = false, no_store = false;
};

void declare_commands(OptionTable& table, RawCommandOptions& raw, CommandOptions& options) {
  const auto repeated = [&](const char* names, std::vector<std::string>& values, const char* help) {
    table.add_option(names, values, help).repeated();
  };
  table.add_option("COMMAND", options.lines, "a command line, in quotes").take_all();
  repeated("-n,--name", options.names, "what to call a command; repeat it for each");
  table.add_option("-L,--parameter-list", raw.lists, "{NAME} in commands takes each of the values a,b,c")
      .repeated();
  table.add_option("-P,--parameter-scan", raw.steps, "{NAME} takes FIRST, FIRST + STEP, ... LAST")
      .type_name("NAME FIRST LAST STEP")
      .type_size(4)
      .repeated();
  table.add_flag("--shell{/bin/sh}", options.shell,
                 "run commands by /bin/sh, or by another: --shell=bash (default: none)");
  repeated("--setup", options.setup,
           "shell line before the first run; one for all commands, or one for each");
  repeated("--prepare", options.prepare, "shell line before each run");
  repeated("--conclude", options.conclude, "shell line after each run");
  repeated("--cleanup", options.cleanup, "shell line after the last run");
  table
      .add_option("--input", options.input,
                  "file that each run reads as its standard input (default: nothing)")
      .completed_by(Completes::kFile);
  options.output = "null";
  table
      .add_option("--output", options.output,
                  "where standard output goes: null (default), pipe (read and dropped), or a file")
      .completed_by(Completes::kFile);
  table.add_flag("-i,--ignore-failure", options.ignore_failure, "measure runs that fail, too");
  table.add_option("--timeout", raw.timeout, "most time for one run; the command then fails (default: none)");
  table.add_flag("--env-random,!--no-env-random", options.random_environment,
                 "change the size of the environment in each round (default; off: --no-env-random)");
}

void declare_measuring(OptionTable& table, RawCommandOptions& raw, CommandOptions& options, bool compares) {
  table.add_option("--precision", raw.stop.precision,
                   compares ? "goal for the half-width of the 95 % interval of the ratios (default 0.5%)"
                            : "goal for the half-width of the 95 % interval of the median (default 0.5%)");
  table.add_option("--margin", raw.margin, "differences up to it are none (default 1%)");
  table.add_option("--min-time", raw.stop.min_time, "least time of measuring (default 2s)");
  table.add_option("--max-time", raw.stop.max_time,
                   "most time of measuring, once --min-rounds are over (default 60s)");
  table
      .add_option("-r,--runs,--num-samples", raw.stop.num_samples,
                  "runs of each command, exactly so many (default: until the interval is narrow)")
      .range(1, std::int64_t{1} << 40);
  table
      .add_option("--min-rounds", raw.min_rounds,
                  "least number of rounds (default 6, more where many are compared: so many a verdict needs; "
                  "1 with --quick)")
      .range(1, std::int64_t{1} << 40);
  table.add_option("--max-rounds", raw.max_rounds, "most rounds (default 10000)")
      .range(1, std::int64_t{1} << 40);
  table.add_flag("--quick", raw.quick, "a first look: precision 2%, at most 5 s");
  table.add_option("--seed", options.seed, "of the random order");
}

void declare_output(OptionTable& table, RawCommandOptions& raw, CommandOptions& options) {
  table.add_flag("--markdown", options.markdown, "the table in Markdown");
  declare_record_files(table, options.json, options.oss);
  table
      .add_option("--export", options.exports,
                  "FORMAT FILE: hyperfine, seed-csv, oss-v3 or headroom-json; may be repeated")
      .repeated();
  declare_store(table, options.store, raw.no_store);
}

StopRule stop_rule(const RawCommandOptions& raw, StopRule rule) {
  rule.precision = raw.quick ? 0.02 : 0.005;
  rule.min_time_ns = raw.quick ? 0.2e9 : 2e9;
  rule.max_time_ns = raw.quick ? 5e9 : 60e9;
  return stop_rule_with(rule, raw.stop);
}

void settle_rounds(const RawCommandOptions& raw, CommandOptions& options) {
  const bool bounded = raw.min_rounds > 0 || raw.max_rounds > 0;
  if (raw.stop.num_samples > 0 && bounded) {
    throw Error("--runs says exactly how many: leave --min-rounds and --max-rounds away, or --runs");
  }
  if (raw.max_rounds > 0 && raw.min_rounds > raw.max_rounds) {
    throw Error(fmt::format("--min-rounds {} is more than --max-rounds {}", raw.min_rounds, raw.max_rounds));
  }
  if (raw.quick) options.min_rounds = 1;  // its time is what a first look is about
  if (raw.stop.num_samples > 0) options.min_rounds = raw.stop.num_samples;
  options.exact_rounds = raw.stop.num_samples > 0;
  options.until_decided = raw.stop.precision.empty();
  if (raw.min_rounds > 0) options.min_rounds = raw.min_rounds;
  if (raw.max_rounds > 0) options.stop.max_samples = raw.max_rounds;
}

void understand(const RawCommandOptions& raw, CommandOptions& options) {
  for (const auto& [name, values] : raw.lists) options.parameters.push_back(listed_parameter(name, values));
  for (std::size_t at = 0; at + 3 < raw.steps.size(); at += 4) {
    options.parameters.push_back(
        stepped_parameter(raw.steps[at], raw.steps[at + 1], raw.steps[at + 2], raw.steps[at + 3]));
  }
  options.stop = stop_rule(raw, options.stop);
  settle_rounds(raw, options);
  if (!raw.margin.empty()) options.margin = parse_margin(raw.margin);
  if (!raw.timeout.empty()) {
    options.timeout = std::chrono::milliseconds(static_cast<std::int64_t>(parse_time_ns(raw.timeout) / 1e6));
    if (options.timeout.count() <= 0) throw Error("--timeout must be above 0, for example 30s");
  }
  for (const auto& [format, file] : options.exports) {
    if (format_named(format).write == nullptr)
      throw Error("--export " + format + ": that format can only be read");
  }
  settle_store(options.store, raw.no_store);
}

void check_commands(const CommandOptions& options, bool compares) {
  const std::size_t commands = options.lines.size() + (options.words.empty() ? 0 : 1);
  if (commands == 0) throw Error("give a command, in quotes; --help shows examples");
  if (!compares && commands > 1) {
    throw Error("headroom time measures one command, in quotes or after --; headroom ab compares several");
  }
  if (compares && commands == 1 && options.parameters.empty()) {
    throw Error(
        "give two commands to compare, or one and the values of a parameter (-L n 1,2); headroom time "
        "measures a single one");
  }
}

}  // namespace

CommandOptions parse_command_options(const Arguments& arguments, bool compares) {
  CommandOptions options;
  RawCommandOptions raw;
  OptionTable table(compares ? "Compares commands: run in turn, in random order, until the ratio is known."
                             : "Measures a command: time with its interval, memory, page faults, switches.",
                    compares ? "headroom ab" : "headroom time");
  table.footer(compares ? kExamplesOfComparing : kExamplesOfTiming);
  declare_commands(table, raw, options);
  declare_measuring(table, raw, options, compares);
  declare_output(table, raw, options);
  const auto end = compares ? arguments.end() : std::ranges::find(arguments, "--");
  if (end != arguments.end()) options.words.assign(end + 1, arguments.end());
  if ((options.done = parse_arguments(table, Arguments(arguments.begin(), end)))) return options;
  understand(raw, options);
  check_commands(options, compares);
  return options;
}

}  // namespace headroom::cli
