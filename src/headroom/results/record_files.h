// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "headroom/console/completion.h"
#include "headroom/record/formats.h"
#include "headroom/record/record.h"

namespace headroom {

struct GateReport;

}  // namespace headroom

namespace headroom::cli {

class RunJournal;

using Exports = std::vector<std::pair<std::string, std::string>>;
using GateReporter = std::function<GateReport(const std::vector<Record>&)>;

class RecordFiles {
 public:
  using Write = std::function<void(const std::string& path, const std::vector<Record>& records)>;

  /// Empty: no file; "-": standard output. Throws Error as add().
  RecordFiles(const std::string& json, const std::string& oss);

  /// Adds an option's file, unless `path` is empty. Throws Error if it cannot be written, or is another
  /// option's; call before measuring. `needs_results`: not written until something is measured.
  void add(const std::string& option, const std::string& path, const Format& format,
           bool needs_results = false);
  void add(const std::string& option, const std::string& path, Write write);
  /// Adds --export's files: results, or with `report` a gate's answer (gate_forms()), at the end only. Throws
  /// Error as add(), and for an unknown format.
  void add_exports(const Exports& exports, const GateReporter& report = nullptr);

  /// Leaves out standard output and appending formats.
  void write_partial(const std::vector<Record>& records) const { write(records, false); }
  void finish(const std::vector<Record>& records) const { write(records, true); }

  bool uses_stdout() const;

 private:
  struct File {
    std::string option, path;
    const Format* format;  ///< or null
    Write write;
    bool once = false;  ///< at the end
  };

  void add(File file);
  void write(const std::vector<Record>& records, bool is_last) const;

  std::vector<File> files_;
};

/// Prints the first error: measuring matters more.
void try_write(const std::function<void()>& write);

/// Calls all, even if some fail. Throws Error with all failures.
void run_writes(const std::vector<std::function<void()>>& writes);

/// Stores results in the history (none if `store` is empty) and the files, each even if the other fails, then
/// removes the journal. Throws Error if a file or a requested store failed; a failing default history gives a
/// warning.
void store_results(const std::vector<Record>& records, const std::string& store, RunJournal& journal,
                   const std::function<void()>& write_files);

/// For a run already in the history.
enum class Equal { kEach, kOnce };

/// Appends after pending runs (history/store.h); no-op if `store` is empty. Throws Error if the database is
/// unavailable; the run then waits in a file.
void append_to_history(const std::vector<Record>& records, const std::string& store, Equal equal);

class OptionTable;

void declare_record_files(OptionTable& table, std::string& json, std::string& oss);

enum class Exported { kResults, kGate, kBoth };
void declare_exports(OptionTable& table, Exports& exports, Exported what);

void declare_store(OptionTable& table, std::string& store, bool& no_store);

/// Sets `store` to the named one, the default, or empty without a history.
void resolve_store(std::string& store, bool no_store);

/// Regular files, unordered. Throws Error if the folder cannot be listed.
std::vector<std::filesystem::path> files_below(
    const std::filesystem::path& folder, const std::function<bool(const std::filesystem::path&)>& is_wanted);

struct FileResults {
  std::filesystem::path path;
  std::vector<Record> records;
};

struct FolderResults {
  std::vector<FileResults> files;
  std::vector<std::string> warnings;  ///< unreadable files, a sentence each
};

/// Declares --from, the format of other tools' files.
void declare_format(OptionTable& table, std::string& from);

/// Reads one file. `from`: its format; empty: detected. Throws Error.
FileResults results_of_file(const std::filesystem::path& path, const std::string& from);

/// *.json, *.jsonl and *.csv below the folder, also .gz and .zst, in path order. Unreadable files give a
/// warning; throws Error if none can be read.
FolderResults results_in_folder(const std::filesystem::path& folder, const std::string& from = {});

/// Operand for the newest command that did not finish.
inline constexpr const char* kUnfinished = "@unfinished";

/// An operand of `headroom diff`.
struct OperandRecords {
  std::vector<FileResults> files;
  std::vector<std::string> warnings;  ///< unreadable files, a sentence each

  std::vector<Record> take_records();
};

/// Reads a file of any known format, a folder (see results_in_folder), a run of the history `store` ("@last",
/// "@ID", "@git:REV"), or kUnfinished. Throws Error, also above --max-memory.
OperandRecords records_of_operand(const std::string& operand, const std::string& store,
                                  const std::string& max_memory, const std::string& from = {});

/// Adds the newest runs as "@ID"; a ValueSource.
void add_run_candidates(Completes what, const Arguments& words, Candidates& found);

}  // namespace headroom::cli
