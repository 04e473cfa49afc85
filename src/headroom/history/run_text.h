// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "headroom/history/database.h"
#include "headroom/record/record.h"

namespace headroom {

/// Compresses `text` to one Zstandard frame (RFC 8878) with a checksum.
std::string pack_text(std::string_view text);

/// Decompresses the result of pack_text. `source` names it in errors. Throws Error if the frame is damaged.
std::string unpack_text(std::string_view packed, const std::string& source);

/// Returns 32 hexadecimal digits: 128-bit FNV-1a. Not safe against deliberate collisions.
std::string digest_of(std::string_view text);

/// A run as stored, prepared before the database is locked.
struct RunText {
  std::string environment;
  std::vector<std::string> records;
};

/// Throws std::invalid_argument if there are no records, or they have different environments.
RunText run_text(const std::vector<Record>& records);

/// Returns the text that insert_run stored; empty if there is no such run. Throws Error if it does not
/// decompress or its digest is wrong.
RunText stored_run_text(Database& database, std::int64_t run);
/// Returns the text without checking its digest, which is wrong after prune.
RunText shortened_run_text(Database& database, std::int64_t run);

/// Equal for equal runs.
std::string digest_of(const RunText& run);

/// Returns the id of the series of these columns (series_rows()), which is made if there is none.
std::int64_t series_id(Database& database, const SqlRow& columns);

/// Writes the row of a run anew, within the caller's transaction, for its content as it is now.
void update_run(Database& database, std::int64_t run, const Environment& environment, const RunText& text);

/// Inserts a run and its series within the caller's transaction, and returns the run's id.
std::int64_t insert_run(Database& database, const std::vector<Record>& records, const RunText& text);

}  // namespace headroom
