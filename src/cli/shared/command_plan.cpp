// SPDX-License-Identifier: Apache-2.0
#include "cli/shared/command_plan.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <set>

#include "headroom/base/error.h"
#include "headroom/base/secrets.h"
#include "headroom/base/text.h"
#include "headroom/command/command_line.h"
#include "headroom/process/program_search.h"

namespace headroom::cli {
namespace {

/// A command as given: a line, or words.
struct GivenCommand {
  std::string line;
  std::vector<std::string> words;  ///< instead of splitting the line
  std::string name, setup, prepare, conclude, cleanup;
};

/// The i-th of texts that were given once for all commands, or once for each.
std::string of_command(const std::vector<std::string>& texts, std::size_t i) {
  if (texts.empty()) return "";
  return texts.size() == 1 ? texts.front() : texts.at(i);
}

void require_fit(const char* option, const std::vector<std::string>& texts, std::size_t commands) {
  if (texts.size() <= 1 || texts.size() == commands) return;
  throw Error(fmt::format("{} is given {} times for {} command{}: give it once for all, or once for each",
                          option, texts.size(), commands, commands == 1 ? "" : "s"));
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
    command.name = options.names.empty() ? without_secrets(command.line) : options.names[i];
    command.setup = of_command(options.setup, i);
    command.prepare = of_command(options.prepare, i);
    command.conclude = of_command(options.conclude, i);
    command.cleanup = of_command(options.cleanup, i);
  }
  return commands;
}

void require_mentioned(const std::vector<CommandParameter>& parameters,
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
      throw Error("no command mentions " + placeholder + "; the values of that parameter change nothing");
  }
}

std::vector<std::string> arguments_of(const GivenCommand& command, const AxisTexts& point,
                                      const std::string& shell) {
  if (command.words.empty()) {
    const std::string line = with_placeholders(command.line, point);
    return shell.empty() ? split_command_line(line) : shell_arguments(line, shell);
  }
  if (!shell.empty()) throw Error("--shell runs a line in quotes; the words after -- are run without one");
  std::vector<std::string> words;
  for (const std::string& word : command.words) words.push_back(with_placeholders(word, point));
  return words;
}

/// A program that is not there is said before anything is run.
void require_program(const PlannedCommand& command) {
  if (!command.setup.empty() || !command.prepare.empty()) return;
  const std::string& program = command.spec.arguments.front();
  if (find_program(program, command.spec.folder)) return;
  const bool is_path = program.find('/') != std::string::npos;
  throw Error(fmt::format("command {}: there is no program {}{}", in_quotes(command.line), in_quotes(program),
                          is_path ? "" : " in PATH; what is built into a shell needs --shell"));
}

/// As a program that is not there; nobody can make it before --setup, and --prepare may for each run.
void require_input(const PlannedCommand& command) {
  if (command.spec.input.empty() || !command.setup.empty() || !command.prepare.empty()) return;
  const std::string input = command.spec.input.string();
  if (std::filesystem::is_directory(input)) throw Error("--input " + in_quotes(input) + ": is a folder");
  if (::access(input.c_str(), R_OK) != 0) {
    throw Error("--input " + in_quotes(input) + ": cannot be read: " + std::strerror(errno));
  }
}

PlannedCommand planned_command(const GivenCommand& given, const AxisTexts& point,
                               const CommandOptions& options) {
  const auto filled = [&](const std::string& text) { return with_placeholders(text, point); };
  PlannedCommand command;
  command.name = given.name;
  command.title = filled(given.name);
  command.line = without_secrets(filled(given.line));
  command.parameters = point;
  command.setup = filled(given.setup);
  command.prepare = filled(given.prepare);
  command.conclude = filled(given.conclude);
  command.cleanup = filled(given.cleanup);
  command.spec.arguments = arguments_of(given, point, options.shell);
  command.spec.input = filled(options.input);
  command.spec.timeout = options.timeout;
  if (options.output == "pipe") {
    command.spec.output = CommandSpec::Output::kCapture;
    command.spec.capture_bytes = 0;
  } else if (options.output != "null") {
    command.spec.output = CommandSpec::Output::kFile;
    command.spec.output_file = filled(options.output);
  }
  require_program(command);
  require_input(command);
  return command;
}

/// The same command twice has two names: records are told apart by them.
void tell_apart(std::vector<PlannedCommand>& group) {
  std::set<std::pair<std::string, AxisTexts>> taken;
  for (PlannedCommand& command : group) {
    const std::string name = command.name, title = command.title;
    for (int count = 2; !taken.emplace(command.name, command.parameters).second; ++count) {
      command.name = fmt::format("{} ({})", name, count);
      command.title = fmt::format("{} ({})", title, count);
    }
  }
}

}  // namespace

std::vector<std::vector<PlannedCommand>> plan_commands(const CommandOptions& options) {
  const std::vector<GivenCommand> commands = given_commands(options);
  require_mentioned(options.parameters, commands);
  const std::vector<AxisTexts> points = parameter_points(options.parameters);
  std::vector<std::vector<PlannedCommand>> groups;
  for (const AxisTexts& point : points) {
    // One command is compared with itself, from point to point; several at each point with each other.
    if (groups.empty() || commands.size() > 1) groups.emplace_back();
    for (const GivenCommand& command : commands)
      groups.back().push_back(planned_command(command, point, options));
  }
  for (std::vector<PlannedCommand>& group : groups) tell_apart(group);
  return groups;
}

}  // namespace headroom::cli
