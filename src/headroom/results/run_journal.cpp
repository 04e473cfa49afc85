// SPDX-License-Identifier: Apache-2.0
#include "headroom/results/run_journal.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <iterator>
#include <utility>

#include "headroom/base/error.h"
#include "headroom/base/files.h"
#include "headroom/base/json.h"
#include "headroom/base/secrets.h"
#include "headroom/base/text.h"
#include "headroom/command/command_records.h"
#include "headroom/record/formats.h"
#include "headroom/record/record_json.h"
#include "headroom/results/record_files.h"
#include "headroom/schedule/case_records.h"

namespace headroom::cli {
namespace {

namespace fs = std::filesystem;

/// Other versions are rejected.
constexpr int kForm = 2;
constexpr std::chrono::hours kKept{24 * 30};

constexpr const char* kHeader = "journal";
constexpr const char* kFinished = "finished";
constexpr const char* kReplaced = "so_far";

fs::path folder_of_journals() {
  return user_state_folder() / "journal";
}

void remove_old_ones() {
  std::error_code error;
  for (const fs::path& path : unfinished_journals(folder_of_journals())) {
    const auto written = fs::last_write_time(path, error);
    if (!error && fs::file_time_type::clock::now() - written > kKept) fs::remove(path, error);
  }
}

class Replay {
 public:
  explicit Replay(const fs::path& path) { run_.path = path; }

  void take(const Json& line) {
    if (line.contains(kHeader)) return begin(line);
    if (const Json* finished = line.find(kFinished)) {
      run_.finished.push_back({json_string(*finished, "title", ""),
                               records_from_json_text(json_string(*finished, "records", ""), source())});
      group_ = {};
    } else if (line.contains(kReplaced)) {
      run_.at_work = records_from_json_text(json_string(line, kReplaced, ""), source());
    } else {
      replay(line, group_);
    }
  }

  UnfinishedRun result() {
    const auto environment = std::make_shared<const Environment>(run_.environment);
    run_.title = group_.title;
    if (group_.cases.empty()) return std::move(run_);
    group_.stop = StopReason::kInterrupted;
    group_.look = Look::kRunning;
    run_.at_work = group_.of_commands ? command_records(group_, environment)
                                      : case_records(group_, labels_, environment);
    return std::move(run_);
  }

 private:
  std::string source() const { return run_.path.string(); }

  void begin(const Json& line) {
    if (json_member_as<int>(line, kHeader, source()) != kForm)
      throw Error(source() + ": written by another version of headroom; show it with that version");
    run_.environment = json_member_as<Environment>(line, "environment", source());
    run_.folder = json_string(line, "folder", source());
    run_.is_whole_command = json_bool(line, "whole_command", source());
    labels_ = json_member_as<std::vector<std::string>>(line, "labels", source());
  }

  UnfinishedRun run_;
  std::vector<std::string> labels_;
  GroupResult group_;
};

std::size_t most_samples(const std::vector<Record>& records) {
  std::size_t most = 0;
  for (const Record& record : records) {
    std::size_t own = 0;
    for (const ProcessSamples& process : record.samples) own += process.values.size();
    most = std::max(most, own);
  }
  return most;
}

}  // namespace

void RunJournal::begin(const Environment& environment, std::vector<std::string> labels) {
  std::error_code error;
  header_ = {{kHeader, kForm},
             {"environment", json_of(environment)},
             {"folder", fs::current_path(error).string()},
             {"whole_command", std::ranges::find_if(environment.command,
                                                    [](const std::string& word) {
                                                      return word.find(kHidden) != std::string::npos;
                                                    }) == environment.command.end()},
             {"labels", labels}};
}

void RunJournal::write(const Json& line) {
  if (is_off_) return;
  // A missing line would corrupt the replay.
  is_off_ = true;
  const bool is_new = journal_ == nullptr;
  try_write([&] {
    if (is_new) {
      remove_old_ones();
      journal_ = std::make_unique<Journal>(folder_of_journals());
      journal_->append(dump_json(header_));
    }
    journal_->append(dump_json(line));
    is_off_ = false;
  });
  if (is_off_ && is_new) kept();
}

void RunJournal::note(const GroupResult& so_far) {
  if (group_ == nullptr) group_ = std::make_unique<GroupJournal>([this](const Json& line) { write(line); });
  title_ = so_far.title;
  group_->note(so_far);
}

void RunJournal::finish_group(const std::vector<Record>& records) {
  take_group(std::exchange(title_, {}), records);
  group_.reset();
}

void RunJournal::take_group(const std::string& title, const std::vector<Record>& records) {
  write({{kFinished, Json{{"title", title}, {"records", to_json_text(records)}}}});
}

void RunJournal::replace(const std::vector<Record>& records) {
  write({{kReplaced, to_json_text(records)}});
}

void RunJournal::kept() {
  if (journal_ != nullptr) journal_->remove();
  journal_.reset();
  is_off_ = true;
}

std::vector<Record> UnfinishedRun::records() const {
  std::vector<Record> all;
  for (const FinishedGroup& group : finished) std::ranges::copy(group.records, std::back_inserter(all));
  std::ranges::copy(at_work, std::back_inserter(all));
  return all;
}

std::string UnfinishedRun::sentence() const {
  std::string text = fmt::format("`{}` of {:%Y-%m-%d %H:%M} did not end: ", join(environment.command, " "),
                                 fmt::localtime(static_cast<std::time_t>(environment.timestamp)));
  text += counted(finished.size(), "group") + " finished";
  if (!at_work.empty()) text += fmt::format(", and {} rounds of the next", most_samples(at_work));
  if (damaged > 0) text += fmt::format("; {} bytes at its end are damaged", damaged);
  return text;
}

UnfinishedRun read_run_journal(const fs::path& path) {
  const JournalLines lines = read_journal(path);
  Replay replay(path);
  for (const std::string& line : lines.lines) replay.take(parse_json(line, path.string()));
  UnfinishedRun run = replay.result();
  run.damaged = lines.damaged;
  return run;
}

std::vector<fs::path> journals_of_running() {
  return running_journals(folder_of_journals());
}

UnfinishedRun newest_unfinished(const std::string& command) {
  const fs::path folder = folder_of_journals();
  const std::vector<fs::path> paths = unfinished_journals(folder);
  for (auto path = paths.rbegin(); path != paths.rend(); ++path) {
    UnfinishedRun run = read_run_journal(*path);
    const std::vector<std::string>& words = run.environment.command;
    if (command.empty() || (words.size() > 1 && words[1] == command)) return run;
  }
  throw Error(fmt::format("no unfinished run in {}: every `headroom{}` has ended", quote(folder.string()),
                          command.empty() ? "" : " " + command));
}

}  // namespace headroom::cli
