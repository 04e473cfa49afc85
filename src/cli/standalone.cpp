// SPDX-License-Identifier: Apache-2.0
// main() of every runner. Asked by a command line (the socket is there), it serves; started from a shell, it
// is `headroom run` with itself as the runner.
#include <cstdio>
#include <exception>
#include <filesystem>
#include <string>

#include "cli/commands/run.h"
#include "cli/standard_streams.h"
#include "headroom/base/files.h"
#include "headroom/runner/serve.h"

namespace {

/// "native" for headroom-native; any other program by its own name.
std::string runner_name(const std::filesystem::path& executable) {
  const std::string name = executable.filename().string();
  constexpr std::string_view kPrefix = "headroom-";
  return name.starts_with(kPrefix) ? name.substr(kPrefix.size()) : name;
}

}  // namespace

int main(int argc, char** argv) {
  headroom::cli::open_closed_streams();
  try {
    const std::filesystem::path self = headroom::this_executable();
    if (auto channel = headroom::inherited_channel()) {
      headroom::serve(std::move(*channel), headroom::registry(), runner_name(self), {argv + 1, argv + argc});
      return 0;
    }
    headroom::cli::Arguments arguments{"--runner", self.string()};
    arguments.insert(arguments.end(), argv + 1, argv + argc);
    return static_cast<int>(headroom::cli::after_output(headroom::cli::run(arguments)));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", argv[0], error.what());
    return static_cast<int>(headroom::ExitCode::kCannot);
  }
}
