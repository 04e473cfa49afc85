// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headroom/files/compressed_file.h"
#include "headroom/record/record.h"

namespace headroom {

class FileOutline;

/// Version of the JSON that to_json_text() writes (docs/reference/record-format.md).
inline constexpr int kRecordSchema = 5;

/// {"headroom": {"schema": 5, "version": ...}, "environments": [...], "records": [...]}. Records have
/// environment indices.
std::string to_json_text(const std::vector<Record>& records);

/// Writes the same text in pieces, for runs that need not be in memory at once: one environment each, with
/// the run's records.
void write_json_text(std::size_t runs, const std::function<Environment(std::size_t)>& environment_of,
                     const std::function<std::vector<Record>(std::size_t)>& records_of,
                     const std::function<void(std::string_view)>& write);

/// Reads the output of to_json_text, of this or an older schema. `source` names the text in errors. Throws
/// Error: not JSON (byte offset), a newer schema, a field of the wrong type (path).
std::vector<Record> records_from_json_text(const PaddedText& text, const std::string& source);
std::vector<Record> records_from_json_text(std::string_view text, const std::string& source);
/// Streams the file.
std::vector<Record> records_from_json_file(const std::filesystem::path& path);

const char* to_string(StopReason reason);
const char* to_string(Outcome::Kind kind);
const char* to_string(Direction direction);

/// Defined in formats/NAME.cpp, listed in formats.cpp.
struct Format {
  const char* name;
  const char* summary;
  std::vector<const char*> endings{};  ///< file name endings, the usual one first

  /// The file's new content; `previous`, its current one, is for appending formats. `source` names the file
  /// in errors. nullptr: read-only.
  std::string (*write)(const std::vector<Record>& records, std::string_view previous,
                       const std::string& source) = nullptr;
  bool appends = false;

  /// nullptr: write-only.
  bool (*recognises)(const FileOutline& outline) = nullptr;
  /// `source` is the path, for sample files. Throws Error. nullptr: write-only.
  std::vector<Record> (*read)(const PaddedText& text, const std::string& source) = nullptr;
  /// Streams a plain file. nullptr: load it and call read().
  std::vector<Record> (*read_file)(const std::filesystem::path& path) = nullptr;
  /// Repeated names are different cases, "make" and "make (2)".
  bool one_run = false;
};

std::span<const Format> all_formats();

/// Throws Error.
const Format& format_named(std::string_view name);

std::vector<std::string> readable_formats();

/// The longest matching ending, or nullptr.
const Format* format_of_file_name(const std::filesystem::path& path);

/// Writes atomically; appends to a regular file if the format does. Throws Error.
void write_records(const std::filesystem::path& path, const Format& format,
                   const std::vector<Record>& records);

/// Reads as `from`, or if nullptr by content. Unpacks gzip and zstd. Throws Error.
std::vector<Record> read_records(const std::filesystem::path& path, const Format* from = nullptr);

std::vector<Record> records_from_text(const PaddedText& text, const std::string& source,
                                      const Format* from = nullptr);

const Format* format_of_text(std::string_view text);

/// Reads the OSS database, schema v3: a list, one object, or JSON lines. `inputs` and benchmark.extra_info,
/// except device and runner, become axes; several values become samples. Throws Error.
std::vector<Record> records_from_oss_v3(std::string_view text, const std::string& source);

/// Writes hyperfine's --export-json: a result per measured case with latency samples, in seconds, warm-up
/// included. "user" and "system" are means; "memory_usage_byte" and "exit_codes" have a value per run (null:
/// signalled). Throws Error naming `source` without such a case.
std::string hyperfine_json(const std::vector<Record>& records, const std::string& source);

}  // namespace headroom
