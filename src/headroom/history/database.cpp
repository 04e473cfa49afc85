// SPDX-License-Identifier: Apache-2.0
#include "headroom/history/database.h"

#include <fmt/format.h>

#include "headroom/base/error.h"
#include "headroom/base/text.h"
#include "headroom/history/stored_rows.h"

namespace headroom {
namespace {

[[noreturn]] void throw_damage(const std::string& database) {
  throw Error(
      fmt::format("the history {}: damaged: a row does not match its checksum; headroom history verify lists "
                  "the damage, headroom history repair fixes it",
                  quote(database)));
}

constexpr const char* kRowCheck = "row_check BIGINT NOT NULL DEFAULT 0";

/// Covers all columns of a series, so that its rows are adjacent.
std::string index_of_series(std::int64_t version) {
  return fmt::format(
      "CREATE INDEX records_of_series ON records "
      "(series, time, run, position, value, low, high, confidence, samples{})",
      version > 1 ? ", row_check" : "");
}

void fill_checks(Database& database) {
  std::vector<SqlRow> checks;
  const auto keep = [&checks](std::size_t key_columns) {
    return [&checks, key_columns](const SqlRow& row, bool) {
      SqlRow& kept = checks.emplace_back(row.begin(), row.begin() + static_cast<std::ptrdiff_t>(key_columns));
      kept.emplace_back(row_check({row.data(), row.size() - 1}));
    };
  };
  const auto store = [&](const char* sql) {
    for (const SqlRow& check : checks) database.execute(sql, check);
    checks.clear();
  };
  visit_checked_rows(database, kSeriesRows, "", {}, keep(1));
  store("UPDATE series SET row_check = $2 WHERE id = $1");
  visit_checked_rows(database, kRunRows, "", {}, keep(1));
  std::vector<SqlValue> runs;
  for (const SqlRow& run : checks) runs.push_back(run.front());
  store("UPDATE runs SET row_check = $2 WHERE id = $1");
  for (const SqlValue& run : runs) {
    visit_checked_rows(database, kRecordRows, "WHERE r.run = $1", {run}, keep(2));
    store("UPDATE records SET row_check = $3 WHERE run = $1 AND position = $2");
  }
}

}  // namespace

std::int64_t Database::number(const std::string& sql) {
  std::int64_t result = 0;
  execute(sql, {}, [&result](const SqlRow& row) { result = std::get<std::int64_t>(row.at(0)); });
  return result;
}

void read_row(const std::string& database, const SqlRow& row,
              const std::function<void(const SqlRow&)>& reader) {
  try {
    reader(row);
  } catch (const std::bad_variant_access&) {
    throw_damage(database);
  } catch (const std::bad_optional_access&) {
    throw_damage(database);
  }
}

std::vector<std::string> schema_statements(const SqlDialect& dialect, std::int64_t version) {
  const std::string check = version > 1 ? fmt::format(", {}", kRowCheck) : "";
  return {
      "CREATE TABLE headroom_store (schema_version BIGINT NOT NULL, headroom_version TEXT NOT NULL)",
      fmt::format("INSERT INTO headroom_store VALUES ({}, '{}')", version, HEADROOM_VERSION),
      // content: the packed environment; the other columns duplicate frequently read parts.
      fmt::format("CREATE TABLE runs (id {}, time BIGINT NOT NULL, fingerprint TEXT NOT NULL, "
                  "git_sha TEXT NOT NULL, git_branch TEXT NOT NULL, git_repo TEXT NOT NULL, "
                  "headroom_version TEXT NOT NULL, command TEXT NOT NULL, records BIGINT NOT NULL, "
                  "digest TEXT NOT NULL{})",
                  dialect.new_id, check),
      // Separate, so that reading a series reads only small rows.
      fmt::format("CREATE TABLE environments (run BIGINT PRIMARY KEY REFERENCES runs (id), "
                  "content {} NOT NULL)",
                  dialect.blob),
      // Machines and units are never pooled.
      fmt::format("CREATE TABLE series (id {}, identity TEXT NOT NULL, fingerprint TEXT NOT NULL, "
                  "unit TEXT NOT NULL, name TEXT NOT NULL, metric TEXT NOT NULL, "
                  "lower_is_better BIGINT NOT NULL{}, UNIQUE (identity, fingerprint, unit))",
                  dialect.new_id, check),
      // value: NULL if not measured. content: the packed record.
      fmt::format("CREATE TABLE records (run BIGINT NOT NULL REFERENCES runs (id), "
                  "position BIGINT NOT NULL, series BIGINT NOT NULL REFERENCES series (id), "
                  "time BIGINT NOT NULL, value DOUBLE PRECISION, low DOUBLE PRECISION, "
                  "high DOUBLE PRECISION, confidence DOUBLE PRECISION, samples BIGINT NOT NULL, "
                  "content {} NOT NULL{}, PRIMARY KEY (run, position))",
                  dialect.blob, check),
      index_of_series(version),
      "CREATE INDEX runs_by_time ON runs (time, id)",
      "CREATE INDEX runs_by_digest ON runs (digest)",
  };
}

void migrate(Database& database) {
  TransactionScope transaction(database, Database::Transaction::kAlone);
  if (database.number("SELECT schema_version FROM headroom_store") < kStoreSchema) {
    for (const char* table : {"runs", "series", "records"})
      database.execute(fmt::format("ALTER TABLE {} ADD COLUMN {}", table, kRowCheck));
    database.execute("DROP INDEX records_of_series");
    fill_checks(database);
    database.execute(index_of_series(kStoreSchema));
    database.execute("UPDATE headroom_store SET schema_version = $1, headroom_version = $2",
                     {kStoreSchema, HEADROOM_VERSION});
    database.mark_schema(kStoreSchema);
    transaction.commit();
  }
  database.set_schema(kStoreSchema);
}

void refuse_strange_schema(const std::string& database, const std::string& what) {
  throw Error(
      fmt::format("{} is not a valid history: {}; nothing was read or changed: fix that, restore the history "
                  "from a copy, or name another place with --store or HEADROOM_STORE",
                  quote(database), what));
}

void require_known_schema(std::int64_t version, const std::string& database) {
  if (version >= 1 && version <= kStoreSchema) return;
  if (version > kStoreSchema) {
    throw Error(
        fmt::format("{} is a history of schema {}, written by a newer headroom; this one knows "
                    "schemas up to {}: use the newer one, or another --store",
                    quote(database), version, kStoreSchema));
  }
  throw Error(fmt::format(
      "{} is a history of schema {}, which does not exist; the file may be damaged: use another --store",
      quote(database), version));
}

void refuse_foreign_database(const std::string& database, const std::string& contents_text) {
  throw Error(
      fmt::format("{} is not a headroom history: {}; it was not changed: name another place with --store or "
                  "HEADROOM_STORE",
                  quote(database), contents_text));
}

}  // namespace headroom
