// SPDX-License-Identifier: Apache-2.0
#include "headroom/process/program_search.h"

#include <unistd.h>

#include <cstdlib>

#include "headroom/base/text.h"

namespace headroom {
namespace {

namespace fs = std::filesystem;

bool is_executable(const fs::path& path) {
  std::error_code unknown;
  return fs::is_regular_file(path, unknown) && ::access(path.c_str(), X_OK) == 0;
}

}  // namespace

std::optional<fs::path> find_program(const std::string& name, const fs::path& folder) {
  if (name.find('/') != std::string::npos) {
    const fs::path path = folder / name;
    return is_executable(path) ? std::optional(path) : std::nullopt;
  }
  const char* path = std::getenv("PATH");
  // What execvp takes where there is no PATH (confstr's _CS_PATH).
  for (const std::string& place : split(path == nullptr ? "/bin:/usr/bin" : path, ':')) {
    const fs::path candidate = fs::path(place.empty() ? "." : place) / name;
    if (!name.empty() && is_executable(candidate)) return candidate;
  }
  return std::nullopt;
}

}  // namespace headroom
