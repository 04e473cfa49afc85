// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/history_transfer.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <optional>

#include "cli/shared/max_memory.h"
#include "cli/shared/option_table.h"
#include "cli/shared/result_folder.h"
#include "cli/shared/say.h"
#include "headroom/base/error.h"
#include "headroom/base/files.h"
#include "headroom/base/text.h"
#include "headroom/base/units.h"
#include "headroom/history/store.h"
#include "headroom/record/codec.h"
#include "headroom/record/formats.h"

namespace headroom::cli {
namespace {

void add_store_option(OptionTable& table, std::string& store) {
  table.add_option("--store", store,
                   "file, or postgresql://USER@HOST/NAME (default: HEADROOM_STORE, else the user's)");
}

std::string counted(std::size_t count, const char* noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

/// Runs have one environment each; a file may hold several.
std::vector<std::vector<Record>> runs_of(std::vector<Record> records) {
  std::vector<std::vector<Record>> runs;
  for (Record& record : records) {
    const auto same = std::ranges::find_if(runs, [&record](const std::vector<Record>& run) {
      return run.front().environment == record.environment;
    });
    if (same == runs.end()) {
      runs.push_back({std::move(record)});
    } else {
      same->push_back(std::move(record));
    }
  }
  return runs;
}

std::uint64_t time_of_file(const std::string& path) {
  const auto changed = std::chrono::file_clock::to_sys(std::filesystem::last_write_time(path));
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::seconds>(changed.time_since_epoch()).count());
}

/// Other tools' files need not tell when they were made: then the file itself does. Returns whether it had
/// to.
bool give_time(std::vector<Record>& run, const std::string& path) {
  const auto& known = run.front().environment;
  if (known && known->timestamp != 0) return false;
  Environment environment = known ? *known : Environment{};
  environment.timestamp = time_of_file(path);
  const auto shared = std::make_shared<const Environment>(std::move(environment));
  for (Record& record : run) record.environment = shared;
  return true;
}

/// Those of a file; of a folder those of each file in it that holds results, and a warning for each other.
std::vector<FileResults> results_of(const std::string& operand) {
  std::error_code error;
  if (!std::filesystem::is_directory(operand, error)) return {{operand, read_records(operand)}};
  FolderResults results = results_in_folder(operand);
  for (const std::string& warning : results.warnings) say_sentence(warning);
  return std::move(results.files);
}

void append_runs(FileResults file, std::vector<std::vector<Record>>& runs) {
  for (std::vector<Record>& run : runs_of(std::move(file.records))) {
    if (give_time(run, file.path)) {
      say("{} does not say when it was measured; the time of the file is taken", file.path.string());
    }
    runs.push_back(std::move(run));
  }
}

/// "90d", "12w", or what parse_time_ns knows ("36h" it does not): seconds.
std::uint64_t parse_age(const std::string& text) {
  const std::optional<double> number =
      text.empty() ? std::nullopt : to_number(std::string_view(text).substr(0, text.size() - 1));
  if (number && *number >= 0) {
    constexpr double kDay = 86400;
    switch (text.back()) {
      case 'h':
        return static_cast<std::uint64_t>(*number * 3600);
      case 'd':
        return static_cast<std::uint64_t>(*number * kDay);
      case 'w':
        return static_cast<std::uint64_t>(*number * 7 * kDay);
      case 'y':
        return static_cast<std::uint64_t>(*number * 365 * kDay);
      default:
        break;
    }
  }
  throw Error("--older-than " + in_quotes(text) +
              " is no age; give hours, days, weeks or years: 36h, 90d, 12w, 1y");
}

std::uint64_t now() {
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch())
          .count());
}

}  // namespace

ExitCode history_export(const Arguments& arguments) {
  std::string place = default_store(), file;
  std::vector<std::string> references;
  OptionTable table("Writes runs of the history to a file of records.", "headroom history export");
  table.footer(
      "examples:\n  headroom history export all.json            every run\n"
      "  headroom history export last.json @last     one run\n"
      "  headroom history export - @12 @git:1a2b3c   to standard output\n");
  table.add_option("FILE", file, "where to; '-' is standard output")
      .completed_by(Completes::kFile)
      .required();
  table.add_option("RUN", references, "@last, @ID, @git:REVISION; every run when none is named")
      .completed_by(Completes::kRun)
      .take_all();
  add_store_option(table, place);
  table.add_no_follow();
  if (const auto done = parse_arguments(table, arguments)) return *done;
  if (file == "-") file = "/dev/stdout";
  require_writable(file);
  const auto store = open_store(place, StoreAccess::kRead);
  std::vector<std::int64_t> runs;
  for (const std::string& reference : references) runs.push_back(store->find_run(reference));
  if (references.empty()) {
    for (const StoredRun& run : store->runs()) runs.push_back(run.id);
  }
  const std::vector<Record> records = store->records(runs);
  write_file_atomically(file, to_json_text(records));
  print_text(fmt::format("{} of {} written to {}\n", counted(records.size(), "result"),
                         counted(runs.size(), "run"), file),
             stderr);
  return ExitCode::kFine;
}

ExitCode history_import(const Arguments& arguments) {
  std::string place = default_store(), max_memory;
  std::vector<std::string> files;
  OptionTable table("Adds files of results to the history; runs that are there already are left out.",
                    "headroom history import");
  table.footer(
      "examples:\n  headroom history import results/*.json\n"
      "  headroom history import results                 all files of results in the folder and below it\n"
      "  headroom history import all.json --store postgresql://me@server/benchmarks\n");
  table
      .add_option("FILE", files,
                  "any format that headroom reads; a folder: all *.json, *.jsonl and *.csv below it")
      .completed_by(Completes::kFile)
      .required()
      .take_all();
  add_store_option(table, place);
  declare_max_memory(table, max_memory);
  if (const auto done = parse_arguments(table, arguments)) return *done;
  // All are read before anything is stored: a mistake in the last file leaves nothing half done.
  std::vector<std::vector<Record>> runs;
  for (const std::string& operand : files) {
    auto read = within_memory(max_memory, operand, [&] { return results_of(operand); });
    for (FileResults& file : read) append_runs(std::move(file), runs);
  }
  if (runs.empty()) throw Error("there is no result in " + join(files, ", "));
  const auto store = open_store(place);
  std::size_t added = 0;
  for (const std::vector<Record>& run : runs) added += store->append_if_new(run).has_value() ? 1 : 0;
  print_text(fmt::format("{} added to {}, {} already there\n", counted(added, "run"), store->name(),
                         runs.size() - added),
             stdout);
  return ExitCode::kFine;
}

ExitCode history_prune(const Arguments& arguments) {
  std::string place = default_store(), age;
  std::optional<std::int64_t> keep;
  OptionTable table("Removes old results from the history.", "headroom history prune");
  table.footer(
      "examples:\n  headroom history prune --keep 500          the newest 500 results of each series\n"
      "  headroom history prune --older-than 90d    what is older than 90 days\n");
  const Option& keep_option = table.add_option("--keep", keep, "results to keep of each series, the newest")
                                  .range(1, std::int64_t{1} << 40);
  const Option& age_option = table.add_option("--older-than", age, "remove what is older: 36h, 90d, 12w, 1y");
  add_store_option(table, place);
  if (const auto done = parse_arguments(table, arguments)) return *done;
  if (keep_option.count + age_option.count == 0) {
    throw Error("nothing to prune by; give --keep N or --older-than AGE (headroom history prune --help)");
  }
  PruneRule rule;
  if (keep) rule.keep_last = static_cast<std::size_t>(*keep);
  if (!age.empty()) {
    const std::uint64_t seconds = parse_age(age), present = now();
    rule.older_than = present > seconds ? present - seconds : 0;
  }
  // An existing history only: pruning must not make one.
  open_store(place, StoreAccess::kRead);
  const auto store = open_store(place);
  const PruneResult result = store->prune(rule);
  print_text(fmt::format("{} removed from {}, and {} with nothing left\n", counted(result.records, "result"),
                         store->name(), counted(result.runs, "run")),
             stdout);
  return ExitCode::kFine;
}

ExitCode history_verify(const Arguments& arguments) {
  std::string place = default_store();
  OptionTable table("Holds all that the history has stored against its digests.", "headroom history verify");
  table.footer(
      "examples:\n  headroom history verify\nexit codes: 0 all is as it was stored, 1 something is "
      "damaged\n");
  add_store_option(table, place);
  if (const auto done = parse_arguments(table, arguments)) return *done;
  const auto store = open_store(place, StoreAccess::kRead);
  const std::vector<StoreDamage> damages = store->verify();
  std::string text;
  for (const StoreDamage& damage : damages) text += damage.what + "\n";
  text += damages.empty() ? fmt::format("{}: all of {} is as it was stored\n", store->name(),
                                        counted(store->runs().size(), "run"))
                          : fmt::format("{}: {}; headroom history repair removes or mends what is damaged\n",
                                        store->name(), counted(damages.size(), "problem"));
  print_text(text, stdout);
  return damages.empty() ? ExitCode::kFine : ExitCode::kNo;
}

ExitCode history_repair(const Arguments& arguments) {
  std::string place = default_store();
  OptionTable table("Removes from the history what cannot be read, and writes anew what stands twice.",
                    "headroom history repair");
  table.footer("examples:\n  headroom history repair      a file is copied first, and the copy named\n");
  add_store_option(table, place);
  if (const auto done = parse_arguments(table, arguments)) return *done;
  open_store(place, StoreAccess::kRead);
  const auto store = open_store(place);
  const RepairResult result = store->repair();
  if (!result.copy.empty()) say("what was there before is in {}", result.copy);
  print_text(
      fmt::format("{}: {} and {} removed, {} mended\n", store->name(), counted(result.runs_removed, "run"),
                  counted(result.records_removed, "result"), counted(result.records_mended, "result")),
      stdout);
  return ExitCode::kFine;
}

}  // namespace headroom::cli
