// SPDX-License-Identifier: Apache-2.0
#include "headroom/history/database.h"

#include <fmt/format.h>

#include "headroom/base/error.h"
#include "headroom/base/text.h"

namespace headroom {
namespace {

[[noreturn]] void tell_damage(const std::string& database) {
  throw Error(fmt::format(
      "the history {}: damaged: a row holds something else than was written there; headroom history verify "
      "tells of all, repair mends it",
      in_quotes(database)));
}

}  // namespace

void read_row(const std::string& database, const SqlRow& row,
              const std::function<void(const SqlRow&)>& reader) {
  try {
    reader(row);
  } catch (const std::bad_variant_access&) {
    tell_damage(database);
  } catch (const std::bad_optional_access&) {
    tell_damage(database);
  }
}

std::vector<std::string> schema_statements(const SqlDialect& dialect) {
  return {
      "CREATE TABLE headroom_store (schema_version BIGINT NOT NULL, headroom_version TEXT NOT NULL)",
      fmt::format("INSERT INTO headroom_store VALUES ({}, '{}')", kStoreSchema, HEADROOM_VERSION),
      // content: the whole environment, packed; the other columns duplicate frequently read parts.
      fmt::format("CREATE TABLE runs (id {}, time BIGINT NOT NULL, fingerprint TEXT NOT NULL, "
                  "git_sha TEXT NOT NULL, git_branch TEXT NOT NULL, git_repo TEXT NOT NULL, "
                  "headroom_version TEXT NOT NULL, command TEXT NOT NULL, records BIGINT NOT NULL, "
                  "digest TEXT NOT NULL)",
                  dialect.new_id),
      // Apart from the runs, so that reading a series reads small rows only.
      fmt::format("CREATE TABLE environments (run BIGINT PRIMARY KEY REFERENCES runs (id), "
                  "content {} NOT NULL)",
                  dialect.blob),
      // Machines and units are never pooled.
      fmt::format("CREATE TABLE series (id {}, identity TEXT NOT NULL, fingerprint TEXT NOT NULL, "
                  "unit TEXT NOT NULL, name TEXT NOT NULL, metric TEXT NOT NULL, "
                  "lower_is_better BIGINT NOT NULL, UNIQUE (identity, fingerprint, unit))",
                  dialect.new_id),
      // value: NULL if not measured. content: the whole record, packed.
      fmt::format("CREATE TABLE records (run BIGINT NOT NULL REFERENCES runs (id), "
                  "position BIGINT NOT NULL, series BIGINT NOT NULL REFERENCES series (id), "
                  "time BIGINT NOT NULL, value DOUBLE PRECISION, low DOUBLE PRECISION, "
                  "high DOUBLE PRECISION, confidence DOUBLE PRECISION, samples BIGINT NOT NULL, "
                  "content {} NOT NULL, PRIMARY KEY (run, position))",
                  dialect.blob),
      // Covers everything a series shows, with its rows adjacent, however many runs lie between them.
      "CREATE INDEX records_of_series ON records "  // NOLINT(bugprone-suspicious-missing-comma)
      "(series, time, run, position, value, low, high, confidence, samples)",
      "CREATE INDEX runs_by_time ON runs (time, id)",
      "CREATE INDEX runs_by_digest ON runs (digest)",
  };
}

void require_known_schema(std::int64_t version, const std::string& database) {
  if (version == kStoreSchema) return;
  if (version > kStoreSchema) {
    throw Error(
        fmt::format("{} is a history of schema {}, written by a newer headroom; this one knows "
                    "schemas up to {}: use the newer one, or another --store",
                    in_quotes(database), version, kStoreSchema));
  }
  throw Error(
      fmt::format("{} is a history of schema {}, which never was one; the file may be damaged: use "
                  "another --store",
                  in_quotes(database), version));
}

void refuse_foreign_database(const std::string& database, const std::string& what_it_holds) {
  throw Error(
      fmt::format("{} is not a history of headroom: {}; it was left as it is, name another place "
                  "with --store or HEADROOM_STORE",
                  in_quotes(database), what_it_holds));
}

}  // namespace headroom
