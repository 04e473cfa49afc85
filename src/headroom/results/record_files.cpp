// SPDX-License-Identifier: Apache-2.0
#include "headroom/results/record_files.h"

#include <fmt/format.h>

#include <cstdio>
#include <set>
#include <utility>

#include "headroom/base/error.h"
#include "headroom/base/files.h"
#include "headroom/base/text.h"
#include "headroom/console/option_table.h"
#include "headroom/console/output.h"
#include "headroom/history/store.h"
#include "headroom/record/formats.h"
#include "headroom/results/run_journal.h"

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
  const auto write = [&records](const std::string& path, const char* format) {
    return [&records, &path, format] {
      if (!path.empty() && path != kStdoutDevice) write_records(path, format_named(format), records);
    };
  };
  write_each({write(json_, "headroom-json"), write(oss_, "oss-v3")});
}

void RecordFiles::finish(const std::vector<Record>& records) const {
  write_each({[&] { write_so_far(records); },
              [&] {
                if (json_ == kStdoutDevice) write_records(json_, format_named("headroom-json"), records);
                if (oss_ == kStdoutDevice) write_records(oss_, format_named("oss-v3"), records);
              }});
}

bool RecordFiles::uses_stdout() const {
  return json_ == kStdoutDevice || oss_ == kStdoutDevice;
}

void write_if_possible(const std::function<void()>& write) {
  static std::set<std::string> told;
  try {
    write();
  } catch (const Error& error) {
    if (told.insert(error.what()).second) say("{}; measuring goes on", error.what());
  }
}

void write_each(std::initializer_list<std::function<void()>> writes) {
  std::string failures;
  for (const auto& write : writes) {
    try {
      write();
    } catch (const Error& error) {
      failures += (failures.empty() ? "" : "\n") + std::string(error.what());
    }
  }
  if (!failures.empty()) throw Error(failures);
}

void append_to_history(const std::vector<Record>& records, const std::string& store, Equal equal) {
  if (store.empty() || records.empty()) return;
  try {
    const auto history = open_store(store);
    for (const std::string& problem : deliver_outbox(*history)) say_sentence(problem);
    if (equal == Equal::kOnce) {
      history->append_if_new(records);
    } else {
      history->append(records);
    }
  } catch (const Error& error) {
    if (!is_remote(store)) throw;
    std::string file;
    try {
      file = put_into_outbox(records, store);
    } catch (const Error& also) {
      throw Error(fmt::format("{}; nor can the run wait for it: {}", error.what(), also.what()));
    }
    throw Error(fmt::format("{}; the run waits in {} and is delivered when the next one is kept there",
                            error.what(), in_quotes(file)));
  }
}

void keep_results(const std::vector<Record>& records, const std::string& store, RunJournal& journal,
                  const std::function<void()>& write_files) {
  std::string unkept;
  bool kept = !store.empty();
  try {
    append_to_history(records, store, Equal::kEach);
    if (kept) journal.kept();
  } catch (const Error& error) {
    kept = false;
    unkept = std::string("not kept in the history: ") + error.what();
    if (journal.holds_all()) {
      unkept += "; `headroom show @unfinished` has the results";
    } else if (journal.holds_something()) {
      unkept += "; `headroom show @unfinished` has the first of them";
    }
    if (store == default_store()) say_sentence(std::exchange(unkept, ""));
  }
  try {
    write_files();
  } catch (const Error& error) {
    throw Error((unkept.empty() ? "" : unkept + "\n") + error.what() +
                (kept ? "; the results are above, and in the history as @last" : "; the results are above"));
  }
  if (!unkept.empty()) throw Error(unkept);
  if (store.empty()) journal.kept();
}

void declare_record_files(OptionTable& table, std::string& json, std::string& oss) {
  table.add_option("--json", json, "all records with all samples ('-': standard output)")
      .completed_by(Completes::kFile);
  table.add_option("--oss", oss, "PyTorch OSS benchmark database records, schema v3")
      .completed_by(Completes::kFile);
  table.add_no_follow();
}

void declare_store(OptionTable& table, std::string& store, bool& no_store) {
  table.add_option("--store", store, "history to append to (default: HEADROOM_STORE, or the user's)")
      .completed_by(Completes::kFile);
  table.add_flag("--no-store", no_store, "keep no history of this run");
}

void settle_store(std::string& store, bool no_store) {
  if (no_store) {
    store.clear();
  } else if (store.empty()) {
    try {
      store = default_store();
    } catch (const Error& error) {
      say("no history is kept: {}, or give --store FILE or --no-store", error.what());
    }
  }
}

}  // namespace headroom::cli
