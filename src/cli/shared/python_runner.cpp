// SPDX-License-Identifier: Apache-2.0
#include "cli/shared/python_runner.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "headroom/base/error.h"
#include "headroom/base/files.h"
#include "headroom/base/text.h"
#include "headroom/process/program_search.h"

namespace headroom::cli {
namespace {

namespace fs = std::filesystem;

std::string variable(const char* name) {
  const char* text = std::getenv(name);
  return text == nullptr ? "" : text;
}

RunnerCommand serving() {
  RunnerCommand command;
  PythonProgram program = python_program("_serve");
  command.interpreter = std::move(program.words);
  command.environment = std::move(program.environment);
  return command;
}

}  // namespace

PythonProgram python_program(const std::string& module) {
  PythonProgram program{{find_python(), "-m", "headroom." + module}, {}};
  // In a tree that was built and not installed the package lies beside the programs.
  const fs::path beside = this_executable().parent_path().parent_path() / "python";
  if (fs::is_regular_file(beside / "headroom" / "__init__.py")) {
    const std::string others = variable("PYTHONPATH");
    program.environment.emplace_back("PYTHONPATH",
                                     others.empty() ? beside.string() : beside.string() + ":" + others);
  }
  return program;
}

std::string find_python() {
  if (const std::string named = variable("HEADROOM_PYTHON"); !named.empty()) {
    if (const auto found = find_program(named)) return found->string();
    throw Error("HEADROOM_PYTHON=" + named + " is no program: set it to the path of a Python, or unset it");
  }
  std::vector<std::string> places;
  if (const std::string active = variable("VIRTUAL_ENV"); !active.empty())
    places.push_back(active + "/bin/python3");
  places.push_back((this_executable().parent_path() / "python3").string());
  places.emplace_back("python3");
  for (const std::string& place : places) {
    // As it is written: resolved, it would not know of its virtual environment.
    if (const auto found = find_program(place)) return found->string();
  }
  throw Error("no python3 in PATH: install it, or name a Python in HEADROOM_PYTHON");
}

RunnerCommand python_file_runner(const std::string& file) {
  if (!fs::is_regular_file(file)) throw Error(in_quotes(file) + " is not a file");
  RunnerCommand command = serving();
  command.path = file;
  return command;
}

RunnerCommand python_module_runner(const std::string& module) {
  RunnerCommand command = serving();
  command.interpreter.emplace_back("-m");
  command.path = module;
  return command;
}

RunnerCommand socket_runner(const std::string& descriptor) {
  const auto number = to_integer(descriptor);
  if (!number || *number < 3 || *number > 1 << 20 || fcntl(static_cast<int>(*number), F_GETFD) < 0)
    throw Error("--runner-socket " + descriptor + " is not the number of an open descriptor");
  RunnerCommand command;
  command.path = "python";
  command.socket = static_cast<int>(*number);
  return command;
}

}  // namespace headroom::cli
