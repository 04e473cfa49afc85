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

/// The columns repeat parts of the packed runs; the check validates them without unpacking.
struct CheckedRows {
  const char* what;  ///< for messages, before the first column
  const char* columns;
  const char* check;
  const char* tables;
};

inline constexpr CheckedRows kRunRows{
    "run", "id, time, fingerprint, git_sha, git_branch, git_repo, headroom_version, command, records, digest",
    "row_check", "runs"};
inline constexpr CheckedRows kSeriesRows{
    "series", "id, identity, fingerprint, unit, name, metric, lower_is_better", "row_check", "series"};
/// Includes columns of the value's run.
inline constexpr CheckedRows kRecordRows{"a result of run",
                                         "r.run, r.position, r.series, r.time, r.value, r.low, r.high, "
                                         "r.confidence, r.samples, runs.git_sha, runs.git_branch, "
                                         "runs.headroom_version",
                                         "r.row_check", "records r LEFT JOIN runs ON runs.id = r.run"};
/// Columns of kRecordRows in the table records.
inline constexpr std::size_t kOwnRecordColumns = 9;

/// Differs for every change of a single column.
std::int64_t row_check(std::span<const SqlValue> columns);

/// `reader` gets each row, its check last, and whether the check matches; the NULL of schema 1 does. `where`:
/// the rest of the statement.
void visit_checked_rows(Database& database, const CheckedRows& rows, const std::string& where,
                        const SqlRow& parameters, const std::function<void(const SqlRow&, bool)>& reader);

/// Throws Error for a row whose check does not match.
void read_rows(Database& database, const CheckedRows& rows, const std::string& where,
               const SqlRow& parameters, const std::function<void(const SqlRow&)>& reader);

/// Rows computed from the content of a run, without checks.
SqlRow run_row(std::int64_t id, const Environment& environment, std::size_t records,
               const std::string& digest);
SqlRow record_row(const Record& record, const Environment& environment, std::int64_t run,
                  const SqlValue& position, std::int64_t series);
/// identity, fingerprint, unit, name, metric, lower_is_better of each record of a run with one environment.
std::vector<SqlRow> series_rows(const std::vector<Record>& records);

/// Ignores the check of schema 1.
bool is_row(const SqlRow& stored, SqlRow expected);

/// 1, 0, or -1 if unknown.
std::int64_t lower_column(Direction direction);
Direction direction_of_column(std::int64_t lower);

}  // namespace headroom
