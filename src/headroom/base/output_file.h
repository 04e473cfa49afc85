// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "headroom/base/files.h"

namespace headroom {

/// Writes a file in pieces. A temporary file replaces the target in finish(), keeping owner and mode; without
/// finish() nothing changes. Follows links as resolve_output_path(). Writes devices and pipes directly.
/// Throws Error.
class OutputFile {
 public:
  explicit OutputFile(const std::filesystem::path& path);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  void write(std::string_view bytes);
  /// Throws after a failed write.
  void finish();
  [[noreturn]] void fail(const std::string& why) const;

 private:
  void open_temporary(const std::filesystem::path& target);

  std::filesystem::path asked_, target_, temporary_;  ///< no temporary: written directly, or finished
  Descriptor file_;
  bool is_broken_ = false;
};

}  // namespace headroom
