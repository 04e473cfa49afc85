// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "headroom/schedule/runner.h"

namespace headroom::cli {

/// headroom-native, which holds the machine's limits and the CPU experiments. Empty when there is none.
std::string find_native_runner();

/// Paths of the runners that hold the limits of the devices that `runners` (paths) measure on:
/// headroom-native, and for ours on CUDA headroom-cuda. Those that are not there are left out.
std::vector<std::string> limit_runners_of(const std::vector<std::string>& runners);

/// One sentence for each of the runners that limit_runners_of would have taken and did not find: where it was
/// looked for, and what to do.
std::vector<std::string> missing_limits_of(const std::vector<std::string>& runners);

/// headroom-torch, which reads modules from files. Throws Error when it is not there, saying what it needs.
std::string runner_of_modules();

struct FoundRunner {
  std::string path;
  bool is_asked_for =
      true;  ///< by a backend that it has; else it is left out where it cannot run on this machine

  bool operator==(const FoundRunner&) const = default;
};

/// Those of them that hold one of these backends for sure. Throws as runners_of_backends.
std::vector<FoundRunner> known_runners_of_backends(const std::vector<std::string>& backends);

/// The runners of a run that names none: those that hold the backends asked for, the first backend's first;
/// headroom-native when none is asked for. "all", and a name that no runner of ours has, take every runner
/// that is there. Throws Error when a backend's runner is not there, saying what it needs.
std::vector<FoundRunner> runners_of_backends(const std::vector<std::string>& backends);

/// The Python that experiments run in: HEADROOM_PYTHON; that of the active virtual environment
/// (VIRTUAL_ENV); the one beside this program; the first python3 in PATH. Throws Error where there is none.
std::string find_python();

/// A program in a module of ours: the words that start it, and its environment beside ours.
struct PythonProgram {
  std::vector<std::string> words;
  std::vector<std::pair<std::string, std::string>> environment;
};
/// `python3 -m headroom.NAME`. Throws Error where there is no Python.
PythonProgram python_program(const std::string& module);

/// A runner of the experiments in a file of Python, or in a module ("gpt_fast": headroom's own of that name,
/// else the one that Python finds). Throws Error where there is no such file, or no Python.
RunnerCommand python_file_runner(const std::string& file);
RunnerCommand python_module_runner(const std::string& module);

/// The runner at the other end of a socket that whoever started this left open: `descriptor` is its number.
/// Throws Error where it is none.
RunnerCommand socket_runner(const std::string& descriptor);

}  // namespace headroom::cli
