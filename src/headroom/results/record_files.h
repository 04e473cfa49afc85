// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <initializer_list>
#include <string>
#include <vector>

#include "headroom/console/completion.h"
#include "headroom/record/record.h"

namespace headroom::cli {

class RunJournal;

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

/// Calls `write`, which writes files with what was measured so far; where it cannot, that is said once, and
/// measuring goes on: results are worth more than a file, which is written again at the end.
void write_if_possible(const std::function<void()>& write);

/// Calls all of `writes`, each of which writes files: one that cannot be written keeps none of the others
/// from it. Throws Error with what could not be, a line each.
void write_each(std::initializer_list<std::function<void()>> writes);

/// What a command that measured ends with, once its results are on the terminal: the history (nothing where
/// `store` is empty), then the files. What cannot be kept in one place is still kept in the others. Throws
/// Error, saying where the results are, where a file or a store that was asked for could not be written; a
/// history that is kept by default is only said to have failed. The journal goes once they are in the
/// history, or in the files where no history is wanted.
void keep_results(const std::vector<Record>& records, const std::string& store, RunJournal& journal,
                  const std::function<void()>& write_files);

/// What becomes of a run that is in the history already.
enum class Equal { kEach, kOnce };

/// Appends to the history, after what waited for it (history/store.h); nothing where `store` is empty. Where
/// a database cannot be had the run waits in a file, and the error says so. Throws Error.
void append_to_history(const std::vector<Record>& records, const std::string& store, Equal equal);

class OptionTable;

/// --json and --oss, of every command that makes records.
void declare_record_files(OptionTable& table, std::string& json, std::string& oss);

/// --store and --no-store.
void declare_store(OptionTable& table, std::string& store, bool& no_store);

/// What they come to: the store that was named, else the default one; empty where no history is to be kept.
void settle_store(std::string& store, bool no_store);

/// The regular files below a folder that are wanted, in no order. Throws Error where it cannot be listed.
std::vector<std::filesystem::path> files_below(
    const std::filesystem::path& folder, const std::function<bool(const std::filesystem::path&)>& is_wanted);

/// The records of one file.
struct FileResults {
  std::filesystem::path path;
  std::vector<Record> records;
};

struct FolderResults {
  std::vector<FileResults> files;
  std::vector<std::string> warnings;  ///< files that could not be read, each a sentence
};

/// --from, of every command that reads files of other tools: the format to read them as.
void declare_from(OptionTable& table, std::string& from);

/// The records of one file, of the format `from`, or if empty of the one that its content has. Throws Error.
FileResults results_of_file(const std::filesystem::path& path, const std::string& from);

/// All *.json, *.jsonl and *.csv in the folder and below it, also as .gz and .zst, in the order of their
/// paths, of any format that headroom reads, or of the format `from`. A file that cannot be read gives a
/// warning. Throws Error: no such file, none that can be read.
FolderResults results_in_folder(const std::filesystem::path& folder, const std::string& from = {});

/// Names the results of the newest command that measured and did not end.
inline constexpr const char* kUnfinished = "@unfinished";

/// What an operand of `headroom diff` gave.
struct OperandRecords {
  std::vector<FileResults> files;     ///< one, or those of a folder; a run of the history has its name
  std::vector<std::string> warnings;  ///< files of a folder that could not be read, each a sentence

  /// Takes the records of all files, in order.
  std::vector<Record> take_records();
};

/// A file of any format that headroom reads; or a folder: all *.json, *.jsonl and *.csv in it and below, also
/// as .gz and .zst, in the order of their names; or "@last", "@ID", "@git:REV" for a run of the history
/// `store`, or kUnfinished. Files of a folder that cannot be read give a warning. Throws Error: no such file,
/// nothing in it that can be read, no records, no history, more memory needed than --max-memory allows.
/// `from`: the format of files, as given to --from.
OperandRecords records_of_operand(const std::string& operand, const std::string& store,
                                  const std::string& max_memory, const std::string& from = {});

/// A ValueSource that adds the newest runs of the history, as "@ID".
void add_run_candidates(Completes what, const Arguments& words, Candidates& found);

}  // namespace headroom::cli
