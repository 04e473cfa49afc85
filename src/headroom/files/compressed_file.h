// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string_view>
#include <utility>

#include "headroom/base/files.h"

namespace headroom {

/// Owned text with zeroed padding: parsers may read whole words past its end. Move-only.
class PaddedText {
 public:
  static constexpr std::size_t kPadding = 64;

  PaddedText() : PaddedText(std::string_view()) {}
  explicit PaddedText(std::string_view text);
  /// Leaves `other` empty, without buffer.
  PaddedText(PaddedText&& other) noexcept
      : bytes_(std::move(other.bytes_)),
        size_(std::exchange(other.size_, 0)),
        capacity_(std::exchange(other.capacity_, 0)) {}
  PaddedText& operator=(PaddedText&& other) noexcept {
    bytes_ = std::move(other.bytes_);
    size_ = std::exchange(other.size_, 0);
    capacity_ = std::exchange(other.capacity_, 0);
    return *this;
  }

  std::string_view view() const { return {bytes_.get(), size_}; }
  std::size_t size() const { return size_; }
  std::size_t capacity() const { return capacity_; }

  /// Call added() with the number of bytes written.
  char* reserve_space(std::size_t count);
  void added(std::size_t count);
  void shorten(std::size_t size);

 private:
  struct Free {
    void operator()(char* bytes) const { std::free(bytes); }
  };
  // realloc moves large blocks by pages, without copying.
  std::unique_ptr<char, Free> bytes_;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

/// Against damaged or malicious archives.
inline constexpr std::size_t kMaxFileBytes = std::size_t{4} << 30;

/// As open_unpacked(). Throws Error with the path: missing, a directory, an endless device, unreadable,
/// damaged, truncated, more than `max_bytes`.
PaddedText read_compressed_file(const std::filesystem::path& path, std::size_t max_bytes = kMaxFileBytes);

/// OutputFile, compressed if named .gz or .zst.
class FileWriter {
 public:
  explicit FileWriter(const std::filesystem::path& path);
  ~FileWriter();
  FileWriter(const FileWriter&) = delete;
  FileWriter& operator=(const FileWriter&) = delete;

  void write(std::string_view text);
  void finish();

 private:
  class Packer;
  class GzipPacker;
  class ZstdPacker;
  OutputFile output_;
  std::unique_ptr<Packer> packer_;  ///< nullptr: uncompressed
};

}  // namespace headroom
