// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "headroom/base/padded_text.h"
#include "headroom/record/record.h"

namespace headroom {

/// Version of the JSON form that to_json_text writes; docs/record-format.md describes it.
inline constexpr int kRecordSchema = 3;

/// {"headroom": {"schema": 3, "version": ...}, "environments": [...], "records": [...]}: environments are
/// written once and referred to by index.
std::string to_json_text(const std::vector<Record>& records);

/// Reads what to_json_text of this or an older schema wrote. `source` names the text in errors.
/// Throws Error: not JSON (byte offset), a newer schema, a field of the wrong type (path).
std::vector<Record> records_from_json_text(const PaddedText& text, const std::string& source);
std::vector<Record> records_from_json_text(std::string_view text, const std::string& source);
/// The same for a file, of which only a small window is in memory at a time.
std::vector<Record> records_from_json_file(const std::filesystem::path& path);

const char* to_string(StopReason reason);
const char* to_string(Outcome::Kind kind);
const char* to_string(Direction direction);

}  // namespace headroom
