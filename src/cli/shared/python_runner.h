// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "headroom/schedule/runner.h"

namespace headroom::cli {

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
