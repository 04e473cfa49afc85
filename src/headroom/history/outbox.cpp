// SPDX-License-Identifier: Apache-2.0
#include "headroom/history/outbox.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "headroom/base/error.h"
#include "headroom/base/files.h"
#include "headroom/base/secrets.h"
#include "headroom/base/text.h"
#include "headroom/base/user_folders.h"
#include "headroom/history/packed_text.h"
#include "headroom/history/run_insertion.h"
#include "headroom/record/codec.h"
#include "headroom/record/formats.h"

namespace headroom {
namespace {

namespace fs = std::filesystem;

/// Of one history, by its name without a password.
fs::path outbox_of(const std::string& name) {
  return user_data_folder() / "outbox" / digest_of(name).substr(0, 16);
}

}  // namespace

bool is_remote(const std::string& store) {
  return store.starts_with("postgresql://") || store.starts_with("postgres://");
}

std::string put_into_outbox(const std::vector<Record>& records, const std::string& store) {
  const fs::path folder = outbox_of(without_secrets(store));
  std::error_code error;
  fs::create_directories(folder, error);
  fs::permissions(folder, fs::perms::owner_all, error);
  if (error) throw Error("cannot make " + in_quotes(folder.string()) + ": " + error.message());
  // The same run put there twice is there once.
  const fs::path file = folder / (digest_of(run_text(records)) + ".json");
  write_file_atomically(file.string(), to_json_text(records));
  fs::permissions(file, fs::perms::owner_read | fs::perms::owner_write, error);
  return file.string();
}

std::vector<std::string> deliver_outbox(Store& store) {
  std::vector<std::string> problems;
  std::error_code error;
  std::vector<fs::path> files;
  for (fs::directory_iterator entry(outbox_of(store.name()), error), end; !error && entry != end;
       entry.increment(error)) {
    if (entry->path().extension() == ".json") files.push_back(entry->path());
  }
  std::ranges::sort(files);
  for (const fs::path& file : files) {
    std::vector<Record> records;
    try {
      records = read_records(file.string());
    } catch (const Error& problem) {
      problems.push_back(fmt::format("a run that waits for the history cannot be read: {}", problem.what()));
      continue;
    }
    if (!records.empty()) store.append_if_new(records);
    fs::remove(file, error);
  }
  return problems;
}

}  // namespace headroom
