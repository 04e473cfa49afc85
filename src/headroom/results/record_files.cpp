// SPDX-License-Identifier: Apache-2.0
#include "headroom/results/record_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <new>
#include <set>
#include <utility>

#include "headroom/base/error.h"
#include "headroom/base/files.h"
#include "headroom/base/text.h"
#include "headroom/compare/gate_outputs.h"
#include "headroom/console/interrupt.h"
#include "headroom/console/max_memory.h"
#include "headroom/console/option_table.h"
#include "headroom/console/output.h"
#include "headroom/history/store.h"
#include "headroom/record/formats.h"
#include "headroom/results/run_journal.h"

namespace headroom::cli {
namespace {

constexpr const char* kStdoutDevice = "/dev/stdout";

namespace fs = std::filesystem;

bool is_result_file(const fs::path& path) {
  std::string name = path.filename().string();
  for (const char* packed : {".gz", ".zst"}) {
    if (name.ends_with(packed)) name.resize(name.size() - std::string_view(packed).size());
  }
  return name.ends_with(".json") || name.ends_with(".jsonl") || name.ends_with(".csv");
}

namespace fs = std::filesystem;

OperandRecords read_operand(const std::string& operand, const std::string& store, const std::string& from) {
  OperandRecords found;
  if (operand == kUnfinished) {
    const UnfinishedRun run = newest_unfinished();
    found.files.push_back({operand, run.records()});
    found.warnings = {run.sentence()};
  } else if (operand.starts_with("@")) {
    const auto history = open_store(store.empty() ? default_store() : store, StoreAccess::kRead);
    found.files.push_back({operand, history->records(history->find_run(operand))});
  } else if (fs::is_directory(operand)) {
    FolderResults results = results_in_folder(operand, from);
    found = {std::move(results.files), std::move(results.warnings)};
  } else {
    found.files.push_back(results_of_file(operand, from));
  }
  return found;
}

std::string export_names(Exported what) {
  std::vector<std::string> names;
  for (const GateForm& form : gate_forms()) {
    if (what != Exported::kResults) names.emplace_back(form.name);
  }
  for (const Format& format : all_formats()) {
    if (what != Exported::kGate && format.write != nullptr) names.emplace_back(format.name);
  }
  return join(names, ", ");
}

/// GitHub shows this file on the page of the run.
void append_step_summary(const GateReport& report) {
  const char* path = std::getenv("GITHUB_STEP_SUMMARY");  // NOLINT(concurrency-mt-unsafe)
  if (path == nullptr || *path == '\0') return;
  std::ofstream file(path, std::ios::app);
  file << gate_comment(report) << std::flush;
  if (!file) throw Error(fmt::format("cannot write the step summary {} (GITHUB_STEP_SUMMARY)", quote(path)));
}

}  // namespace

RecordFiles::RecordFiles(const std::string& json, const std::string& oss) {
  add("--json", json, format_named("headroom-json"));
  add("--oss", oss, format_named("oss-v3"));
}

void RecordFiles::add(const std::string& option, const std::string& path, const Format& format,
                      bool needs_results) {
  add({option, path, &format, [=, &format](const std::string& file, const std::vector<Record>& records) {
         if (!needs_results || any_outcome(records, Outcome::Kind::kMeasured))
           write_records(file, format, records);
       }});
}

void RecordFiles::add(const std::string& option, const std::string& path, Write write) {
  add({option, path, nullptr, std::move(write)});
}

void RecordFiles::add_exports(const Exports& exports, const GateReporter& report) {
  for (const auto& [name, path] : exports) {
    const auto form = std::ranges::find(gate_forms(), name, &GateForm::name);
    if (form == gate_forms().end()) {
      const Format& format = format_named(name);
      if (format.write == nullptr)
        throw Error("--export " + name + ": cannot write this format, only read it; headroom writes " +
                    export_names(Exported::kResults));
      // Some formats cannot represent an empty result.
      add("--export " + name, path, format, true);
      continue;
    }
    if (!report)
      throw Error("--export " + name +
                  " writes the answer of a gate: give --gate, too, to headroom ab or diff");
    add({"--export " + name, path, nullptr,
         [form, report](const std::string& file, const std::vector<Record>& records) {
           const GateReport answer = report(records);
           write_file_atomically(file, form->write(answer));
           if (form->name == std::string_view("github")) append_step_summary(answer);
         },
         true});
  }
}

void RecordFiles::add(File file) {
  if (file.path.empty()) return;
  const std::string given = std::exchange(file.path, file.path == "-" ? kStdoutDevice : file.path);
  for (const File& other : files_) {
    const bool both_append = file.format != nullptr && file.format == other.format && file.format->appends;
    if (other.path != file.path || both_append) continue;
    throw Error(fmt::format("{} and {} name the same file, {}: give each its own", other.option, file.option,
                            quote(given)));
  }
  require_writable(file.path);
  file.once = file.once || file.path == kStdoutDevice || (file.format != nullptr && file.format->appends);
  files_.push_back(std::move(file));
}

void RecordFiles::write(const std::vector<Record>& records, bool is_last) const {
  std::vector<std::function<void()>> writes;
  for (const File& file : files_) {
    if (is_last || !file.once) writes.emplace_back([&] { file.write(file.path, records); });
  }
  run_writes(writes);
}

bool RecordFiles::uses_stdout() const {
  return std::ranges::find(files_, kStdoutDevice, &File::path) != files_.end();
}

void try_write(const std::function<void()>& write) {
  static std::set<std::string> reported;
  try {
    write();
  } catch (const Error& error) {
    if (reported.insert(error.what()).second) print_message("{}; measuring continues", error.what());
  }
}

void run_writes(const std::vector<std::function<void()>>& writes) {
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
    StoreWaiting waiting;
    waiting.is_interrupted = was_interrupted;
    const auto history = open_store(store, StoreAccess::kReadWrite, waiting);
    for (const std::string& problem : deliver_outbox(*history)) print_sentence(problem);
    if (equal == Equal::kOnce) {
      history->append_if_new(records);
    } else {
      history->append(records);
    }
  } catch (const Error& error) {
    if (!is_remote(store) && dynamic_cast<const StoreBusy*>(&error) == nullptr) throw;
    std::string file;
    try {
      file = put_into_outbox(records, store);
    } catch (const Error& also) {
      throw Error(fmt::format("{}; cannot queue the run either: {}", error.what(), also.what()));
    }
    throw Error(
        fmt::format("{}; the run is queued in {} and stored with the next one", error.what(), quote(file)));
  }
}

void store_results(const std::vector<Record>& records, const std::string& store, RunJournal& journal,
                   const std::function<void()>& write_files) {
  std::string unkept;
  bool kept = !store.empty();
  // Readers of the results do not wait for the history.
  std::fflush(stdout);
  try {
    append_to_history(records, store, Equal::kEach);
    if (kept) journal.kept();
  } catch (const Error& error) {
    kept = false;
    unkept = std::string("not stored in the history: ") + error.what();
    if (journal.is_complete()) {
      unkept += "; `headroom show @unfinished` shows the results";
    } else if (journal.is_started()) {
      unkept += "; `headroom show @unfinished` shows the first of them";
    }
    if (store == default_store()) print_sentence(std::exchange(unkept, ""));
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
  table.add_option("--json", json, "write all records with all samples ('-': standard output)")
      .completed_by(Completes::kFile);
  table.add_option("--oss", oss, "write PyTorch OSS benchmark database records, schema v3")
      .completed_by(Completes::kFile);
  table.add_no_follow();
}

void declare_exports(OptionTable& table, Exports& exports, Exported what) {
  table
      .add_option("--export", exports,
                  fmt::format("write FILE as FORMAT: {}; may be repeated", export_names(what)))
      .type_name("FORMAT FILE")
      .repeated();
}

void declare_store(OptionTable& table, std::string& store, bool& no_store) {
  table.add_option("--store", store, "append to this history (default: HEADROOM_STORE, or the user's)")
      .completed_by(Completes::kFile);
  table.add_flag("--no-store", no_store, "do not store this run in the history");
}

void resolve_store(std::string& store, bool no_store) {
  if (no_store) {
    store.clear();
  } else if (store.empty()) {
    try {
      store = default_store();
    } catch (const Error& error) {
      print_message("cannot store runs in a history: {}, or give --store FILE or --no-store", error.what());
    }
  }
}

namespace fs = std::filesystem;

std::vector<fs::path> files_below(const fs::path& folder,
                                  const std::function<bool(const fs::path&)>& is_wanted) {
  std::vector<fs::path> files;
  try {
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder)) {
      if (entry.is_regular_file() && is_wanted(entry.path())) files.push_back(entry.path());
    }
  } catch (const fs::filesystem_error& error) {
    throw Error(folder.string() + ": cannot be listed: " + error.code().message());
  }
  return files;
}

void declare_format(OptionTable& table, std::string& from) {
  table.add_option("--from", from, "read every file as this format: " + join(readable_formats(), ", "))
      .type_name("FORMAT")
      .one_of(readable_formats());
}

FileResults results_of_file(const fs::path& path, const std::string& from) {
  return {path, read_records(path, from.empty() ? nullptr : &format_named(from))};
}

FolderResults results_in_folder(const fs::path& folder, const std::string& from) {
  FolderResults found;
  std::vector<fs::path> files = files_below(folder, is_result_file);
  std::ranges::sort(files);
  if (files.empty()) throw Error(folder.string() + ": no *.json, *.jsonl or *.csv file in this folder");
  for (const fs::path& file : files) {
    try {
      found.files.push_back(results_of_file(file, from));
    } catch (const Error& error) {
      found.warnings.push_back(std::string(error.what()) + "; left out");
    } catch (const std::bad_alloc&) {
      found.warnings.push_back(file.string() + ": needs more memory than --max-memory; left out");
    }
  }
  if (found.files.empty()) {
    throw Error(fmt::format("{}: none of {} files can be read; the first: {}", folder.string(), files.size(),
                            found.warnings.front()));
  }
  return found;
}

std::vector<Record> OperandRecords::take_records() {
  std::vector<Record> records;
  if (files.size() == 1) return std::move(files.front().records);
  for (FileResults& file : files) std::ranges::move(file.records, std::back_inserter(records));
  return records;
}

OperandRecords records_of_operand(const std::string& operand, const std::string& store,
                                  const std::string& max_memory, const std::string& from) {
  OperandRecords found =
      with_memory_limit(max_memory, operand, [&] { return read_operand(operand, store, from); });
  if (std::ranges::all_of(found.files, [](const FileResults& file) { return file.records.empty(); }))
    throw Error(operand + ": holds no results");
  return found;
}

void add_run_candidates(Completes what, const Arguments&, Candidates& found) {
  if (what != Completes::kRun && what != Completes::kFileOrRun) return;
  constexpr std::size_t kNewest = 20;
  found.words.push_back({"@last", "the last run"});
  found.words.push_back({"@unfinished", "the results of the newest killed command"});
  for (const StoredRun& run : open_store(default_store(), StoreAccess::kRead)->runs(kNewest))
    found.words.push_back({"@" + std::to_string(run.id), run.command});
}

}  // namespace headroom::cli
