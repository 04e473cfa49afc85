// SPDX-License-Identifier: Apache-2.0
#include "cli/commands.h"

#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "headroom/base/error.h"
#include "headroom/base/text.h"
#include "headroom/console/completion.h"
#include "headroom/console/man_page.h"
#include "headroom/console/output.h"
#include "headroom/console/program.h"

namespace headroom::cli {

// To add a command: define its options in NAME.cpp, declare them here, add it to kCommands.
OptionTable ab_options(Arguments&), cache_options(Arguments&), completion_options(Arguments&),
    ddp_options(Arguments&), diff_options(Arguments&), dispatch_options(Arguments&),
    history_options(Arguments&), machine_options(Arguments&), roofline_options(Arguments&),
    show_options(Arguments&), time_options(Arguments&);
std::vector<CommandWord> completion_words(), ddp_words(), history_words();

namespace {

constexpr Command kCommands[] = {
    {"run", "measure experiments against each other and against this machine's limits", run_options},
    {"time", "measure a command: time with its interval, memory, page faults, context switches",
     time_options},
    {"ab", "compare commands, or builds of a runner, interleaved until the ratio is precise", ab_options},
    {"show", "show results of any tool, a folder or a run of the history, as a table or as records",
     show_options},
    {"diff", "compare measurements: slower, faster, the same, or inconclusive", diff_options},
    {"trace", "analyse profiler traces: utilisation, kernels, GPU idle time, collectives", nullptr, nullptr,
     "headroom-trace"},
    {"cache", "measure cold- against warm-cache time, of whole suites or of one command", cache_options},
    {"dispatch",
     "measure the overhead of a distributed tensor on operators: cached and propagated sharding, per rank",
     dispatch_options},
    {"ddp", "measure data-parallel training over ranks: scaling, and cost of communication", ddp_options,
     ddp_words},
    {"history", "show stored runs, series over time, and where they changed", history_options, history_words},
    {"report", "write results as a page for a browser: one file, with charts and tables to search and sort",
     nullptr, nullptr, "headroom-pages"},
    {"serve", "serve the history and running measurements to a browser on this machine", nullptr, nullptr,
     "headroom-pages"},
    {"roofline", "plot the cases of a run under this machine's roofs, for a terminal or as SVG",
     roofline_options},
    {"machine", "show this machine: topology, caches, bandwidth by working set, peaks", machine_options},
    {"completion", "print the script that completes commands, options and values in bash, zsh and fish",
     completion_options, completion_words},
};

struct HelpLine {
  const char* purpose;  ///< or empty: as before
  const char* command;
  const char* text;
};

constexpr HelpLine kHelp[] = {
    {"measure", "run", "experiments, beside this machine's limits"},
    {"", "time", "a command: time, memory, page faults"},
    {"", "cache", "cold against warm caches of commands"},
    {"", "ddp", "data-parallel training and collectives over ranks"},
    {"", "dispatch", "overhead of distributed tensors on operators"},
    {"", "machine", "this machine: topology, bandwidth, peaks"},
    {"compare", "ab", "commands or builds, interleaved until decided"},
    {"", "diff", "results: slower, faster, the same, inconclusive"},
    {"look", "show", "results of any tool, as tables"},
    {"", "trace", "a profiler trace: where the step's time goes"},
    {"", "history", "earlier runs, and where they changed"},
    {"", "report", "results as a page for a browser"},
    {"", "serve", "the history and running measurements, in a browser"},
    {"", "roofline", "the cases of a run under this machine's roofs"},
    {"set up", "completion", "completion for bash, zsh and fish"},
};

/// 24 lines of 80 columns.
void print_help(std::FILE* out) {
  std::fputs(
      "headroom: how fast is it, how fast could it be here, did it get slower?\n"
      "usage: headroom COMMAND [OPTIONS]      start here: headroom run gemv --quick\n\n",
      out);
  for (const HelpLine& line : kHelp)
    std::fprintf(out, "%-8s %-11s %s\n", line.purpose, line.command, line.text);
  std::fputs(
      "\n"
      "headroom ab 'sort a.txt' 'sort -n a.txt'   which is faster?\n"
      "headroom trace trace.json.gz               why is my GPU idle?\n"
      "headroom diff --gate 3% old.json new.json  for CI: exit 0 fine, 1 slower,\n"
      "                                           2 error, 3 inconclusive\n"
      "headroom COMMAND --help has options and examples; headroom --version\n",
      out);
}

ExitCode print_man_page(const Command& command) {
  if (command.program != nullptr) return run_program(command.program, query_arguments(command, kManAction));
  std::fputs(man_page(command).c_str(), stdout);
  return ExitCode::kSuccess;
}

ExitCode run_command(const Command& command, Arguments arguments) {
  if (command.program == nullptr) return command.run(arguments);
  return run_program(command.program, program_arguments(command, std::move(arguments)));
}

/// headroom-pages takes a command name first.
bool is_program_of_one_command(const Command& command) {
  return std::string("headroom-") + command.name == command.program;
}

}  // namespace

std::span<const Command> commands() {
  return kCommands;
}

Arguments query_arguments(const Command& command, const char* action, const Arguments& words) {
  Arguments all = program_arguments(command, words);
  all.insert(all.begin(), action);
  return all;
}

Arguments program_arguments(const Command& command, Arguments arguments) {
  if (!is_program_of_one_command(command)) arguments.insert(arguments.begin(), command.name);
  return arguments;
}

ExitCode run_headroom(const Arguments& arguments) {
  if (arguments.empty()) {
    print_help(stderr);
    return ExitCode::kError;
  }
  const std::string& name = arguments.front();
  if (name == "--version") {
    std::puts("headroom " HEADROOM_VERSION);
    return ExitCode::kSuccess;
  }
  Arguments rest(arguments.begin() + 1, arguments.end());
  if (name == "--help" || name == "-h" || (name == "help" && rest.empty())) {
    print_help(stdout);
    return ExitCode::kSuccess;
  }
  const bool asks_for_page = name == "help" && rest.front() == "--man";
  if (asks_for_page) rest.erase(rest.begin());
  if (asks_for_page && rest.empty()) {
    std::fputs(man_page(commands()).c_str(), stdout);
    return ExitCode::kSuccess;
  }
  const std::string wanted = name == "help" ? rest.front() : name;
  if (name == "help") rest = {"--help"};
  std::vector<std::string> names;
  for (const Command& command : commands()) {
    if (command.name == wanted) return asks_for_page ? print_man_page(command) : run_command(command, rest);
    names.emplace_back(command.name);
  }
  throw Error("unknown command " + quote(wanted) + did_you_mean(wanted, names) + "; headroom help lists all");
}

}  // namespace headroom::cli
