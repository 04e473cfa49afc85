// SPDX-License-Identifier: Apache-2.0
#include "cli/shared/folder_files.h"

#include "headroom/base/error.h"

namespace headroom::cli {

namespace fs = std::filesystem;

std::vector<fs::path> files_below(const fs::path& folder,
                                  const std::function<bool(const fs::path&)>& is_wanted) {
  std::vector<fs::path> files;
  try {
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder)) {
      if (entry.is_regular_file() && is_wanted(entry.path())) files.push_back(entry.path());
    }
  } catch (const fs::filesystem_error& error) {
    throw Error(folder.string() + ": cannot be listed: " + error.code().message());
  }
  return files;
}

}  // namespace headroom::cli
