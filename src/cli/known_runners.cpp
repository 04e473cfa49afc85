// SPDX-License-Identifier: Apache-2.0
#include "cli/known_runners.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
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
  const char* needs;
};

const std::vector<KnownRunner>& known_runners() {
  static const std::vector<KnownRunner> runners{
      {"headroom-native",
       {"native", "native_strict", "reference", "onednn", "onednn_packed", "openblas"},
       "build it with this program: make build"},
      {"headroom-torch",
       {"aten", "aten_out"},
       "it is built where libtorch is found: apt-get install libtorch-dev, then make build"},
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

std::vector<std::string> runners_of_backends(const std::vector<std::string>& backends) {
  std::vector<std::string> paths;
  const auto take = [&](const KnownRunner& runner, const std::string& wanted_for) {
    const std::string path = wanted_for.empty() ? find_runner(runner.name)
                                                : require_runner(runner, "backend " + in_quotes(wanted_for));
    if (!path.empty() && std::ranges::find(paths, path) == paths.end()) paths.push_back(path);
  };
  if (backends.empty()) take(known_runners().front(), {});
  for (const std::string& backend : backends) {
    if (const KnownRunner* runner = runner_of(backend)) {
      take(*runner, backend);
    } else {
      for (const KnownRunner& any : known_runners()) take(any, {});
    }
  }
  return paths;
}

}  // namespace headroom::cli
