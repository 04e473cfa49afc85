// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>
#include <string_view>

namespace headroom {

/// Writes a file piece by piece, for what is too long to be held; packed where its name ends in .gz or .zst.
/// Until finish() the path holds what it held before: a file beside it takes the pieces, and is removed when
/// there is no finish(). A pipe or a device (/dev/stdout) is written directly. All functions throw Error
/// naming the path and the reason.
class FileWriter {
 public:
  explicit FileWriter(const std::filesystem::path& path);
  ~FileWriter();
  FileWriter(const FileWriter&) = delete;
  FileWriter& operator=(const FileWriter&) = delete;

  void write(std::string_view text);
  /// Once, after the last piece.
  void finish();

 private:
  class Output;
  class Packer;
  class GzipPacker;
  class ZstdPacker;
  std::unique_ptr<Output> output_;
  std::unique_ptr<Packer> packer_;  ///< nullptr: as it is
};

}  // namespace headroom
