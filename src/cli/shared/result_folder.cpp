// SPDX-License-Identifier: Apache-2.0
#include "cli/shared/result_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <utility>

#include "cli/shared/folder_files.h"
#include "headroom/base/error.h"
#include "headroom/record/formats.h"

namespace headroom::cli {
namespace {

namespace fs = std::filesystem;

bool is_result_file(const fs::path& path) {
  std::string name = path.filename().string();
  for (const char* packed : {".gz", ".zst"}) {
    if (name.ends_with(packed)) name.resize(name.size() - std::string_view(packed).size());
  }
  return name.ends_with(".json") || name.ends_with(".jsonl") || name.ends_with(".csv");
}

}  // namespace

FolderResults results_in_folder(const fs::path& folder) {
  FolderResults found;
  std::vector<fs::path> files = files_below(folder, is_result_file);
  std::ranges::sort(files);
  if (files.empty()) throw Error(folder.string() + ": no *.json, *.jsonl or *.csv file in this folder");
  for (const fs::path& file : files) {
    try {
      std::vector<Record> records = read_records(file);
      found.files.push_back({file, std::move(records)});
    } catch (const Error& error) {
      found.warnings.push_back(std::string(error.what()) + "; left out");
    } catch (const std::bad_alloc&) {
      found.warnings.push_back(file.string() + ": takes more memory than --max-memory allows; left out");
    }
  }
  if (found.files.empty()) {
    throw Error(fmt::format("{}: none of its {} files can be read; the first: {}", folder.string(),
                            files.size(), found.warnings.front()));
  }
  return found;
}

}  // namespace headroom::cli
