// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "headroom/record/record.h"

namespace headroom::cli {

/// Where every command that measures puts its records: --json, --oss and the history.
class RecordFiles {
 public:
  /// Empty: none; "-": standard output. Throws Error when a file cannot be written: asked before measuring.
  RecordFiles(const std::string& json, const std::string& oss);

  /// Writes the files with the records as they are so far, whole, so that a run that is killed leaves what it
  /// had. Standard output gets nothing yet.
  void write_so_far(const std::vector<Record>& records) const;
  /// Writes the files and standard output.
  void finish(const std::vector<Record>& records) const;

  /// Whether records go to standard output.
  bool uses_stdout() const;

 private:
  std::string json_, oss_;
};

/// Appends to the history; nothing where `store` is empty. A history that cannot be written to is no reason
/// to fail a run that was measured: that is said on standard error.
void append_to_history(const std::vector<Record>& records, const std::string& store);

}  // namespace headroom::cli
