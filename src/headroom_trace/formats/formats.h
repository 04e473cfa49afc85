// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string_view>

#include "headroom_trace/bytes/byte_source.h"
#include "headroom_trace/readers/event_sink.h"

namespace headroom::trace::readers {

/// The input of a format.
struct FormatInput {
  ByteSource& bytes;           ///< unpacked, from the start
  std::string_view first;      ///< the first kFirstBytes bytes, or all
  std::filesystem::path path;  ///< empty: text in memory
  /// Opens the same bytes again; nullptr if they can be read only once (a pipe).
  std::function<std::unique_ptr<ByteSource>()> again;
};
inline constexpr std::size_t kFirstBytes = std::size_t{1} << 14;

/// A trace format other than Chrome's: formats/NAME.cpp defines `const FileFormat NAME`, formats.cpp lists
/// it.
struct FileFormat {
  const char* name;  ///< "a Perfetto trace"
  /// Whether a file with these first bytes has the format.
  bool (*is)(std::string_view first);
  /// Throws Error if nothing can be read; other problems go to the sink.
  void (*read)(FormatInput& input, EventSink& events);
  Writer writer = Writer::kUnknown;  ///< kUnknown: the events tell
  /// Read whatever the caller needs: the file is about nothing else.
  Needs always = Needs::kGpuWork;
};

/// Detects the format by content; nullptr for Chrome traces and unknown files.
const FileFormat* format_of(std::string_view first);

}  // namespace headroom::trace::readers
