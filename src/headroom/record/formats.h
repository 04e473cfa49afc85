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

/// Version of the JSON form that to_json_text writes; docs/record-format.md describes it.
inline constexpr int kRecordSchema = 5;

/// Returns {"headroom": {"schema": 5, "version": ...}, "environments": [...], "records": [...]}. Each
/// environment is written once; records refer to it by index.
std::string to_json_text(const std::vector<Record>& records);

/// Writes the same text piece by piece, for runs that need not be in memory at once: one environment each,
/// with the records of the run.
void write_json_text(std::size_t runs, const std::function<Environment(std::size_t)>& environment_of,
                     const std::function<std::vector<Record>(std::size_t)>& records_of,
                     const std::function<void(std::string_view)>& write);

/// Reads the output of to_json_text, of this or an older schema. `source` names the text in errors. Throws
/// Error: not JSON (byte offset), a newer schema, a field of the wrong type (path).
std::vector<Record> records_from_json_text(const PaddedText& text, const std::string& source);
std::vector<Record> records_from_json_text(std::string_view text, const std::string& source);
/// Reads a file through a small window, without loading it whole.
std::vector<Record> records_from_json_file(const std::filesystem::path& path);

const char* to_string(StopReason reason);
const char* to_string(Outcome::Kind kind);
const char* to_string(Direction direction);

/// A file format for records, defined in formats/NAME.cpp and listed in formats.cpp.
struct Format {
  const char* name;                    ///< name on the command line
  const char* summary;                 ///< one line for help texts
  std::vector<const char*> endings{};  ///< file name endings, the usual one first

  /// Returns the new content of a file that now holds `previous` (empty if the file is new); `source` names
  /// the file in errors. Formats that do not append ignore `previous`. nullptr: the format is read-only.
  std::string (*write)(const std::vector<Record>& records, std::string_view previous,
                       const std::string& source) = nullptr;
  bool appends = false;  ///< whether write() uses `previous`

  /// Whether a file with this outline has this format. nullptr: the format is write-only.
  bool (*recognises)(const FileOutline& outline) = nullptr;
  /// `source` is the path. It names the text in errors, and locates the sample files of formats that keep
  /// them apart. Throws Error. nullptr: the format is write-only.
  std::vector<Record> (*read)(const PaddedText& text, const std::string& source) = nullptr;
  /// Reads a plain file without loading it whole. nullptr: load the file, then call read().
  std::vector<Record> (*read_file)(const std::filesystem::path& path) = nullptr;
  /// A file holds one run: results of one name are different cases, and get the names "make", "make (2)".
  bool one_run = false;
};

std::span<const Format> all_formats();

/// Throws Error naming the closest formats, or all of them.
const Format& format_named(std::string_view name);

/// Returns the names of the formats that can be read.
std::vector<std::string> readable_formats();

/// Returns the format with the longest matching file name ending, or nullptr.
const Format* format_of_file_name(const std::filesystem::path& path);

/// Writes atomically. Keeps the content of a regular file if the format appends. Throws Error.
void write_records(const std::filesystem::path& path, const Format& format,
                   const std::vector<Record>& records);

/// Reads a file of any readable format: `from`, or if nullptr the one recognised by its content. Unpacks gzip
/// and zstd. Throws Error.
std::vector<Record> read_records(const std::filesystem::path& path, const Format* from = nullptr);

/// Reads text in any readable format. `source` is as in Format::read, `from` as in read_records.
std::vector<Record> records_from_text(const PaddedText& text, const std::string& source,
                                      const Format* from = nullptr);

/// Returns the format of the text, or nullptr.
const Format* format_of_text(std::string_view text);

/// Reads rows of the OSS database, schema v3: a list, one object, or JSON lines. Rows written by headroom
/// include their samples and intervals. `inputs` and benchmark.extra_info, except the keys that name device
/// and runner, become axes. Several values become samples; a single value has none. Values may be numbers or
/// numeric strings. Throws Error.
std::vector<Record> records_from_oss_v3(std::string_view text, const std::string& source);

/// Returns JSON as hyperfine's --export-json writes it, for scripts that read it: one result for each case
/// with latency samples that was measured to the end, in seconds, warm-up included. "user" and "system" are
/// means; "memory_usage_byte" and "exit_codes" have one value per run (null: ended by a signal); "parameters"
/// holds the axes. Throws Error naming the output file `source` if no case has latency samples.
std::string hyperfine_json(const std::vector<Record>& records, const std::string& source);

}  // namespace headroom
