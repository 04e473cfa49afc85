// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "cli/man_page.h"
#include "cli/shared/command.h"
#include "cli/shared/say.h"
#include "cli/shared/standard_streams.h"
#include "headroom/base/error.h"
#include "headroom/base/text.h"

namespace headroom::cli {
namespace {

void print_help(std::FILE* out) {
  std::fputs(
      "headroom: how fast a tensor program is, how fast this machine could run it, and whether it got "
      "slower\n\n"
      "usage: headroom COMMAND [OPTIONS]\n\ncommands:\n",
      out);
  for (const Command& command : commands()) std::fprintf(out, "  %-10s %s\n", command.name, command.summary);
  std::fputs(
      "\nheadroom COMMAND --help shows the options of one, with examples; headroom --version the version.\n"
      "exit codes: 0 fine, 1 the answer is no, 2 cannot do it, 3 inconclusive, 130 interrupted\n",
      out);
}

ExitCode run_chosen(const Arguments& arguments) {
  if (arguments.empty()) {
    print_help(stderr);
    return ExitCode::kCannot;
  }
  const std::string& name = arguments.front();
  if (name == "--version") {
    std::puts("headroom " HEADROOM_VERSION);
    return ExitCode::kFine;
  }
  Arguments rest(arguments.begin() + 1, arguments.end());
  if (name == "--help" || name == "-h" || (name == "help" && rest.empty())) {
    print_help(stdout);
    return ExitCode::kFine;
  }
  const bool asks_for_page = name == "help" && rest.front() == "--man";
  if (asks_for_page) rest.erase(rest.begin());
  if (asks_for_page && rest.empty()) {
    std::fputs(man_page().c_str(), stdout);
    return ExitCode::kFine;
  }
  const std::string wanted = name == "help" ? rest.front() : name;
  if (name == "help") rest = {"--help"};
  std::vector<std::string> names;
  for (const Command& command : commands()) {
    if (command.name == wanted && asks_for_page) {
      std::fputs(man_page(command).c_str(), stdout);
      return ExitCode::kFine;
    }
    if (command.name == wanted) return command.run(rest);
    names.emplace_back(command.name);
  }
  throw Error("unknown command " + in_quotes(wanted) + did_you_mean(wanted, names) +
              "; headroom help shows all");
}

}  // namespace
}  // namespace headroom::cli

int main(int argc, char** argv) {
  headroom::cli::open_closed_streams();
  try {
    return static_cast<int>(headroom::cli::after_output(headroom::cli::run_chosen({argv + 1, argv + argc})));
  } catch (const std::exception& error) {
    headroom::cli::say_sentence(error.what());
    return static_cast<int>(headroom::ExitCode::kCannot);
  }
}
