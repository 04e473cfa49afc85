// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "headroom/history/database.h"
#include "headroom/record/record.h"

namespace headroom {

/// Returns one Zstandard frame (RFC 8878) with a checksum.
std::string pack_text(std::string_view text);

/// Reverses pack_text. `source` names the frame in errors. Throws Error if it is damaged.
std::string unpack_text(std::string_view packed, const std::string& source);

/// Returns the 128-bit FNV-1a hash, 32 hexadecimal digits. Not collision-resistant.
std::string digest_of(std::string_view text);

struct RunText {
  std::string environment;
  std::vector<std::string> records;
};

/// Throws std::invalid_argument if there are no records or their environments differ.
RunText run_text(const std::vector<Record>& records);

/// Returns the text that insert_run stored; empty if the run does not exist. Throws Error if it is damaged or
/// its digest is wrong.
RunText stored_run_text(Database& database, std::int64_t run);
/// As stored_run_text, without checking the digest, which prune invalidates.
RunText shortened_run_text(Database& database, std::int64_t run);

std::string digest_of(const RunText& run);

/// Returns the id of the series of these columns (series_rows()); creates a missing one.
std::int64_t series_id(Database& database, const SqlRow& columns);

/// Rewrites the row of a run from its content, within the caller's transaction.
void update_run(Database& database, std::int64_t run, const Environment& environment, const RunText& text);

/// Inserts a run and its series within the caller's transaction. Returns the run's id.
std::int64_t insert_run(Database& database, const std::vector<Record>& records, const RunText& text);

}  // namespace headroom
