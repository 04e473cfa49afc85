// SPDX-License-Identifier: Apache-2.0
#include "headroom/history/database.h"
#include "headroom/history/packed_text.h"
#include "headroom/history/run_insertion.h"
#include "headroom/history/store.h"

namespace headroom {
namespace {

std::int64_t count(Database& database, const std::string& table) {
  std::int64_t rows = 0;
  database.execute("SELECT COUNT(*) FROM " + table, {},
                   [&rows](const SqlRow& row) { rows = std::get<std::int64_t>(row[0]); });
  return rows;
}

/// Runs that lost records count what is left, and become what an export of them is: importing that again must
/// find them equal.
void refresh_shortened_runs(Database& database) {
  std::vector<std::int64_t> shortened;
  database.execute(
      "SELECT id FROM runs WHERE records <> (SELECT COUNT(*) FROM records WHERE records.run = runs.id)", {},
      [&shortened](const SqlRow& row) { shortened.push_back(std::get<std::int64_t>(row[0])); });
  for (const std::int64_t run : shortened) {
    const RunText text = shortened_run_text(database, run);
    database.execute("UPDATE runs SET records = $1, digest = $2 WHERE id = $3",
                     {static_cast<std::int64_t>(text.records.size()), digest_of(text), run});
  }
}

}  // namespace

PruneResult Store::prune(const PruneRule& rule) {
  TransactionScope transaction(*database_, Database::Transaction::kAlone);
  const std::int64_t runs_before = count(*database_, "runs"), records_before = count(*database_, "records");
  if (rule.older_than) {
    database_->execute("DELETE FROM records WHERE time < $1", {static_cast<std::int64_t>(*rule.older_than)});
  }
  if (rule.keep_last) {
    database_->execute(
        "DELETE FROM records WHERE (run, position) IN (SELECT run, position FROM (SELECT run, position, "
        "ROW_NUMBER() OVER (PARTITION BY series ORDER BY time DESC, run DESC, position DESC) AS place "
        "FROM records) ranked WHERE place > $1)",
        {static_cast<std::int64_t>(*rule.keep_last)});
  }
  refresh_shortened_runs(*database_);
  database_->execute("DELETE FROM environments WHERE run IN (SELECT id FROM runs WHERE records = 0)");
  database_->execute("DELETE FROM runs WHERE records = 0");
  database_->execute(
      "DELETE FROM series WHERE NOT EXISTS (SELECT 1 FROM records WHERE records.series = series.id)");
  const PruneResult result{static_cast<std::size_t>(runs_before - count(*database_, "runs")),
                           static_cast<std::size_t>(records_before - count(*database_, "records"))};
  transaction.commit();
  if (result.records > 0) database_->compact();
  return result;
}

}  // namespace headroom
