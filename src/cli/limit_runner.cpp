// SPDX-License-Identifier: Apache-2.0
#include "cli/limit_runner.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <vector>

#include "headroom/base/files.h"
#include "headroom/base/text.h"

namespace headroom::cli {

std::string find_native_runner() {
  std::vector<std::filesystem::path> folders{this_executable().parent_path(), HEADROOM_INSTALL_BINDIR};
  if (const char* path = std::getenv("PATH")) {
    for (const std::string& folder : split(path, ':')) folders.emplace_back(folder);
  }
  for (const std::filesystem::path& folder : folders) {
    const std::filesystem::path candidate = folder / "headroom-native";
    if (access(candidate.c_str(), X_OK) == 0) return candidate.string();
  }
  return {};
}

}  // namespace headroom::cli
