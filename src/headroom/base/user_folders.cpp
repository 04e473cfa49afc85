// SPDX-License-Identifier: Apache-2.0
#include "headroom/base/user_folders.h"

#include <cstdlib>
#include <string>

#include "headroom/base/error.h"

namespace headroom {
namespace {

namespace fs = std::filesystem;

fs::path user_folder(const char* variable, const char* below_home, const char* what) {
  // Relative values are to be ignored: XDG Base Directory Specification 0.8.
  if (const char* folder = std::getenv(variable); folder != nullptr && folder[0] == '/') {
    return fs::path(folder) / "headroom";
  }
  if (const char* home = std::getenv("HOME"); home != nullptr && home[0] == '/') {
    return fs::path(home) / below_home;
  }
  throw Error(std::string("no folder for the user's ") + what + ": neither " + variable +
              " nor HOME is set; set one of them");
}

}  // namespace

fs::path user_data_folder() {
  return user_folder("XDG_DATA_HOME", ".local/share/headroom", "data");
}

fs::path user_cache_folder() {
  return user_folder("XDG_CACHE_HOME", ".cache/headroom", "caches");
}

fs::path user_state_folder() {
  return user_folder("XDG_STATE_HOME", ".local/state/headroom", "state");
}

}  // namespace headroom
