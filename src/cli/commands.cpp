// SPDX-License-Identifier: Apache-2.0
#include "cli/commands.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "headroom/base/error.h"
#include "headroom/base/text.h"
#include "headroom/command/command_line.h"
#include "headroom/console/command.h"
#include "headroom/console/completion.h"
#include "headroom/console/output.h"
#include "headroom/console/program.h"
#include "headroom/process/spawn.h"

namespace headroom::cli {

// To add a command: define its options in NAME.cpp, declare them here, add it to kCommands.
OptionTable ab_options(Arguments&), bisect_options(Arguments&), cache_options(Arguments&),
    completion_options(Arguments&), ddp_options(Arguments&), diff_options(Arguments&),
    dispatch_options(Arguments&), history_options(Arguments&), machine_options(Arguments&),
    install_options(Arguments&), roofline_options(Arguments&), show_options(Arguments&),
    time_options(Arguments&);
std::vector<CommandWord> completion_words(), ddp_words(), history_words();
ExitCode print_merge_base(const Arguments&);

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
    {"install", "build headroom-torch for the torch of this Python", install_options, nullptr, nullptr,
     "set up"},
    {"completion", "print the completion script for bash, zsh or fish", completion_options, completion_words},
};

/// First words that mean others.
const std::map<std::string, Arguments>& aliases() {
  static const std::map<std::string, Arguments> kAliases{
      {"list", {"run", "--list"}}, {"version", {"--version"}}, {"-V", {"--version"}}};
  return kAliases;
}

/// Commands of other tools, comma-separated, and what to type here.
constexpr ConstantHelp kElsewhere[] = {
    {"bench,benchmark,measure,exec",
     "headroom run NAME measures experiments, headroom time 'COMMAND' a command, headroom ab 'A' 'B' two"},
    {"compare,cmp,vs,versus", "headroom diff OLD NEW compares results, headroom ab 'A' 'B' commands"},
    {"profile,prof,record",
     "headroom run NAME --trace FOLDER records traces, headroom trace FILE analyses one"},
    {"perf,stat,hyperfine,timeit", "headroom time 'COMMAND' measures time, memory and page faults"},
    {"ls,experiments,benchmarks", "headroom list shows the experiments, headroom history the runs"},
    {"log,logs,runs,results", "headroom history lists the runs, headroom show last shows the last one"},
    {"last,view,cat,print,open", "headroom show last shows the last run, headroom show FILE a file"},
    {"gate,check,ci,regression,test", "headroom diff --gate 3% OLD NEW exits 1 if a case got slower"},
    {"analyze,analyse,timeline,nsys,ncu,perfetto", "headroom trace FILE shows where the time goes"},
    {"summary,findings,kernels,validate", "headroom trace {} FILE analyses a trace"},
    {"merge,convert", "headroom trace {} rewrites traces; headroom trace {} --help"},
    {"html,page,plot,graph,chart", "headroom report RESULT writes a page, headroom roofline a plot"},
    {"site,publish", "headroom history --site FOLDER writes the history as pages"},
    {"info,system,sysinfo,doctor,env,limits,bandwidth,peak",
     "headroom machine measures and shows this machine"},
    {"import,export,prune,verify,repair", "headroom history {}; see headroom history {} --help"},
    {"collectives,nccl,all_reduce", "headroom ddp --collectives measures collectives"},
    {"watch,live,monitor,top", "headroom run NAME --live, or headroom serve for a browser"},
    {"pytest", "pytest --headroom measures tests"},
    {"-v", "headroom --version shows the version"},
};

/// "headroom show r.json" for r.json, "headroom run bench.py", "headroom time './mine'"; else empty.
std::string answer_for_file(const std::string& word) {
  std::error_code ignored;
  if (std::filesystem::is_directory(word, ignored))
    return "headroom show " + word + " shows the results in it";
  if (!std::filesystem::is_regular_file(word, ignored)) {
    const std::string program = word.substr(0, word.find(' '));
    return find_program(program) ? "headroom time " + quoted_word(word) + " measures this command" : "";
  }
  if (word.ends_with(".py")) return "headroom run " + word + " measures its experiments";
  if (::access(word.c_str(), X_OK) == 0) {
    return "headroom time " + word + " measures this program, headroom run " + word +
           " the experiments of a runner";
  }
  return "headroom show " + word + " shows a file of results, headroom trace " + word + " a trace";
}

[[noreturn]] void refuse_command(const std::string& word) {
  for (const ConstantHelp& one : kElsewhere) {
    const std::vector<std::string> names = split(one.name, ',');
    if (std::ranges::find(names, word) == names.end()) continue;
    std::string text = one.text;
    for (std::size_t at = text.find("{}"); at != std::string::npos; at = text.find("{}"))
      text.replace(at, 2, word);
    throw Error("no command " + quote(word) + ": " + text);
  }
  if (word.starts_with("-"))
    throw Error("unknown option " + quote(word) + ": options follow a command; headroom help lists all");
  std::vector<std::string> names;
  for (const Command& command : commands()) names.emplace_back(command.name);
  for (const auto& [name, words] : aliases()) names.push_back(name);
  const std::string near = did_you_mean(word, names);
  const std::string file = near.empty() ? answer_for_file(word) : "";
  throw Error("unknown command " + quote(word) + near + "; " +
              (file.empty() ? "headroom help lists all" : file));
}

/// 24 lines of 80 columns.
void print_help(std::FILE* out) {
  std::fputs(
      "headroom: how fast is it, how fast could it be here, did it get slower?\n"
      "usage: headroom COMMAND [OPTIONS|--help], headroom --version\n\n",
      out);
  for (const Command& command : commands())
    std::fprintf(out, "%-8s %-11s %s\n", command.purpose, command.name, command.summary);
  std::fputs(
      "\n"
      "headroom run gemv --quick                  start here: how near the limit?\n"
      "headroom trace trace.json.gz               why is my GPU idle?\n"
      "headroom ab --gate 3% --git main ./bench   is this branch slower? exit 1 if so\n",
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

ExitCode run_headroom(const Arguments& given) {
  if (given.empty()) {
    print_help(stderr);
    return ExitCode::kError;
  }
  Arguments words = given;
  const bool asks_for_help = words.front() == "help" || words.front() == "--help" || words.front() == "-h";
  if (asks_for_help) words.erase(words.begin());
  const bool asks_for_page = asks_for_help && !words.empty() && words.front() == "--man";
  if (asks_for_page) words.erase(words.begin());
  if (words.empty()) {
    if (asks_for_page) {
      std::fputs(man_page(commands()).c_str(), stdout);
    } else {
      print_help(stdout);
    }
    return ExitCode::kSuccess;
  }
  if (const auto alias = aliases().find(words.front()); alias != aliases().end()) {
    words.erase(words.begin());
    words.insert(words.begin(), alias->second.begin(), alias->second.end());
  }
  const std::string name = words.front();
  if (name == "--version") {
    std::puts("headroom " HEADROOM_VERSION);
    return ExitCode::kSuccess;
  }
  if (name == "--merge-base") return print_merge_base({words.begin() + 1, words.end()});
  const auto command = std::ranges::find(commands(), name, [](const Command& one) { return one.name; });
  if (command == commands().end()) refuse_command(name);
  if (asks_for_page) return print_man_page(*command);
  if (asks_for_help) return run_command(*command, {"--help"});
  return run_command(*command, {words.begin() + 1, words.end()});
}

}  // namespace headroom::cli
