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

/// `source` names the frame in errors. Throws Error if damaged.
std::string unpack_text(std::string_view packed, const std::string& source);

/// Returns the 128-bit FNV-1a hash, 32 hexadecimal digits. Not collision-resistant.
std::string digest_of(std::string_view text);

struct RunText {
  std::string environment;
  std::vector<std::string> records;
};

/// Throws std::invalid_argument without records or if their environments differ.
RunText run_text(const std::vector<Record>& records);

/// Returns the text that insert_run stored; empty without the run. Throws Error for damage or a wrong digest.
RunText stored_run_text(Database& database, std::int64_t run);
/// As stored_run_text, without checking the digest, which prune invalidates.
RunText shortened_run_text(Database& database, std::int64_t run);

std::string digest_of(const RunText& run);

/// Creates a missing one. `columns`: series_rows().
std::int64_t series_id(Database& database, const SqlRow& columns);

/// Needs the caller's transaction.
void update_run(Database& database, std::int64_t run, const Environment& environment, const RunText& text);

/// Needs the caller's transaction. Returns the run's id.
std::int64_t insert_run(Database& database, const std::vector<Record>& records, const RunText& text);

}  // namespace headroom
