// SPDX-License-Identifier: Apache-2.0
#include "cli/commands.h"

#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "headroom/base/error.h"
#include "headroom/base/text.h"
#include "headroom/console/command.h"
#include "headroom/console/completion.h"
#include "headroom/console/output.h"
#include "headroom/console/program.h"

namespace headroom::cli {

// To add a command: define its options in NAME.cpp, declare them here, add it to kCommands.
OptionTable ab_options(Arguments&), bisect_options(Arguments&), cache_options(Arguments&),
    completion_options(Arguments&), ddp_options(Arguments&), diff_options(Arguments&),
    dispatch_options(Arguments&), history_options(Arguments&), machine_options(Arguments&),
    roofline_options(Arguments&), show_options(Arguments&), time_options(Arguments&);
std::vector<CommandWord> completion_words(), ddp_words(), history_words();

namespace {

constexpr Command kCommands[] = {
    {"run", "measure experiments beside this machine's limits", run_options, nullptr, nullptr, "measure"},
    {"time", "measure a command: time, memory, page faults", time_options},
    {"cache", "measure commands with cold and with warm caches", cache_options},
    {"ddp", "measure data-parallel training and collectives", ddp_options, ddp_words},
    {"dispatch", "measure the overhead of distributed tensors", dispatch_options},
    {"machine", "measure this machine: topology, bandwidth, peaks", machine_options},
    {"ab", "compare commands or builds, interleaved until decided", ab_options, nullptr, nullptr, "compare"},
    {"bisect", "find the commit that made a command slower", bisect_options},
    {"diff", "compare results: slower, faster, same, inconclusive", diff_options},
    {"show", "show results of any tool as tables", show_options, nullptr, nullptr, "look"},
    {"trace", "show where the time goes in a profiler trace", nullptr, nullptr, "headroom-trace"},
    {"history", "show earlier runs, and where they changed", history_options, history_words},
    {"report", "write results as a page for a browser", nullptr, nullptr, "headroom-pages"},
    {"serve", "serve the history and running measurements to a browser", nullptr, nullptr, "headroom-pages"},
    {"roofline", "plot the cases of a run under this machine's roofs", roofline_options},
    {"completion", "print the completion script for bash, zsh or fish", completion_options, completion_words,
     nullptr, "set up"},
};

/// 24 lines of 80 columns.
void print_help(std::FILE* out) {
  std::fputs(
      "headroom: how fast is it, how fast could it be here, did it get slower?\n"
      "usage: headroom COMMAND [OPTIONS]      start here: headroom run gemv --quick\n\n",
      out);
  for (const Command& command : commands())
    std::fprintf(out, "%-8s %-11s %s\n", command.purpose, command.name, command.summary);
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
