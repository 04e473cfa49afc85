// SPDX-License-Identifier: Apache-2.0
#include "cli/shared/record_files.h"

#include <cstdio>

#include "cli/shared/say.h"
#include "headroom/base/error.h"
#include "headroom/base/files.h"
#include "headroom/base/text.h"
#include "headroom/history/store.h"
#include "headroom/record/formats.h"

namespace headroom::cli {
namespace {

constexpr const char* kStdoutDevice = "/dev/stdout";

std::string path_or_stdout(const std::string& path) {
  return path == "-" ? kStdoutDevice : path;
}

}  // namespace

RecordFiles::RecordFiles(const std::string& json, const std::string& oss)
    : json_(path_or_stdout(json)), oss_(path_or_stdout(oss)) {
  if (!json_.empty() && json_ == oss_) {
    throw Error("--json and --oss name the same file, " + in_quotes(json) + ": give each its own");
  }
  for (const std::string& path : {json_, oss_}) {
    if (!path.empty()) require_writable(path);
  }
}

void RecordFiles::write_so_far(const std::vector<Record>& records) const {
  // A pipe takes the records once, at the end.
  if (!json_.empty() && json_ != kStdoutDevice) write_records(json_, format_named("headroom-json"), records);
  if (!oss_.empty() && oss_ != kStdoutDevice) write_records(oss_, format_named("oss-v3"), records);
}

void RecordFiles::finish(const std::vector<Record>& records) const {
  write_so_far(records);
  if (json_ == kStdoutDevice) write_records(json_, format_named("headroom-json"), records);
  if (oss_ == kStdoutDevice) write_records(oss_, format_named("oss-v3"), records);
}

bool RecordFiles::uses_stdout() const {
  return json_ == kStdoutDevice || oss_ == kStdoutDevice;
}

void append_to_history(const std::vector<Record>& records, const std::string& store) {
  if (store.empty()) return;
  try {
    open_store(store)->append(records);
  } catch (const Error& error) {
    say("not kept in the history: {}", error.what());
  }
}

}  // namespace headroom::cli
