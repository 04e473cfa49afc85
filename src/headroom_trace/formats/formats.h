// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string_view>

#include "headroom/files/byte_source.h"
#include "headroom_trace/readers/event_sink.h"

namespace headroom::trace::readers {

struct FormatInput {
  ByteSource& bytes;
  std::string_view first;      ///< at most kFirstBytes
  std::filesystem::path path;  ///< empty for text in memory
  /// nullptr if not repeatable (a pipe).
  std::function<std::unique_ptr<ByteSource>()> again;
};
inline constexpr std::size_t kFirstBytes = std::size_t{1} << 14;

/// A format, defined in formats/NAME.cpp and listed in formats.cpp.
struct FileFormat {
  const char* name;  ///< "a Perfetto trace"
  bool (*is)(std::string_view first);
  /// Throws Error if nothing can be read; other problems go to the sink.
  void (*read)(FormatInput& input, EventSink& events);
  Writer writer = Writer::kUnknown;  ///< kUnknown: derived from the events
  Needs always = Needs::kGpuWork;
};

/// Returns nullptr for Chrome traces and unknown files.
const FileFormat* format_of(std::string_view first);

}  // namespace headroom::trace::readers
