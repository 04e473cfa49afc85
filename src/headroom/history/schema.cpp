// SPDX-License-Identifier: Apache-2.0
#include "headroom/history/schema.h"

#include <fmt/format.h>

#include "headroom/base/error.h"
#include "headroom/base/text.h"

namespace headroom {

std::vector<std::string> schema_statements(const SqlDialect& dialect) {
  return {
      "CREATE TABLE headroom_store (schema_version BIGINT NOT NULL, headroom_version TEXT NOT NULL)",
      fmt::format("INSERT INTO headroom_store VALUES ({}, '{}')", kStoreSchema, HEADROOM_VERSION),
      // content: the whole environment, packed; the other columns repeat what is asked for often.
      fmt::format("CREATE TABLE runs (id {}, time BIGINT NOT NULL, fingerprint TEXT NOT NULL, "
                  "git_sha TEXT NOT NULL, git_branch TEXT NOT NULL, git_repo TEXT NOT NULL, "
                  "headroom_version TEXT NOT NULL, command TEXT NOT NULL, records BIGINT NOT NULL, "
                  "digest TEXT NOT NULL)",
                  dialect.new_id),
      // Apart from the runs, so that a series reads small rows only.
      fmt::format("CREATE TABLE environments (run BIGINT PRIMARY KEY REFERENCES runs (id), "
                  "content {} NOT NULL)",
                  dialect.blob),
      // Machines are never pooled, and neither are units.
      fmt::format("CREATE TABLE series (id {}, identity TEXT NOT NULL, fingerprint TEXT NOT NULL, "
                  "unit TEXT NOT NULL, name TEXT NOT NULL, metric TEXT NOT NULL, "
                  "lower_is_better BIGINT NOT NULL, UNIQUE (identity, fingerprint, unit))",
                  dialect.new_id),
      // value: NULL where nothing was measured. content: the whole record, packed.
      fmt::format("CREATE TABLE records (run BIGINT NOT NULL REFERENCES runs (id), "
                  "position BIGINT NOT NULL, series BIGINT NOT NULL REFERENCES series (id), "
                  "time BIGINT NOT NULL, value DOUBLE PRECISION, low DOUBLE PRECISION, "
                  "high DOUBLE PRECISION, confidence DOUBLE PRECISION, samples BIGINT NOT NULL, "
                  "content {} NOT NULL, PRIMARY KEY (run, position))",
                  dialect.blob),
      // Holds all that a series shows: its rows stand together, however many runs lie between them.
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
