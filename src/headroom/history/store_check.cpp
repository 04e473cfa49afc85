// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <map>

#include "headroom/base/error.h"
#include "headroom/base/json.h"
#include "headroom/history/database.h"
#include "headroom/history/run_text.h"
#include "headroom/history/store.h"
#include "headroom/record/record_json.h"

namespace headroom {
namespace {

/// Columns that duplicate a record's content.
struct RecordColumns {
  SqlValue value, samples;
};

bool same(const SqlValue& a, const SqlValue& b) {
  if (a.index() != b.index()) return false;
  if (const double* number = std::get_if<double>(&a)) return *number == std::get<double>(b);
  if (const auto* whole = std::get_if<std::int64_t>(&a)) return *whole == std::get<std::int64_t>(b);
  return true;
}

RecordColumns columns_of(const Record& record) {
  return {stored_value(record), static_cast<std::int64_t>(sample_count(record))};
}

/// A run as stored in the database.
struct StoredContent {
  std::string environment_problem;                  ///< why it cannot be read; empty if it can
  std::map<std::int64_t, std::string> unreadable;   ///< position of a record -> why
  std::map<std::int64_t, RecordColumns> different;  ///< position -> expected columns
  RunText text;                                     ///< of all that can be read
  std::int64_t records = 0;                         ///< as counted in the run
  std::string digest;
};

StoredContent read_content(Database& database, std::int64_t run) {
  StoredContent content;
  const std::string where = fmt::format("run {}", run);
  content.environment_problem = where + ": its environment is missing";
  database.execute("SELECT records, digest FROM runs WHERE id = $1", {run}, [&](const SqlRow& row) {
    content.records = std::get<std::int64_t>(row[0]);
    content.digest = std::get<std::string>(row[1]);
  });
  database.execute("SELECT content FROM environments WHERE run = $1", {run}, [&](const SqlRow& row) {
    try {
      content.text.environment = unpack_text(std::get<Blob>(row[0]).bytes, where + ": environment");
      json_to<Environment>(parse_json(content.text.environment, where), JsonPath(where));
      content.environment_problem.clear();
    } catch (const Error& error) {
      content.environment_problem = error.what();
    }
  });
  database.execute("SELECT position, content, value, samples FROM records WHERE run = $1 ORDER BY position",
                   {run}, [&](const SqlRow& row) {
                     const auto position = std::get<std::int64_t>(row[0]);
                     const std::string what = fmt::format("{}: record {}", where, position);
                     try {
                       std::string packed = unpack_text(std::get<Blob>(row[1]).bytes, what);
                       const PaddedText padded(packed);
                       JsonStream stream(padded, what);
                       const RecordColumns columns =
                           columns_of(record_json::read_record(stream, what).record);
                       if (!same(columns.value, row[2]) || !same(columns.samples, row[3]))
                         content.different.emplace(position, columns);
                       content.text.records.push_back(std::move(packed));
                     } catch (const Error& error) {
                       content.unreadable.emplace(position, error.what());
                     }
                   });
  return content;
}

bool has_its_digest(const StoredContent& content) {
  return content.unreadable.empty() && digest_of(content.text) == content.digest;
}

std::vector<std::int64_t> all_runs(Database& database) {
  std::vector<std::int64_t> runs;
  database.execute("SELECT id FROM runs ORDER BY id", {},
                   [&runs](const SqlRow& row) { runs.push_back(std::get<std::int64_t>(row[0])); });
  return runs;
}

void remove_record(Database& database, std::int64_t run, std::int64_t position) {
  database.execute("DELETE FROM records WHERE run = $1 AND position = $2", {run, position});
}

void remove_run(Database& database, std::int64_t run) {
  for (const char* from : {"records WHERE run", "environments WHERE run", "runs WHERE id"})
    database.execute(fmt::format("DELETE FROM {} = $1", from), {run});
}

}  // namespace

std::vector<StoreDamage> Store::verify() {
  std::vector<StoreDamage> damages;
  for (const std::string& problem : database_->problems()) damages.push_back({std::nullopt, problem});
  for (const std::int64_t run : all_runs(*database_)) {
    const StoredContent content = read_content(*database_, run);
    const auto add = [&](std::string what) { damages.push_back({run, std::move(what)}); };
    if (!content.environment_problem.empty()) add(content.environment_problem);
    for (const auto& [position, why] : content.unreadable) add(why);
    for (const auto& [position, columns] : content.different)
      add(fmt::format("run {}: record {}: the series shows another value than the record has", run,
                      position));
    if (content.environment_problem.empty() && content.unreadable.empty() && !has_its_digest(content))
      add(fmt::format("run {}: it is not what was stored, though all of it can be read", run));
  }
  return damages;
}

RepairResult Store::repair() {
  RepairResult result;
  result.copy = database_->copy_beside();
  TransactionScope transaction(*database_, Database::Transaction::kAlone);
  for (const std::int64_t run : all_runs(*database_)) {
    const StoredContent content = read_content(*database_, run);
    const auto readable = static_cast<std::int64_t>(content.text.records.size());
    const auto unreadable = static_cast<std::int64_t>(content.unreadable.size());
    // If all records are there and readable, the altered one cannot be identified.
    const bool is_altered = unreadable == 0 && readable == content.records && !has_its_digest(content);
    if (!content.environment_problem.empty() || is_altered || readable == 0) {
      remove_run(*database_, run);
      ++result.runs_removed;
      result.records_removed += static_cast<std::size_t>(readable + unreadable);
      continue;
    }
    for (const auto& [position, why] : content.unreadable) remove_record(*database_, run, position);
    for (const auto& [position, columns] : content.different) {
      database_->execute("UPDATE records SET value = $1, samples = $2 WHERE run = $3 AND position = $4",
                         {columns.value, columns.samples, run, position});
    }
    result.records_removed += content.unreadable.size();
    result.records_mended += content.different.size();
    if (!has_its_digest(content)) {
      database_->execute("UPDATE runs SET records = $1, digest = $2 WHERE id = $3",
                         {readable, digest_of(content.text), run});
    }
  }
  database_->execute(
      "DELETE FROM series WHERE NOT EXISTS (SELECT 1 FROM records WHERE records.series = series.id)");
  transaction.commit();
  return result;
}

}  // namespace headroom
