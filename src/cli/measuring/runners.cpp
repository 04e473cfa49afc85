// SPDX-License-Identifier: Apache-2.0
#include "cli/measuring/runners.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iterator>

#include "headroom/base/error.h"
#include "headroom/base/files.h"
#include "headroom/base/text.h"
#include "headroom/console/program.h"
#include "headroom/process/spawn.h"

namespace headroom::cli {
namespace {

/// Known contents of our runners, which take up to half a second to ask.
struct KnownRunner {
  const char* name;
  std::vector<std::string> backends;
  const char* limits;  ///< runner with its device's limits
  const char* needs;
};

const std::vector<KnownRunner>& known_runners() {
  static const std::vector<KnownRunner> runners{
      {"headroom-native",
       {"native", "native_strict", "reference", "onednn", "onednn_packed", "openblas"},
       "headroom-native",
       "to build it: make build"},
      {"headroom-torch",
       {"aten", "aten_out"},
       "headroom-native",
       "to build it: headroom install torch, or apt-get install libtorch-dev, then make build"},
      {"headroom-cuda",
       {"cuda", "cublas", "cublaslt"},
       "headroom-cuda",
       "to get it: pip install 'headroom[cuda]', or install the CUDA toolkit (12 or newer), then make build"},
      {"headroom-torch-cuda",
       {"aten_cuda", "aten_cuda_out"},
       "headroom-cuda",
       "to build it: install libtorch with CUDA and nvcc of the same version, then headroom install torch "
       "(docs/how-to/torch.md)"},
  };
  return runners;
}

const KnownRunner* runner_of(const std::string& backend) {
  for (const KnownRunner& runner : known_runners()) {
    if (std::ranges::find(runner.backends, backend) != runner.backends.end()) return &runner;
  }
  return nullptr;
}

std::string require_runner(const KnownRunner& runner, const std::string& wanted_for) {
  std::string path = find_program_of_ours(runner.name);
  if (path.empty()) {
    throw Error(wanted_for + " needs " + runner.name + ", not found next to this program or in PATH; " +
                runner.needs);
  }
  return path;
}

bool contains_runner(const std::vector<std::string>& runners, const std::string& name) {
  return std::ranges::any_of(
      runners, [&](const std::string& path) { return std::filesystem::path(path).filename() == name; });
}

std::vector<std::string> limit_names_of(const std::vector<std::string>& runners) {
  std::vector<std::string> names{"headroom-native"};
  for (const KnownRunner& known : known_runners()) {
    if (!contains_runner(runners, known.name) || contains_runner(runners, known.limits)) continue;
    if (std::ranges::find(names, known.limits) == names.end()) names.emplace_back(known.limits);
  }
  return names;
}

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

std::string runner_of_modules() {
  return require_runner(*runner_of("aten"), "--module");
}

std::string find_native_runner() {
  return find_program_of_ours("headroom-native");
}

std::vector<std::string> limit_runners_of(const std::vector<std::string>& runners) {
  std::vector<std::string> found;
  for (const std::string& name : limit_names_of(runners)) {
    if (std::string path = find_program_of_ours(name); !path.empty()) found.push_back(std::move(path));
  }
  return found;
}

std::vector<std::string> missing_limits_of(const std::vector<std::string>& runners) {
  std::vector<std::string> sentences;
  for (const std::string& name : limit_names_of(runners)) {
    if (contains_runner(runners, name) || !find_program_of_ours(name).empty()) continue;
    sentences.push_back("no limits: " + name + " not found next to this program (" +
                        this_executable().parent_path().string() +
                        "), in " HEADROOM_INSTALL_BINDIR
                        " or in PATH; install it, add its folder to PATH, or give --no-limits");
  }
  return sentences;
}

std::vector<FoundRunner> known_runners_of_backends(const std::vector<std::string>& backends) {
  std::vector<std::string> known;
  std::ranges::copy_if(backends, std::back_inserter(known),
                       [](const std::string& backend) { return runner_of(backend) != nullptr; });
  return known.empty() ? std::vector<FoundRunner>{} : runners_of_backends(known);
}

std::vector<FoundRunner> runners_of_backends(const std::vector<std::string>& backends) {
  std::vector<FoundRunner> found;
  const auto take = [&](const std::string& path, bool is_asked_for) {
    if (path.empty()) return;
    const auto earlier = std::ranges::find(found, path, &FoundRunner::path);
    if (earlier == found.end()) {
      found.push_back({path, is_asked_for});
    } else {
      earlier->is_asked_for = earlier->is_asked_for || is_asked_for;
    }
  };
  if (backends.empty()) take(find_program_of_ours(known_runners().front().name), true);
  for (const std::string& backend : backends) {
    if (const KnownRunner* runner = runner_of(backend)) {
      take(require_runner(*runner, "backend " + quote(backend)), true);
    } else {
      for (const KnownRunner& any : known_runners()) take(find_program_of_ours(any.name), false);
    }
  }
  return found;
}

PythonProgram python_program(const std::string& module) {
  PythonProgram program{{find_python(), "-m", "headroom." + module}, {}};
  // In a build tree the package is next to the programs.
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
    throw Error("HEADROOM_PYTHON=" + named +
                " is not a program: set it to the path of a Python, or unset it");
  }
  std::vector<std::string> places;
  if (const std::string active = variable("VIRTUAL_ENV"); !active.empty())
    places.push_back(active + "/bin/python3");
  places.push_back((this_executable().parent_path() / "python3").string());
  places.emplace_back("python3");
  for (const std::string& place : places) {
    // Unresolved: a resolved path would lose its virtual environment.
    if (const auto found = find_program(place)) return found->string();
  }
  throw Error("no python3 in PATH: install it, or set HEADROOM_PYTHON to a Python");
}

RunnerCommand python_file_runner(const std::string& file) {
  if (!fs::is_regular_file(file)) throw Error(quote(file) + " is not a file");
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

RunnerCommand socket_runner(const std::string& text) {
  const std::size_t equals = text.find('=');
  const std::string descriptor = text.substr(0, equals);
  const auto number = to_integer(descriptor);
  if (!number || *number < 3 || *number > 1 << 20 || fcntl(static_cast<int>(*number), F_GETFD) < 0)
    throw Error("--runner-socket " + descriptor + " is not an open file descriptor");
  RunnerCommand command;
  command.path = "python";
  command.socket = static_cast<int>(*number);
  if (equals != std::string::npos) command.label = text.substr(equals + 1);
  return command;
}

}  // namespace headroom::cli
