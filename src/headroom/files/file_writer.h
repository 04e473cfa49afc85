// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>
#include <string_view>

namespace headroom {

/// Writes a large file piece by piece; compressed if its name ends in .gz or .zst. The pieces go to a
/// temporary file beside it, which replaces the file in finish() and is removed without finish(). Writes a
/// pipe or a device (/dev/stdout) directly. All functions throw Error with path and reason.
class FileWriter {
 public:
  explicit FileWriter(const std::filesystem::path& path);
  ~FileWriter();
  FileWriter(const FileWriter&) = delete;
  FileWriter& operator=(const FileWriter&) = delete;

  void write(std::string_view text);
  /// Call once, after the last piece.
  void finish();

 private:
  class Output;
  class Packer;
  class GzipPacker;
  class ZstdPacker;
  std::unique_ptr<Output> output_;
  std::unique_ptr<Packer> packer_;  ///< nullptr: uncompressed
};

}  // namespace headroom
