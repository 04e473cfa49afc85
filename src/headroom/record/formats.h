// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headroom/record/record.h"

namespace headroom {

/// One file format for records. To add one: formats/<name>.h and .cpp, and a line in the table of
/// formats.cpp.
struct Format {
  const char* name;                  ///< what the command line calls it
  const char* summary;               ///< one line for help texts
  std::vector<const char*> endings;  ///< file names that mean this format, the usual one first

  /// The new content of a file that now holds `previous` (empty where there is none); `source` names the file
  /// in errors. Formats that do not append ignore `previous`. nullptr: this format is only read.
  std::string (*write)(const std::vector<Record>& records, std::string_view previous,
                       const std::string& source);
  bool appends = false;  ///< whether write() looks at `previous`

  /// Whether `text` looks like this format. nullptr: this format is only written.
  bool (*recognises)(std::string_view text) = nullptr;
  /// Throws Error. nullptr: this format is only written.
  std::vector<Record> (*read)(std::string_view text, const std::string& source) = nullptr;
};

std::span<const Format> all_formats();

/// Throws Error naming the nearest formats, or all of them.
const Format& format_named(std::string_view name);

/// The format that the name of the file means (the longest ending that fits), or nullptr.
const Format* format_of_file_name(const std::filesystem::path& path);

/// Writes atomically; what a regular file at `path` holds is kept where the format appends. Throws Error.
void write_records(const std::filesystem::path& path, const Format& format,
                   const std::vector<Record>& records);

/// Reads a file of any format that can be read, recognised by its content. Throws Error.
std::vector<Record> read_records(const std::filesystem::path& path);

}  // namespace headroom
