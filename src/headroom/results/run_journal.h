// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "headroom/command/command_records.h"
#include "headroom/files/journal.h"
#include "headroom/record/record.h"
#include "headroom/schedule/track.h"

namespace headroom::cli {

/// What a command has measured, in the user's state folder from the first round until it is kept elsewhere:
/// after kill -9, a full disk or a database that is gone `headroom show @unfinished` has it. A journal that
/// cannot be written is said once and ends there, and measuring goes on.
class RunJournal {
 public:
  /// Before the first round: what the records have in common, and what the runners are called. Nothing is
  /// written yet.
  void begin(const Environment& environment, std::vector<std::string> labels = {});

  /// After each round of a group.
  void note(const GroupResult& so_far);
  void note(const CommandGroup& so_far);
  /// The group at work is over: these are its records.
  void finish_group(const std::vector<Record>& records);
  /// The same of one that was measured before.
  void take_group(const std::string& title, const std::vector<Record>& records);
  /// All records so far, of a command whose rounds are few and long.
  void replace(const std::vector<Record>& records);

  /// Results are in the history, or were shown where none is wanted: it is removed.
  void kept();
  /// Whether something is in it that was not kept, and whether that is everything.
  bool holds_something() const { return journal_ != nullptr; }
  bool holds_all() const { return holds_something() && !is_off_; }

 private:
  void write(const Json& line);

  Json header_;
  std::string title_;  ///< of the group at work
  std::unique_ptr<Journal> journal_;
  std::unique_ptr<GroupJournal> group_;
  std::unique_ptr<CommandJournal> commands_;
  bool is_off_ = false;
};

/// Records of a group that was over.
struct FinishedGroup {
  std::string title;
  std::vector<Record> records;
};

/// A command that measured and did not end.
struct UnfinishedRun {
  std::filesystem::path path;
  Environment environment;
  std::filesystem::path folder;  ///< where it was started
  bool is_whole_command = true;  ///< nothing of its command line was hidden as a secret
  std::vector<FinishedGroup> finished;
  std::string title;            ///< of the group at work
  std::vector<Record> at_work;  ///< its records, as if it had been interrupted
  std::size_t damaged = 0;      ///< bytes at the end that say nothing

  std::vector<Record> records() const;
  /// "`headroom run gemv` of 2026-11-24 09:12 did not end: ..."
  std::string sentence() const;
};

/// The journals of commands that measure now, the oldest first. Throws Error where the user has no folder for
/// state.
std::vector<std::filesystem::path> journals_of_running();

/// What a journal says so far. Throws Error where it cannot be read.
UnfinishedRun read_run_journal(const std::filesystem::path& path);

/// The newest, of `headroom COMMAND` where one is named. Throws Error where there is none, or it cannot be
/// read.
UnfinishedRun newest_unfinished(const std::string& command = "");

}  // namespace headroom::cli
