// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cli/commands.h"
#include "cli/measuring/commits.h"
#include "cli/measuring/measurement.h"
#include "cli/measuring/progress.h"
#include "headroom/base/error.h"
#include "headroom/base/files.h"
#include "headroom/base/secrets.h"
#include "headroom/base/text.h"
#include "headroom/base/units.h"
#include "headroom/command/command_causes.h"
#include "headroom/command/command_line.h"
#include "headroom/command/command_records.h"
#include "headroom/command/command_rounds.h"
#include "headroom/compare/gate_outputs.h"
#include "headroom/compare/verdict.h"
#include "headroom/console/command.h"
#include "headroom/console/interrupt.h"
#include "headroom/console/option_table.h"
#include "headroom/console/output.h"
#include "headroom/process/spawn.h"
#include "headroom/record/formats.h"
#include "headroom/results/record_files.h"
#include "headroom/results/shown_records.h"
#include "headroom/stats/stopping.h"

namespace headroom::cli {
namespace {

struct CommandOptions {
  std::vector<std::string> lines;
  std::vector<std::string> words;  ///< a program and its arguments after --, instead of a line
  std::vector<std::string> names;
  std::vector<CommandParameter> parameters;
  std::vector<std::string> setup, prepare, conclude, cleanup;  ///< none, one for all, or one per command
  std::vector<std::string> shell;                              ///< a program and its options, or empty
  std::string input, output;                                   ///< output: "null", "pipe", or a file
  bool ignore_failure = false;
  bool markdown = false;
  bool random_environment = true;
  std::chrono::milliseconds timeout{-1};
  StopRule stop;
  double run_time_ns = 0;                 ///< infinity if --max-time is per group
  std::optional<std::size_t> min_rounds;  ///< empty: as many as a verdict needs
  bool exact_rounds = false;              ///< --runs
  bool until_decided = true;              ///< no --precision
  std::uint64_t seed = 1;
  double margin = 0.01;
  bool is_gate = false;  ///< --gate: `margin` is its margin
  CommitOptions commits;
  std::string count;                   ///< "instructions" (by the hardware if it can), "callgrind", or empty
  std::optional<double> count_margin;  ///< --gate-count
  bool asks_why = false;
  std::string json, oss;
  Exports exports;
  std::string store;  ///< history to append to, or empty
};

constexpr ConstantHelp kComparingExamples[] = {
    {"headroom ab './old input' './new input'", "which is faster, by how much, and how certain"},
    {"headroom ab 'gzip -{n} -c f' 'zstd -{n} -c f' -L n 1,3,9", "two programs at three settings"},
    {"headroom ab 'make -j{jobs}' -P jobs 1 8 1 --prepare 'make clean'",
     "one command at eight settings, each against the first"},
    {"headroom ab --shell 'grep x f | wc -l' 'grep -c x f'", ""},
    {"headroom ab 'cc -O2 x.c' 'cc -O3 x.c' --json result.json --export hyperfine hyperfine.json", ""},
    {"headroom ab --git main --build 'cmake --build build' --gate 3% ./build/bench",
     "this branch against where it left main; exit 1 if slower by more than 3 %"},
    {"headroom ab --count instructions --gate-count 0.1% ./old ./new",
     "instructions, too, for changes that the clock cannot tell"},
    {"headroom ab --runner old/mine --runner new/mine gemv",
     "two builds of a runner, as headroom run has it"},
};

constexpr const char* kComparingDetails[] = {
    "Each round runs every command once, in a new random order. Sampling ends when the widest interval of "
    "the ratios to the first command meets --precision; without --precision, when each command differs "
    "significantly from the first or is the same within --margin; or after --max-time. All --setup lines run "
    "before the first round and all --cleanup lines after the last: they must not interfere with each other. "
    "Warm-up needs no option: slower first runs are detected by their trend, kept, and flagged (W).",
};

constexpr ConstantHelp kTimingExamples[] = {
    {"headroom time 'sort -n numbers.txt'", "median, its interval, user and system time, memory"},
    {"headroom time -- sort -n numbers.txt", "the same, split into words by your shell"},
    {"headroom time --shell 'cat f | sort'", "through /bin/sh; --shell=bash through another"},
    {"headroom time --prepare 'sync; echo 3 > /proc/sys/vm/drop_caches' 'wc -l big.txt'", ""},
    {"headroom time 'sleep {t}' -L t 0.01,0.02", "several commands, each against the first"},
    {"headroom time --runs 20 --markdown ./mine", "exactly 20 runs, and the table in Markdown"},
};

constexpr const char* kTimingDetails[] = {
    "Warm-up needs no option: slower first runs are detected by their trend, kept, and flagged (W).",
};

constexpr ForeignOption kHyperfineOptions[] = {
    {"-w,--warmup", true, "", "warm-up is detected; no option needed"},
    {"-m,--min-runs", true, "--min-rounds {}"},
    {"-M,--max-runs", true, "--max-rounds {}"},
    {"--repeat,--iterations,--samples", true, "--runs {}"},
    {"--min-benchmarking-time", true, "--min-time {}"},
    {"-S", true, "--shell={}"},
    {"-p", true, "--prepare {}"},
    {"-s", true, "--setup {}"},
    {"-C", true, "--conclude {}"},
    {"-c", true, "--cleanup {}"},
    {"--command-name", true, "--name {}"},
    {"--export-json", true, "--export hyperfine {}"},
    {"--export-markdown,--export-asciidoc,--export-orgmode", true, nullptr,
     "give --markdown and redirect the output: --markdown > FILE"},
    {"--export-csv,--csv", true, nullptr,
     "give --export seed-csv FILE for the means as CSV, or --json FILE for all samples"},
    {"-o,--output", true, "--stdout {}",
     "the same as --stdout: where the command's output goes; --json FILE has the results"},
    {"--show-output", false, nullptr, "give --stdout FILE, or --stdout /dev/tty for this terminal"},
    {"--reference", true, nullptr, "give the reference as the first command of headroom ab"},
    {"--reference-name", true, nullptr, "give -n NAME for each command, in their order"},
    {"-u,--time-unit", true, "", "ignored; each time has the unit that fits it"},
    {"--style", true, "", "ignored; --color never prints no colours"},
    {"--sort", true, "", "ignored; commands are shown in their order"},
    {"-D,--parameter-step-size", true, nullptr, "needs -P NAME FIRST LAST"},
    {"--threshold,--fail-above", true, nullptr,
     "give --gate 3% to headroom ab: exit code 1 if slower by more"},
};

struct RawCommandOptions {
  std::vector<std::pair<std::string, std::string>> lists;
  std::vector<std::string> steps;
  std::string reference;
  StopOptions stop;
  std::string shell = "none", margin, gate, gate_count, timeout;
  std::size_t min_rounds = 0, max_rounds = 0;  ///< 0: not given
  bool quick = false, no_store = false;
};

void declare_commands(OptionTable& table, RawCommandOptions& raw, CommandOptions& options, bool compares) {
  const auto repeated = [&](const char* names, std::vector<std::string>& values, const char* help) {
    table.add_option(names, values, help).repeated();
  };
  table
      .add_option("COMMAND", options.lines,
                  compares ? "command line, in quotes" : "command line, in quotes or as separate words")
      .take_all();
  if (compares) {
    table.add_option("--reference", raw.reference, "compare with this command, instead of the first")
        .type_name("COMMAND");
  }
  repeated("-n,--name", options.names, "name of a command in results; repeat for each");
  table.add_option("-L,--parameter-list", raw.lists, "replace {NAME} in commands by each of the values a,b,c")
      .repeated();
  table
      .add_option("-P,--parameter-scan", raw.steps,
                  "replace {NAME} by FIRST, FIRST + STEP, ... LAST (default STEP: 1)")
      .type_name("NAME FIRST LAST [STEP]")
      .type_size(4)
      .repeated();
  table.add_flag("--shell{/bin/sh},-N{none}", raw.shell,
                 "run commands through /bin/sh, or another (--shell=bash); -N: no shell (default)");
  repeated("--setup", options.setup,
           "run a shell line before the first run; one for all commands, or one for each");
  repeated("--prepare", options.prepare, "run a shell line before each run");
  repeated("--conclude", options.conclude, "run a shell line after each run");
  repeated("--cleanup", options.cleanup, "run a shell line after the last run");
  table.add_option("--input", options.input, "standard input of each run (default: empty)")
      .completed_by(Completes::kFile);
  options.output = "null";
  table
      .add_option("--stdout", options.output,
                  "send standard output to null (default), pipe (read and dropped), or a file")
      .completed_by(Completes::kFile);
  table.add_flag("-i,--ignore-failure", options.ignore_failure, "measure failing runs, too");
  table.add_option("--timeout", raw.timeout,
                   "maximum time of one run, after which the command fails (default: none)");
  table.add_flag("--env-random,!--no-env-random", options.random_environment,
                 "change the size of the environment in each round (default; off: --no-env-random)");
}

void declare_gate(OptionTable& table, RawCommandOptions& raw, CommandOptions& options) {
  table.add_option("--gate", raw.gate,
                   "exit 1 if a command is slower than the first by more than this, 3 if the time did not "
                   "suffice to tell: 3%");
  declare_commits(table, options.commits, "the command");
}

void declare_causes(OptionTable& table, RawCommandOptions& raw, CommandOptions& options) {
  table
      .add_option("--count", options.count,
                  "compare instructions, too: those of the runs if the hardware counts them, else of one run "
                  "under valgrind's callgrind")
      .one_of({"instructions", "callgrind"});
  table
      .add_option("--gate-count", raw.gate_count,
                  "exit 1 if a command takes more instructions than the first by more than this: 0.1%")
      .type_name("PERCENT");
  table.add_flag("--why", options.asks_why,
                 "sample commands that are slower than the first by perf, and name the functions");
}

void declare_measuring(OptionTable& table, RawCommandOptions& raw, CommandOptions& options, bool compares) {
  table.add_option("--precision", raw.stop.precision,
                   compares ? "goal for the half-width of the 95 % interval of the ratios (default 0.5%)"
                            : "goal for the half-width of the 95 % interval of the median (default 0.5%)");
  table.add_option("--margin", raw.margin, "largest difference that counts as the same (default 1%)");
  table.add_option("--min-time", raw.stop.min_time, "minimum measuring time (default 2s)");
  table.add_option(
      "--max-time", raw.stop.max_time,
      std::string(
          "maximum measuring time of a group of compared commands, after --min-rounds (default 60s)") +
          kRunTimeHelp);
  table
      .add_option("-r,--runs,--num-samples", raw.stop.num_samples,
                  "exact number of runs of each command (default: until the interval is narrow)")
      .range(1, std::int64_t{1} << 40);
  table
      .add_option("--min-rounds", raw.min_rounds,
                  "minimum rounds (default 6, more for many commands; 1 with --quick)")
      .range(1, std::int64_t{1} << 40);
  table.add_option("--max-rounds", raw.max_rounds, "maximum rounds (default 10000)")
      .range(1, std::int64_t{1} << 40);
  table.add_flag("--quick", raw.quick,
                 "take a first look: precision 2%, at most 5 s per group of compared commands");
  table.add_option("--seed", options.seed, "seed of the random order");
}

void declare_output(OptionTable& table, RawCommandOptions& raw, CommandOptions& options, bool compares) {
  table.add_flag("--markdown", options.markdown, "print the table in Markdown");
  declare_record_files(table, options.json, options.oss);
  declare_exports(table, options.exports, compares ? Exported::kBoth : Exported::kResults);
  declare_store(table, options.store, raw.no_store);
}

StopRule stop_rule(const RawCommandOptions& raw, StopRule rule) {
  rule.precision = raw.quick ? 0.02 : 0.005;
  rule.min_time_ns = raw.quick ? 0.2e9 : 2e9;
  rule.max_time_ns = raw.quick ? 5e9 : 60e9;
  return override_stop_rule(rule, raw.stop);
}

void resolve_rounds(const RawCommandOptions& raw, CommandOptions& options) {
  const bool bounded = raw.min_rounds > 0 || raw.max_rounds > 0;
  if (raw.stop.num_samples > 0 && bounded) {
    throw Error("--runs conflicts with --min-rounds and --max-rounds: give one or the other");
  }
  if (raw.max_rounds > 0 && raw.min_rounds > raw.max_rounds) {
    throw Error(fmt::format("--min-rounds {} exceeds --max-rounds {}", raw.min_rounds, raw.max_rounds));
  }
  if (raw.quick) options.min_rounds = 1;  // --quick limits the time instead
  if (raw.stop.num_samples > 0) options.min_rounds = raw.stop.num_samples;
  options.exact_rounds = raw.stop.num_samples > 0;
  options.until_decided = raw.stop.precision.empty();
  if (raw.min_rounds > 0) options.min_rounds = raw.min_rounds;
  if (raw.max_rounds > 0) options.stop.max_samples = raw.max_rounds;
}

std::vector<std::string> parse_shell(const std::string& text) {
  if (text == "none") return {};
  if (text == "default") return {"/bin/sh"};
  if (find_program(text)) return {text};
  const std::vector<std::string> words = split_command_line(text);
  if (words.size() > 1 && find_program(words.front())) return words;
  throw Error(
      fmt::format("--shell={}: no program {}{}; use --shell alone for /bin/sh, --shell=none for no shell",
                  text, quote(words.front()), contains(words.front(), "/") ? "" : " in PATH"));
}

bool is_shell_name(const std::string& program) {
  constexpr std::string_view kNames[] = {"ash", "bash", "csh",  "dash", "default", "fish",
                                         "ksh", "mksh", "none", "sh",   "tcsh",    "zsh"};
  return std::ranges::find(kNames, std::filesystem::path(program).filename().string()) != std::end(kNames);
}

/// The value is optional. Throws Error if NAME could be a command.
Arguments join_shell_option(const Arguments& arguments) {
  const auto is_option = [](const std::string& word) { return word.empty() || word.front() == '-'; };
  Arguments joined;
  for (auto argument = arguments.begin(); argument != arguments.end(); ++argument) {
    const bool is_last = argument + 1 == arguments.end();
    if (*argument == "--shell=" || (*argument == "--shell" && !is_last && argument[1].empty()))
      throw Error("--shell is empty: use --shell alone for /bin/sh, --shell=none for no shell");
    if (*argument == "--") return joined.insert(joined.end(), argument, arguments.end()), joined;
    joined.push_back(*argument);
    if (*argument != "--shell" || is_last) continue;
    const std::vector<std::string> words = split(argument[1], ' ');
    if (!is_shell_name(words.front())) continue;
    if (words.size() == 1) {
      joined.back() += "=" + *++argument;
    } else if (std::all_of(words.begin() + 1, words.end(), is_option)) {
      throw Error(fmt::format(
          "--shell {0} is ambiguous: --shell={0} uses it as the shell, --shell=/bin/sh {0} measures it",
          quoted_word(argument[1])));
    }
  }
  return joined;
}

/// Takes the step of -D, or 1.
Arguments complete_steps(const Arguments& arguments) {
  const auto is_scan = [](const std::string& word) { return word == "-P" || word == "--parameter-scan"; };
  if (std::ranges::none_of(arguments, is_scan)) return arguments;
  Arguments whole;
  std::string step = "1";
  std::vector<std::size_t> missing;
  for (auto word = arguments.begin(); word != arguments.end(); ++word) {
    if (*word == "--") {
      whole.insert(whole.end(), word, arguments.end());
      break;
    }
    const auto values = arguments.end() - word - 1;
    if ((*word == "-D" || *word == "--parameter-step-size") && values > 0) {
      step = *++word;
      continue;
    }
    whole.push_back(*word);
    if (!is_scan(*word) || values < 3) continue;
    whole.insert(whole.end(), word + 1, word + 4);
    word += 3;
    if (values == 3 || !to_number(word[1])) missing.push_back(whole.size());
  }
  for (auto place = missing.rbegin(); place != missing.rend(); ++place)
    whole.insert(whole.begin() + static_cast<std::ptrdiff_t>(*place), step);
  return whole;
}

/// `headroom time ls -l`: separate words are one command, and so is a word with options that are not ours.
/// Removes them from `arguments`.
std::vector<std::string> take_words(const OptionTable& table, Arguments& arguments) {
  const std::size_t place = table.first_operand(arguments);
  if (place + 1 >= arguments.size() || arguments[place].find(' ') != std::string::npos) return {};
  const auto first = arguments.begin() + static_cast<std::ptrdiff_t>(place);
  const Arguments rest(first + 1, arguments.end());
  const bool is_ours = table.takes_all(rest);
  for (const std::string& word : rest) {
    const bool is_long = word.starts_with("--");
    if (!word.starts_with("-") || is_long == is_ours || table.find(word) == nullptr) continue;
    if (is_ours) {
      print_message("{0} is an option of headroom here; headroom time -- {1} {0} gives it to {1}", word,
                    *first);
    } else {
      print_message("{} is an argument of {}; options of headroom go before the command", word, *first);
    }
  }
  if (is_ours) return {};
  if (std::ranges::all_of(rest, [](const std::string& word) { return find_program(word).has_value(); }))
    print_message("{} {} is one command; headroom ab compares several", *first, join(rest, " "));
  std::vector<std::string> words(first, arguments.end());
  arguments.erase(first, arguments.end());
  return words;
}

void apply_raw_options(const RawCommandOptions& raw, CommandOptions& options) {
  if (!raw.reference.empty()) options.lines.insert(options.lines.begin(), raw.reference);
  for (const auto& [name, values] : raw.lists) options.parameters.push_back(listed_parameter(name, values));
  for (std::size_t at = 0; at + 3 < raw.steps.size(); at += 4) {
    options.parameters.push_back(
        stepped_parameter(raw.steps[at], raw.steps[at + 1], raw.steps[at + 2], raw.steps[at + 3]));
  }
  options.shell = parse_shell(raw.shell);
  options.stop = stop_rule(raw, options.stop);
  options.run_time_ns = run_time_ns(raw.stop);
  resolve_rounds(raw, options);
  if (!raw.margin.empty()) options.margin = parse_margin(raw.margin);
  if (!raw.gate.empty()) {
    for (const auto& [name, given] :
         {std::pair{"--margin", &raw.margin}, {"--precision", &raw.stop.precision}}) {
      if (!given->empty())
        throw Error(fmt::format("--gate ends when its margin is decided: leave {} out", name));
    }
    options.margin = with_context("--gate", [&] { return parse_margin(raw.gate); });
    options.is_gate = true;
  }
  if (!raw.gate_count.empty()) {
    options.count_margin = with_context("--gate-count", [&] { return parse_margin(raw.gate_count); });
    if (options.count.empty()) options.count = kInstructions;
  }
  if (!raw.timeout.empty()) {
    options.timeout = std::chrono::milliseconds(static_cast<std::int64_t>(parse_time_ns(raw.timeout) / 1e6));
    if (options.timeout.count() <= 0) throw Error("--timeout must be above 0, for example 30s");
  }
  resolve_store(options.store, raw.no_store);
}

void check_commands(const CommandOptions& options, bool compares) {
  const std::size_t commands = options.lines.size() + (options.words.empty() ? 0 : 1);
  if (commands == 0) throw Error("no command to measure: give one in quotes; --help shows examples");
  if (!compares && commands > 1) {
    throw Error("headroom time measures one command; headroom ab compares several");
  }
  if (compares && commands == 1 && options.parameters.empty() && options.commits.range.empty()) {
    throw Error(
        "nothing to compare: give two commands, one and values of a parameter (-L n 1,2), or one and commits "
        "(--git main); headroom time measures a single command");
  }
}

bool needs_callgrind(const CommandOptions& options, const ChildCounters& counters) {
  return !options.count.empty() && (options.count != kInstructions || !counters.counts(kInstructions));
}

void require_valgrind(const CommandOptions& options) {
  if (options.count.empty()) return;
  const ChildCounters counters;
  if (!needs_callgrind(options, counters) || find_program("valgrind")) return;
  throw Error(fmt::format(
      "--count: valgrind is not in PATH{}; install it (Debian, Ubuntu: apt install valgrind)",
      counters.absence().empty() ? "" : ", and the hardware does not count: " + counters.absence()));
}

struct GivenCommand {
  std::string line;
  std::vector<std::string> words;  ///< instead of splitting the line
  std::string name, setup, prepare, conclude, cleanup;
};

/// `texts` has one for all commands, or one per command.
std::string of_command(const std::vector<std::string>& texts, std::size_t i) {
  if (texts.empty()) return "";
  return texts.size() == 1 ? texts.front() : texts.at(i);
}

void require_fit(const char* option, const std::vector<std::string>& texts, std::size_t commands) {
  if (texts.size() <= 1 || texts.size() == commands) return;
  throw Error(fmt::format("{} is given {} times for {}: give it once for all, or once for each", option,
                          texts.size(), counted(commands, "command")));
}

std::vector<GivenCommand> given_commands(const CommandOptions& options) {
  std::vector<GivenCommand> commands;
  for (const std::string& line : options.lines) commands.push_back({line, {}, {}, {}, {}, {}, {}});
  if (!options.words.empty()) {
    std::vector<std::string> quoted;
    for (const std::string& word : options.words) quoted.push_back(quoted_word(word));
    commands.push_back({join(quoted, " "), options.words, {}, {}, {}, {}, {}});
  }
  require_fit("--setup", options.setup, commands.size());
  require_fit("--prepare", options.prepare, commands.size());
  require_fit("--conclude", options.conclude, commands.size());
  require_fit("--cleanup", options.cleanup, commands.size());
  if (!options.names.empty() && options.names.size() != commands.size()) {
    throw Error(
        fmt::format("{} names for {} commands: give one for each", options.names.size(), commands.size()));
  }
  for (std::size_t i = 0; i < commands.size(); ++i) {
    GivenCommand& command = commands[i];
    command.name = options.names.empty() ? redact_secrets(command.line) : options.names[i];
    command.setup = of_command(options.setup, i);
    command.prepare = of_command(options.prepare, i);
    command.conclude = of_command(options.conclude, i);
    command.cleanup = of_command(options.cleanup, i);
  }
  return commands;
}

void require_used(const std::vector<CommandParameter>& parameters,
                  const std::vector<GivenCommand>& commands) {
  for (const CommandParameter& parameter : parameters) {
    const std::string placeholder = "{" + parameter.name + "}";
    const auto mentions = [&](const std::string& text) {
      return text.find(placeholder) != std::string::npos;
    };
    const bool mentioned = std::ranges::any_of(commands, [&](const GivenCommand& command) {
      return mentions(command.line) || mentions(command.setup) || mentions(command.prepare) ||
             mentions(command.conclude) || mentions(command.cleanup);
    });
    if (!mentioned)
      throw Error("no command contains " + placeholder + "; use it in a command, or drop the parameter");
  }
}

std::vector<std::string> arguments_of(const GivenCommand& command, const AxisTexts& point,
                                      const std::vector<std::string>& shell) {
  if (command.words.empty()) {
    const std::string line = with_placeholders(command.line, point);
    return shell.empty() ? split_command_line(line) : shell_arguments(line, shell);
  }
  if (!shell.empty())
    throw Error("--shell needs a command line in quotes: separate words run without a shell");
  std::vector<std::string> words;
  for (const std::string& word : command.words) words.push_back(with_placeholders(word, point));
  return words;
}

/// Checks before anything runs, unless --setup or --prepare may create it.
void require_program(const PlannedCommand& command) {
  if (!command.setup.empty() || !command.prepare.empty()) return;
  const std::string& program = command.spec.arguments.front();
  if (find_program(program, command.spec.folder)) return;
  const bool is_path = program.find('/') != std::string::npos;
  throw Error(fmt::format("command {}: no program {}{}", quote(command.line), quote(program),
                          is_path ? "" : " in PATH; shell built-ins need --shell"));
}

/// Checks before anything runs, unless --setup or --prepare may create it.
void require_input(const PlannedCommand& command) {
  if (command.spec.input.empty() || !command.setup.empty() || !command.prepare.empty()) return;
  const std::string input = command.spec.input.string();
  if (std::filesystem::is_directory(input)) throw Error("--input " + quote(input) + " is a folder");
  if (::access(input.c_str(), R_OK) != 0) {
    throw Error("--input " + quote(input) + " cannot be read: " + std::strerror(errno));
  }
}

PlannedCommand planned_command(const GivenCommand& given, const AxisTexts& point,
                               const std::filesystem::path& folder, const CommandOptions& options) {
  const auto filled = [&](const std::string& text) { return with_placeholders(text, point); };
  PlannedCommand command;
  command.name = given.name;
  command.title = filled(given.name);
  command.line = redact_secrets(filled(given.line));
  command.parameters = point;
  command.setup = filled(given.setup);
  command.prepare = filled(given.prepare);
  command.conclude = filled(given.conclude);
  command.cleanup = filled(given.cleanup);
  command.spec.arguments = arguments_of(given, point, options.shell);
  command.spec.folder = folder;
  command.spec.input = filled(options.input);
  command.spec.timeout = options.timeout;
  if (options.output == "pipe") {
    command.spec.output = CommandSpec::Output::kCapture;
    command.spec.capture_bytes = 0;
  } else if (options.output != "null") {
    command.spec.output = CommandSpec::Output::kFile;
    command.spec.output_file = filled(options.output);
    if (command.setup.empty() && command.prepare.empty()) require_writable(command.spec.output_file);
  }
  require_program(command);
  require_input(command);
  return command;
}

PlannedCommand at_commit(PlannedCommand command, const BuiltCommit& built, bool is_only) {
  command.title =
      is_only ? built.commit.title() : fmt::format("{} at {}", command.title, built.commit.title());
  command.parameters.emplace_back("commit", built.commit.short_sha());
  return command;
}

/// Names identify records.
void number_duplicates(std::vector<PlannedCommand>& group) {
  std::set<std::pair<std::string, AxisTexts>> taken;
  for (PlannedCommand& command : group) {
    const std::string name = command.name, title = command.title;
    for (int count = 2; !taken.emplace(command.name, command.parameters).second; ++count) {
      command.name = fmt::format("{} ({})", name, count);
      command.title = fmt::format("{} ({})", title, count);
    }
  }
}

RecordFiles files_of(const CommandOptions& options, const GateReporter& gate) {
  RecordFiles files(options.json, options.oss);
  files.add_exports(options.exports, options.is_gate ? gate : nullptr);
  return files;
}

std::shared_ptr<const Environment> environment_of(const char* command, const Arguments& arguments,
                                                  const CommandOptions& options,
                                                  const ChildCounters& counters) {
  Environment environment = measuring_environment(command, arguments, options.seed, options.stop.max_time_ns,
                                                  options.stop.precision);
  environment.extra_info[kMarginKey] = fmt::format("{}", options.margin);
  environment.extra_info["shell"] = options.shell.empty() ? "none" : join(options.shell, " ");
  environment.extra_info["env_random"] = options.random_environment ? "true" : "false";
  if (!options.count.empty()) environment.extra_info["count"] = options.count;
  InstrumentOptions& shown = environment.options;
  shown.margin = options.margin;
  shown.counters = CounterScope::kAll;
  if (!counters.any()) {
    set_no_counters(environment, counters.absence());
  } else if (counters.of_user_space()) {
    shown.counters = CounterScope::kUserSpace;
    environment.extra_info["hardware_counters"] = "user space only";
  }
  return std::make_shared<const Environment>(std::move(environment));
}

bool has_runner_option(const std::string& argument) {
  return argument == "--runner" || argument.starts_with("--runner=");
}

/// Compared commands: several at one point of their parameters, or one at all points or commits. Throws Error
/// for an invalid plan.
std::vector<std::vector<PlannedCommand>> plan_commands(const CommandOptions& options) {
  const std::vector<GivenCommand> commands = given_commands(options);
  require_used(options.parameters, commands);
  const std::vector<AxisTexts> points = parameter_points(options.parameters);
  const std::vector<BuiltCommit> commits = build_commits(options.commits);
  const bool is_only = commands.size() == 1 && points.size() == 1;
  std::vector<std::vector<PlannedCommand>> groups;
  for (const AxisTexts& point : points) {
    for (const GivenCommand& command : commands) {
      // Commits of a command are compared, else commands of a point, else points of a command.
      const bool is_first = &command == &commands.front();
      if (groups.empty() || !commits.empty() || (is_first && commands.size() > 1)) groups.emplace_back();
      if (commits.empty()) groups.back().push_back(planned_command(command, point, {}, options));
      for (const BuiltCommit& one : commits) {
        groups.back().push_back(with_context(one.commit.short_sha(), [&] {
          return at_commit(planned_command(command, point, one.folder, options), one, is_only);
        }));
      }
    }
  }
  for (std::vector<PlannedCommand>& group : groups) number_duplicates(group);
  return groups;
}

ExitCode graver(ExitCode a, ExitCode b) {
  for (const ExitCode code : {ExitCode::kError, ExitCode::kFailure, ExitCode::kInconclusive}) {
    if (a == code || b == code) return code;
  }
  return ExitCode::kSuccess;
}

class CommandMeasurement final : public Measurement {
 public:
  CommandMeasurement(std::vector<std::vector<PlannedCommand>> groups, const char* command,
                     const Arguments& arguments, const CommandOptions& options)
      : Measurement(files_of(options, [this](const auto&) { return gate(); }), options.store,
                    options.markdown),
        groups_(std::move(groups)),
        options_(options),
        environment_(environment_of(command, arguments, options, counters_)) {}

 private:
  void measure() override {
    const std::atomic<int>& interrupts = interrupt_count();
    journal().begin(*environment_);
    const double end_ns = steady_now_ns() + options_.run_time_ns;
    TerminalProgress terminal([](const std::vector<Record>&) {});
    for (std::size_t group = 0; group < groups_.size() && interrupts == 0; ++group) {
      CommandRoundSettings settings = round_settings();
      settings.end_ns =
          steady_now_ns() + (end_ns - steady_now_ns()) / static_cast<double>(groups_.size() - group);
      const auto show = [&](Progress progress) {
        progress.group = group;
        progress.groups = groups_.size();
        terminal.progress(progress);
      };
      CommandRounds rounds(groups_[group], std::move(settings), counters_, show);
      GroupResult result;
      QuotaWatch quota;
      const auto load = load_beside([&] { result = rounds.run(); });
      std::vector<Record> finished = command_records(result, environment_);
      note_busy(finished, load);
      quota.note(finished);
      if (interrupts == 0) add_causes(finished, groups_[group], show);
      add(finished);
    }
  }

  void add_causes(std::vector<Record>& finished, const std::vector<PlannedCommand>& group,
                  const std::function<void(Progress)>& show) {
    const RunAgain run_again = [&](std::vector<PlannedCommand> commands, std::uint32_t rounds,
                                   std::function<void(const GroupResult&)> on_round) {
      CommandRoundSettings settings = round_settings();
      settings.stop = StopRule{};
      settings.stop.min_samples = settings.stop.max_samples = settings.min_rounds = rounds;
      settings.stop.min_time_ns = 0;
      settings.stop.max_time_ns = 24 * 3600 * kNsPerSecond;
      settings.exact_rounds = true;
      settings.is_gate = false;
      settings.margin = 0;
      settings.random_environment = false;
      settings.on_round = std::move(on_round);
      ChildCounters none(std::span<const CounterEvent>{});
      return CommandRounds(std::move(commands), std::move(settings), none, show).run();
    };
    const bool counts = needs_callgrind(options_, counters_);
    if (counts) count_by_callgrind(finished, group, run_again);
    if (!options_.asks_why || counts) return;
    std::vector<std::size_t> slower;
    for (const RoundComparison& one : judged_commands(finished)) {
      if (one.comparison.verdict != Verdict::kRegression) continue;
      const std::span<const Record> before(finished.data(), one.comparison.test);
      slower.push_back(static_cast<std::size_t>(std::ranges::count_if(
          before, [](const Record& record) { return record.metric.name == "latency"; })));
    }
    if (!slower.empty()) sample_by_perf(finished, group, slower, run_again);
  }

  ExitCode verdict() override {
    ExitCode code = Measurement::verdict();
    if (code == ExitCode::kFailure) return code;
    if (options_.is_gate) {
      const GateResult answer = gate().result;
      print_message("gate: {}", answer.sentence);
      code = answer.exit;
    }
    if (options_.count_margin) {
      const double margin = *options_.count_margin;
      const GateResult answer =
          round_gate_result(count_outcomes(records(), gated(), margin), margin, {"more", "not counted"});
      print_message("gate of instructions: {}", answer.sentence);
      code = graver(code, answer.exit);
    }
    return code;
  }

  std::vector<RoundComparison> gated() const {
    std::vector<RoundComparison> judged = judged_commands(records());
    if (options_.commits.each) {  // only the end of the branch is gated
      std::erase_if(judged,
                    [&](const RoundComparison& one) { return !is_of_last_commit(*one.comparison.test); });
    }
    return judged;
  }

  GateReport gate() const {
    GateReport report{groups_.front().front().title, groups_.back().back().title, {}, {}, view().text()};
    std::vector<std::optional<GateOutcome>> outcomes;
    for (const RoundComparison& one : gated()) {
      outcomes.emplace_back(gate_outcome(one));
      report.cases.push_back(gated_case(gated_name(one.comparison), one.comparison, gate_outcome(one)));
    }
    report.result = round_gate_result(outcomes, options_.margin,
                                      {"slower", "not compared", "; a longer --max-time decides more"});
    return report;
  }

  /// The same for all commits, so that a CI system recognises it.
  std::string gated_name(const Comparison& comparison) const {
    if (options_.commits.range.empty())
      return title_of(*comparison.test) + " against " + title_of(*comparison.baseline);
    Record named;
    named.model.name = comparison.test->model.name;
    named.axes.assign(comparison.test->axes.begin(), comparison.test->axes.end() - 1);
    return case_name(named);
  }

  bool is_of_last_commit(const Record& record) const {
    const AxisTexts& last = groups_.back().back().parameters;
    return !record.axes.empty() && record.axes.back().second == last.back().second;
  }

  CommandRoundSettings round_settings() {
    std::size_t comparisons = 0;
    for (const std::vector<PlannedCommand>& group : groups_) comparisons += group.size() - 1;
    CommandRoundSettings settings;
    settings.stop = options_.stop;
    settings.min_rounds = options_.min_rounds.value_or(fewest_rounds(comparisons));
    settings.is_gate = options_.is_gate;
    settings.exact_rounds = options_.exact_rounds;
    settings.margin = options_.until_decided ? options_.margin : 0;
    settings.ignore_failure = options_.ignore_failure;
    settings.random_environment = options_.random_environment;
    settings.seed = options_.seed;
    settings.out_of_time = not_reached_text(options_.run_time_ns);
    settings.is_interrupted = [] { return interrupt_count() > 0; };
    settings.is_hurried = [] { return interrupt_count() > 1; };
    settings.on_round = [this](const GroupResult& so_far) { journal().note(so_far); };
    return settings;
  }

  std::vector<std::vector<PlannedCommand>> groups_;
  const CommandOptions& options_;
  ChildCounters counters_;
  std::shared_ptr<const Environment> environment_;
};

OptionTable command_table(Arguments& arguments, bool compares) {
  OptionTable table(compares
                        ? "Compare commands, interleaved in random order, until their ratios are precise."
                        : "Measure a command: time with its interval, memory, page faults, context switches.",
                    compares ? "headroom ab" : "headroom time");
  if (compares) {
    table.examples(kComparingExamples);
    table.details(kComparingDetails);
  } else {
    table.examples(kTimingExamples);
    table.details(kTimingDetails);
  }
  auto& options = table.own<CommandOptions>();
  auto& raw = table.own<RawCommandOptions>();
  declare_commands(table, raw, options, compares);
  if (compares) {
    declare_gate(table, raw, options);
    declare_causes(table, raw, options);
  }
  declare_measuring(table, raw, options, compares);
  declare_output(table, raw, options, compares);
  table.foreign(kHyperfineOptions);
  const Arguments all = arguments;
  table.finish([&options, &raw, all, compares] {
    apply_raw_options(raw, options);
    check_commands(options, compares);
    require_valgrind(options);
    files_of(options, [](const auto&) { return GateReport(); });  // before commits are built
    return CommandMeasurement(plan_commands(options), compares ? "ab" : "time", all, options).run();
  });
  const auto end = compares ? arguments.end() : std::ranges::find(arguments, "--");
  const Arguments words = end == arguments.end() ? Arguments{} : Arguments(end + 1, arguments.end());
  arguments = join_shell_option(complete_steps({arguments.begin(), end}));
  options.words = compares || !words.empty() ? words : take_words(table, arguments);
  return table;
}

}  // namespace

OptionTable ab_options(Arguments& arguments) {
  // `headroom run` compares builds of a runner.
  if (std::ranges::any_of(arguments, has_runner_option)) return run_options(arguments);
  return command_table(arguments, true);
}

OptionTable time_options(Arguments& arguments) {
  return command_table(arguments, false);
}

}  // namespace headroom::cli
