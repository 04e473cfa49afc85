// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/run_outputs.h"

#include <filesystem>

#include "headroom/base/error.h"
#include "headroom/base/files.h"
#include "headroom/record/formats.h"

namespace headroom::cli {

RunOutputs::RunOutputs(const RunOptions& options) : files_(options.json, options.oss), csv_(options.csv) {
  if (csv_.empty()) return;
  json_lines_ = std::filesystem::path(csv_).replace_extension(".json").string();
  if (csv_ == json_lines_ || json_lines_ == options.json || json_lines_ == options.oss) {
    throw Error("--output " + csv_ + " also appends JSON lines to " + json_lines_ +
                "; give another name to it, --json or --oss");
  }
  for (const std::string& path : {csv_, json_lines_}) require_writable(path);
}

void RunOutputs::write_means(const std::vector<Record>& records) const {
  const auto append = [&records](const std::string& path, const char* format) {
    return [&records, &path, format] {
      if (!path.empty()) write_records(path, format_named(format), records);
    };
  };
  write_each({[&] { files_.finish(records); }, append(csv_, "seed-csv"), append(json_lines_, "seed-jsonl")});
}

}  // namespace headroom::cli
