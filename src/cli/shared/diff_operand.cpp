// SPDX-License-Identifier: Apache-2.0
#include "cli/shared/diff_operand.h"

#include <algorithm>
#include <filesystem>
#include <iterator>

#include "cli/shared/max_memory.h"
#include "cli/shared/result_folder.h"
#include "cli/shared/run_journal.h"
#include "headroom/base/error.h"
#include "headroom/history/store.h"
#include "headroom/record/formats.h"

namespace headroom::cli {
namespace {

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

OperandRecords records_of_operand(const std::string& operand, const std::string& store,
                                  const std::string& max_memory) {
  OperandRecords found = within_memory(max_memory, operand, [&] { return read_operand(operand, store); });
  if (found.records.empty()) throw Error(operand + ": holds no results");
  return found;
}

}  // namespace headroom::cli
