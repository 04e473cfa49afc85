// SPDX-License-Identifier: Apache-2.0
#include "cli/shared/known_runners.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <string_view>

#include "headroom/base/error.h"
#include "headroom/base/files.h"
#include "headroom/base/text.h"

namespace headroom::cli {
namespace {

/// Starting a runner to ask what it has can cost half a second: what ours have is known.
struct KnownRunner {
  const char* name;
  std::vector<std::string> backends;
  const char* limits;  ///< the runner that has the limits of its device
  const char* needs;
};

const std::vector<KnownRunner>& known_runners() {
  static const std::vector<KnownRunner> runners{
      {"headroom-native",
       {"native", "native_strict", "reference", "onednn", "onednn_packed", "openblas"},
       "headroom-native",
       "build it with this program: make build"},
      {"headroom-torch",
       {"aten", "aten_out"},
       "headroom-native",
       "it is built where libtorch is found: apt-get install libtorch-dev, then make build"},
      {"headroom-cuda",
       {"cuda", "cublas", "cublaslt"},
       "headroom-cuda",
       "it is built where nvcc of CUDA 12 or newer is found: install the CUDA toolkit, then make build"},
      {"headroom-torch-cuda",
       {"aten_cuda", "aten_cuda_out"},
       "headroom-cuda",
       "it is built where a libtorch with CUDA in it and nvcc of the same CUDA are found (docs/torch.md)"},
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
  std::string path = find_runner(runner.name);
  if (path.empty()) {
    throw Error(wanted_for + " needs " + runner.name +
                ", which is neither beside this program nor in PATH; " + runner.needs);
  }
  return path;
}

bool takes_part(const std::vector<std::string>& runners, const std::string& name) {
  return std::ranges::any_of(
      runners, [&](const std::string& path) { return std::filesystem::path(path).filename() == name; });
}

/// The runners that have the limits of what `runners` measure on, headroom-native always.
std::vector<std::string> limit_names_of(const std::vector<std::string>& runners) {
  std::vector<std::string> names{"headroom-native"};
  for (const KnownRunner& known : known_runners()) {
    // One that takes part, of whatever build, brings its limits itself.
    if (!takes_part(runners, known.name) || takes_part(runners, known.limits)) continue;
    if (std::ranges::find(names, known.limits) == names.end()) names.emplace_back(known.limits);
  }
  return names;
}

}  // namespace

std::string find_runner(const std::string& name) {
  std::vector<std::filesystem::path> folders{this_executable().parent_path(), HEADROOM_INSTALL_BINDIR};
  if (const char* path = std::getenv("PATH")) {
    for (const std::string& folder : split(path, ':')) folders.emplace_back(folder);
  }
  for (const std::filesystem::path& folder : folders) {
    const std::filesystem::path candidate = folder / name;
    if (access(candidate.c_str(), X_OK) == 0) return candidate.string();
  }
  return {};
}

std::string runner_of_modules() {
  return require_runner(*runner_of("aten"), "--module");
}

std::string find_native_runner() {
  return find_runner("headroom-native");
}

std::vector<std::string> limit_runners_of(const std::vector<std::string>& runners) {
  std::vector<std::string> found;
  for (const std::string& name : limit_names_of(runners)) {
    if (std::string path = find_runner(name); !path.empty()) found.push_back(std::move(path));
  }
  return found;
}

std::vector<std::string> missing_limits_of(const std::vector<std::string>& runners) {
  std::vector<std::string> sentences;
  for (const std::string& name : limit_names_of(runners)) {
    // One that takes part has its limits with it, wherever it lies.
    if (takes_part(runners, name) || !find_runner(name).empty()) continue;
    sentences.push_back("no limits: " + name + " was found neither beside this program (" +
                        this_executable().parent_path().string() +
                        ") nor in " HEADROOM_INSTALL_BINDIR
                        " nor in PATH; install it, add its folder to PATH, or say --no-limits");
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
  if (backends.empty()) take(find_runner(known_runners().front().name), true);
  for (const std::string& backend : backends) {
    if (const KnownRunner* runner = runner_of(backend)) {
      take(require_runner(*runner, "backend " + in_quotes(backend)), true);
    } else {
      for (const KnownRunner& any : known_runners()) take(find_runner(any.name), false);
    }
  }
  return found;
}

}  // namespace headroom::cli
