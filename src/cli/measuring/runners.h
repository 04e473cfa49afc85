// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "headroom/schedule/runner.h"

namespace headroom::cli {

/// Empty if missing.
std::string find_native_runner();

/// Returns headroom-native and, for CUDA devices, headroom-cuda, if present.
std::vector<std::string> limit_runners_of(const std::vector<std::string>& runners);

/// A sentence for each runner that limit_runners_of() did not find.
std::vector<std::string> missing_limits_of(const std::vector<std::string>& runners);

/// Returns headroom-torch. Throws Error if it is missing.
std::string runner_of_modules();

struct FoundRunner {
  std::string path;
  bool is_asked_for = true;  ///< else left out if it cannot run here

  bool operator==(const FoundRunner&) const = default;
};

/// Throws like runners_of_backends().
std::vector<FoundRunner> known_runners_of_backends(const std::vector<std::string>& backends);

/// In order of `backends`; headroom-native for none. "all" and unknown names take every runner present.
/// Throws Error if a backend's is missing.
std::vector<FoundRunner> runners_of_backends(const std::vector<std::string>& backends);

/// HEADROOM_PYTHON, VIRTUAL_ENV's Python, the one next to this program, or python3 in PATH. Throws Error
/// without a Python.
std::string find_python();

/// Program in one of our modules; `environment` is added to ours.
struct PythonProgram {
  std::vector<std::string> words;
  std::vector<std::pair<std::string, std::string>> environment;
};
/// `python3 -m headroom.NAME`. Throws Error without a Python.
PythonProgram python_program(const std::string& module);

/// The runner of a Python file or module ("gpt_fast": headroom's, else Python's). Throws Error without the
/// file or a Python.
RunnerCommand python_file_runner(const std::string& file);
RunnerCommand python_module_runner(const std::string& module);

/// At the other end of an inherited socket: "5", or "5=NAME". Throws Error for an invalid descriptor.
RunnerCommand socket_runner(const std::string& text);

}  // namespace headroom::cli
