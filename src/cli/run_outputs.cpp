// SPDX-License-Identifier: Apache-2.0
#include "cli/run_outputs.h"

#include <filesystem>

#include "headroom/base/error.h"
#include "headroom/base/files.h"
#include "headroom/record/formats.h"

namespace headroom::cli {
namespace {

constexpr const char* kStdout = "/dev/stdout";

std::string path_or_stdout(const std::string& path) { return path == "-" ? kStdout : path; }

}  // namespace

RunOutputs::RunOutputs(const RunOptions& options)
    : json_(path_or_stdout(options.json)), oss_(path_or_stdout(options.oss)), csv_(options.csv) {
  if (!csv_.empty()) json_lines_ = std::filesystem::path(csv_).replace_extension(".json").string();
  if (!csv_.empty() && (csv_ == json_lines_ || json_lines_ == json_ || json_lines_ == oss_)) {
    throw Error("--output " + csv_ + " also appends JSON lines to " + json_lines_ +
                "; give another name to it, --json or --oss");
  }
  for (const std::string& path : {json_, oss_, csv_, json_lines_}) {
    if (!path.empty()) require_writable(path);
  }
}

void RunOutputs::write_records_so_far(const std::vector<Record>& records) const {
  // A pipe takes the records once, at the end.
  if (!json_.empty() && json_ != kStdout) write_records(json_, format_named("headroom-json"), records);
  if (!oss_.empty() && oss_ != kStdout) write_records(oss_, format_named("oss-v3"), records);
}

void RunOutputs::write_means(const std::vector<Record>& records) const {
  if (json_ == kStdout) write_records(json_, format_named("headroom-json"), records);
  if (oss_ == kStdout) write_records(oss_, format_named("oss-v3"), records);
  if (csv_.empty()) return;
  write_records(csv_, format_named("seed-csv"), records);
  write_records(json_lines_, format_named("seed-jsonl"), records);
}

bool RunOutputs::uses_stdout() const { return json_ == kStdout || oss_ == kStdout; }

}  // namespace headroom::cli
