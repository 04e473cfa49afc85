// SPDX-License-Identifier: Apache-2.0
#include "headroom/results/operand.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <new>
#include <utility>

#include "headroom/base/error.h"
#include "headroom/console/max_memory.h"
#include "headroom/history/store.h"
#include "headroom/record/formats.h"
#include "headroom/results/run_journal.h"

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

namespace fs = std::filesystem;

OperandRecords records_of_folder(const fs::path& folder) {
  FolderResults results = results_in_folder(folder);
  OperandRecords found;
  found.warnings = std::move(results.warnings);
  for (FileResults& file : results.files) std::ranges::move(file.records, std::back_inserter(found.records));
  return found;
}

OperandRecords read_operand(const std::string& operand, const std::string& store) {
  OperandRecords found;
  if (operand == kUnfinished) {
    const UnfinishedRun run = newest_unfinished();
    found.records = run.records();
    found.warnings = {run.sentence()};
  } else if (operand.starts_with("@")) {
    const auto history = open_store(store.empty() ? default_store() : store, StoreAccess::kRead);
    found.records = history->records(history->find_run(operand));
  } else if (fs::is_directory(operand)) {
    found = records_of_folder(operand);
  } else {
    found.records = read_records(operand);
  }
  return found;
}

}  // namespace

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

OperandRecords records_of_operand(const std::string& operand, const std::string& store,
                                  const std::string& max_memory) {
  OperandRecords found = within_memory(max_memory, operand, [&] { return read_operand(operand, store); });
  if (found.records.empty()) throw Error(operand + ": holds no results");
  return found;
}

void add_run_candidates(Completes what, const Arguments&, Candidates& found) {
  if (what != Completes::kRun && what != Completes::kFileOrRun) return;
  constexpr std::size_t kNewest = 20;
  found.words.push_back({"@last", "the last run"});
  found.words.push_back({"@unfinished", "what a command had measured that was killed"});
  for (const StoredRun& run : open_store(default_store(), StoreAccess::kRead)->runs(kNewest))
    found.words.push_back({"@" + std::to_string(run.id), run.command});
}

}  // namespace headroom::cli
