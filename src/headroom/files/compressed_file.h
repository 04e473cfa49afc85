// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string_view>
#include <utility>

namespace headroom {

/// Owned text with zeroed padding behind it, so that parsers may read whole words past its end. Move-only.
class PaddedText {
 public:
  /// Readable zero bytes after the text.
  static constexpr std::size_t kPadding = 64;

  PaddedText() : PaddedText(std::string_view()) {}
  /// A copy of `text`.
  explicit PaddedText(std::string_view text);
  /// The moved-from text is empty and has no buffer.
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
  /// Size of the buffer, at least size() + kPadding.
  std::size_t capacity() const { return capacity_; }

  /// Returns room for at least `count` more bytes. Call added() with the number written.
  char* room_for(std::size_t count);
  void added(std::size_t count);
  /// Truncates to `size` bytes and keeps the capacity.
  void shorten(std::size_t size);

 private:
  struct Free {
    void operator()(char* bytes) const { std::free(bytes); }
  };
  // malloc: growing a large block with realloc moves pages, not bytes.
  std::unique_ptr<char, Free> bytes_;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

/// A small file that unpacks to more is damaged or malicious.
inline constexpr std::size_t kMaxFileBytes = std::size_t{4} << 30;

/// Reads a whole file and unpacks gzip and zstd, detected by content, including concatenated streams. Reads a
/// pipe to its end. Throws Error with the path: missing, a directory, an endless device, not readable,
/// damaged, truncated, or more than `max_bytes`.
PaddedText read_compressed_file(const std::filesystem::path& path, std::size_t max_bytes = kMaxFileBytes);

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
