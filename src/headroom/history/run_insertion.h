// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "headroom/history/database.h"
#include "headroom/record/record.h"

namespace headroom {

/// A run in the form in which it is stored, made before the database is locked.
struct RunText {
  std::string environment;
  std::vector<std::string> records;
};

/// Throws std::invalid_argument where there are no records, or records of two environments.
RunText run_text(const std::vector<Record>& records);

/// What insert_run inserted. Empty where there is no such run. Throws Error where it is damaged: where it
/// cannot be unpacked, or has another digest than it had.
RunText stored_run_text(Database& database, std::int64_t run);
/// The same, whatever its digest is: what prune left of it.
RunText shortened_run_text(Database& database, std::int64_t run);

/// Equal for equal runs.
std::string digest_of(const RunText& run);

/// What the column "value" of a record repeats of its content: NULL where nothing was measured.
SqlValue stored_value(const Record& record);

/// Inserts a run and its series, within a transaction of the caller; returns its id.
std::int64_t insert_run(Database& database, const std::vector<Record>& records, const RunText& text);

}  // namespace headroom
