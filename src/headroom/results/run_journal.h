// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "headroom/files/journal.h"
#include "headroom/record/record.h"
#include "headroom/schedule/track.h"

namespace headroom::cli {

/// Lies in the user's state folder, for `headroom show @unfinished`. A failed write prints a warning once and
/// stops it.
class RunJournal {
 public:
  /// Writes nothing yet.
  void begin(const Environment& environment, std::vector<std::string> labels = {});

  /// Call after each round of a group.
  void note(const GroupResult& so_far);
  /// Sets those of the current group.
  void finish_group(const std::vector<Record>& records);
  /// Adds a group that was measured before.
  void take_group(const std::string& title, const std::vector<Record>& records);
  /// Sets all records so far, for commands with few, long rounds.
  void replace(const std::vector<Record>& records);

  /// Removes the journal once results are stored or shown.
  void kept();
  bool is_started() const { return journal_ != nullptr; }
  bool is_complete() const { return is_started() && !is_off_; }

 private:
  void write(const Json& line);

  Json header_;
  std::string title_;  ///< of the current group
  std::unique_ptr<Journal> journal_;
  std::unique_ptr<GroupJournal> group_;
  bool is_off_ = false;
};

struct FinishedGroup {
  std::string title;
  std::vector<Record> records;
};

/// Measured but not finished.
struct UnfinishedRun {
  std::filesystem::path path;
  Environment environment;
  std::filesystem::path folder;
  bool is_whole_command = true;  ///< no secret was removed
  std::vector<FinishedGroup> finished;
  std::string title;            ///< of the current group
  std::vector<Record> at_work;  ///< of the current group, as if interrupted
  std::size_t damaged = 0;      ///< unreadable bytes at the end

  std::vector<Record> records() const;
  /// "`headroom run gemv` of 2026-11-24 09:12 did not end: ...".
  std::string sentence() const;
};

/// Oldest first. Throws Error without a state folder.
std::vector<std::filesystem::path> journals_of_running();

/// Throws Error.
UnfinishedRun read_run_journal(const std::filesystem::path& path);

/// Of `headroom COMMAND` if named. Throws Error without one.
UnfinishedRun newest_unfinished(const std::string& command = "");

}  // namespace headroom::cli
