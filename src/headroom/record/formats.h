// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headroom/base/padded_text.h"
#include "headroom/record/record.h"

namespace headroom {

/// One file format for records. To add one: formats/<name>.h and .cpp, and a line in the table of
/// formats.cpp.
struct Format {
  const char* name;                    ///< what the command line calls it
  const char* summary;                 ///< one line for help texts
  std::vector<const char*> endings{};  ///< file names that mean this format, the usual one first

  /// The new content of a file that now holds `previous` (empty where there is none); `source` names the file
  /// in errors. Formats that do not append ignore `previous`. nullptr: this format is only read.
  std::string (*write)(const std::vector<Record>& records, std::string_view previous,
                       const std::string& source) = nullptr;
  bool appends = false;  ///< whether write() looks at `previous`

  /// Whether `text` looks like this format. nullptr: this format is only written.
  bool (*recognises)(std::string_view text) = nullptr;
  /// `source` is the path: it names the text in errors, and a format whose samples are in files of their own
  /// finds them beside it. Throws Error. nullptr: this format is only written.
  std::vector<Record> (*read)(const PaddedText& text, const std::string& source) = nullptr;
  /// The same for a plain file that need not be in memory as a whole. nullptr: it is read first.
  std::vector<Record> (*read_file)(const std::filesystem::path& path) = nullptr;
};

std::span<const Format> all_formats();

/// Throws Error naming the nearest formats, or all of them.
const Format& format_named(std::string_view name);

/// The format that the name of the file means (the longest ending that fits), or nullptr.
const Format* format_of_file_name(const std::filesystem::path& path);

/// Writes atomically; what a regular file at `path` holds is kept where the format appends. Throws Error.
void write_records(const std::filesystem::path& path, const Format& format,
                   const std::vector<Record>& records);

/// Reads a file of any format that can be read, recognised by its content, gzip and zstd unpacked. Throws
/// Error.
std::vector<Record> read_records(const std::filesystem::path& path);

/// The same for text that was read already. `source` is as in Format::read.
std::vector<Record> records_from_text(const PaddedText& text, const std::string& source);

/// The format that the text is in, or nullptr.
const Format* format_of_text(std::string_view text);

}  // namespace headroom
