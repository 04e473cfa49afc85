// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "headroom/history/database.h"
#include "headroom/record/record.h"

namespace headroom {

/// Rows of a table that are read with their check, which follows the columns: what runs and series show
/// repeats parts of the packed runs, and the check tells without unpacking that it still is what was written.
struct CheckedRows {
  const char* what;  ///< in messages, before the first column
  const char* columns;
  const char* check;
  const char* tables;
};

inline constexpr CheckedRows kRunRows{
    "run", "id, time, fingerprint, git_sha, git_branch, git_repo, headroom_version, command, records, digest",
    "row_check", "runs"};
inline constexpr CheckedRows kSeriesRows{
    "series", "id, identity, fingerprint, unit, name, metric, lower_is_better", "row_check", "series"};
/// With what a series shows of the run of each value.
inline constexpr CheckedRows kRecordRows{"a result of run",
                                         "r.run, r.position, r.series, r.time, r.value, r.low, r.high, "
                                         "r.confidence, r.samples, runs.git_sha, runs.git_branch, "
                                         "runs.headroom_version",
                                         "r.row_check", "records r LEFT JOIN runs ON runs.id = r.run"};
/// Columns of kRecordRows that are in the table records.
inline constexpr std::size_t kOwnRecordColumns = 9;

/// Returns the check of a row of these columns. Notices every change of one column.
std::int64_t row_check(std::span<const SqlValue> columns);

/// Calls `reader` with each row, its check last, and whether the check holds. Databases of schema 1 have no
/// checks: NULL, which holds. `where`: the rest of the statement.
void look_at_rows(Database& database, const CheckedRows& rows, const std::string& where,
                  const SqlRow& parameters, const std::function<void(const SqlRow&, bool)>& reader);

/// Calls `reader` with each row. Throws Error if one is not as it was written.
void read_rows(Database& database, const CheckedRows& rows, const std::string& where,
               const SqlRow& parameters, const std::function<void(const SqlRow&)>& reader);

/// The rows that follow from the content of a run, without checks.
SqlRow run_row(std::int64_t id, const Environment& environment, std::size_t records,
               const std::string& digest);
SqlRow record_row(const Record& record, const Environment& environment, std::int64_t run,
                  const SqlValue& position, std::int64_t series);
/// Without the id: identity, fingerprint, unit, name, metric, lower_is_better. Of each record of a run, which
/// all have one environment.
std::vector<SqlRow> series_rows(const std::vector<Record>& records);

/// Returns whether a stored row and its check are what follows from the content; the check of schema 1 is not
/// compared.
bool is_row(const SqlRow& stored, SqlRow expected);

/// The column "lower_is_better" of a series: 1, 0, or -1 if nobody knows.
std::int64_t lower_column(Direction direction);
Direction direction_of_column(std::int64_t lower);

}  // namespace headroom
