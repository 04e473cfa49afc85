// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "cli/commands/run_options.h"
#include "cli/shared/record_files.h"
#include "headroom/record/record.h"

namespace headroom::cli {

/// The files that a run was asked to write.
class RunOutputs {
 public:
  /// Throws Error when one of them cannot be written: asked before measuring.
  explicit RunOutputs(const RunOptions& options);

  /// Writes the files of records as they are so far, whole; called after each group, so that a run that is
  /// killed leaves what it had.
  void write_records_so_far(const std::vector<Record>& records) const { files_.write_so_far(records); }
  /// Appends the means over shapes, once, at the end.
  void write_means(const std::vector<Record>& records) const;

  /// Whether records go to standard output.
  bool uses_stdout() const { return files_.uses_stdout(); }

 private:
  RecordFiles files_;
  std::string csv_, json_lines_;
};

}  // namespace headroom::cli
