// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string_view>

#include "headroom/trace/readers/byte_source.h"
#include "headroom/trace/readers/event_writer.h"

namespace headroom::trace::readers {

/// A file that a format reads.
struct FormatInput {
  ByteSource& bytes;           ///< unpacked, from its start
  std::string_view first;      ///< its first bytes, kFirstBytes or all there are
  std::filesystem::path path;  ///< empty: text in memory
  /// The same bytes once more; nullptr where they come but once, from a pipe.
  std::function<std::unique_ptr<ByteSource>()> again;
};
inline constexpr std::size_t kFirstBytes = std::size_t{1} << 14;

/// A form of traces beside Chrome's: formats/NAME.cpp has `const FileFormat NAME`, formats.cpp its line.
struct FileFormat {
  const char* name;  ///< "a Perfetto trace"
  /// Whether these are the first bytes of such a file.
  bool (*is)(std::string_view first);
  /// Throws Error where nothing of it can be read; what is amiss in it else goes to the writer.
  void (*read)(FormatInput& input, EventWriter& events);
};

/// By content; nullptr for a Chrome trace, and for what is no trace.
const FileFormat* format_of(std::string_view first);

}  // namespace headroom::trace::readers
