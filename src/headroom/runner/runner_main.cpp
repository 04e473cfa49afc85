// SPDX-License-Identifier: Apache-2.0
#include "headroom/runner/runner_main.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <optional>
#include <string_view>
#include <utility>

#include "headroom/base/error.h"
#include "headroom/base/files.h"
#include "headroom/base/text.h"
#include "headroom/process/spawn.h"
#include "headroom/runner/serve.h"

namespace headroom {
namespace {

namespace fs = std::filesystem;

constexpr const char* kEngine = "headroom";
constexpr const char* kEngineVariable = "HEADROOM";

/// Returns "native" for headroom-native; other names unchanged.
std::string runner_name(const fs::path& executable) {
  const std::string name = executable.filename().string();
  constexpr std::string_view kPrefix = "headroom-";
  return name.starts_with(kPrefix) ? name.substr(kPrefix.size()) : name;
}

/// Prevents a runner named headroom, or named by HEADROOM, from executing itself for ever.
bool is_same_file(const fs::path& one, const fs::path& other) {
  std::error_code unknown;
  return fs::equivalent(one, other, unknown);
}

}  // namespace

int runner_main(int argc, char** argv, const FromShell& from_shell) {
  try {
    const fs::path self = this_executable();
    const std::vector<std::string> arguments{argv + 1, argv + argc};
    if (auto channel = inherited_channel()) {
      serve(std::move(*channel), registry(), runner_name(self), arguments);
      return static_cast<int>(ExitCode::kSuccess);
    }
    return from_shell(self, arguments);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", argv[0], error.what());
    return static_cast<int>(ExitCode::kError);
  }
}

fs::path find_engine(const fs::path& self) {
  if (const char* named = std::getenv(kEngineVariable); named != nullptr && *named != '\0') {
    const std::optional<fs::path> found = find_program(named);
    if (!found || is_same_file(*found, self)) {
      throw Error(std::string(kEngineVariable) + "=" + named + " is " +
                  (found ? "this runner" : "not a program") +
                  ": set it to the path of the headroom program, or unset it");
    }
    return *found;
  }
  const std::vector<std::string> places{(self.parent_path() / kEngine).string(), kEngine,
                                        std::string(HEADROOM_INSTALL_BINDIR) + "/" + kEngine};
  for (const std::string& place : places) {
    const std::optional<fs::path> found = find_program(place);
    if (found && !is_same_file(*found, self)) return *found;
  }
  throw Error(
      "cannot find the headroom program, which measures runners: it is not next to this one, in PATH or in " +
      std::string(HEADROOM_INSTALL_BINDIR) +
      "; install it (pip or apt: docs/how-to/install.md), or set HEADROOM=/path/to/headroom");
}

int exec_engine(const fs::path& self, const std::vector<std::string>& arguments) {
  const std::string engine = find_engine(self).string();
  std::vector<std::string> words{kEngine, "run", "--runner", self.string()};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  ::execv(engine.c_str(), pointers.data());
  throw Error("cannot start " + quote(engine) + ": " + std::strerror(errno));
}

}  // namespace headroom
