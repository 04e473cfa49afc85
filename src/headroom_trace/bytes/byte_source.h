// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

namespace headroom::trace::readers {

/// A stream of bytes.
class ByteSource {
 public:
  ByteSource() = default;
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;
  virtual ~ByteSource() = default;

  /// Reads up to `room` bytes (more than 0) and returns how many; 0 only at the end.
  virtual std::size_t read(char* into, std::size_t room) = 0;

  /// Bytes of the file read so far, and its size; 0 if not known.
  virtual std::uint64_t done() const = 0;
  virtual std::uint64_t size() const = 0;
  /// Why the stream is truncated ("its gzip data are damaged"); empty if it is not.
  virtual std::string damage() const { return {}; }
};

/// Opens a file or pipe without unpacking it. Throws Error naming the path: missing, a folder, not readable.
std::unique_ptr<ByteSource> open_file(const std::filesystem::path& path);

/// The library to use: ISA-L where it is installed, or always zlib (the tests' reference).
enum class Unpacking { kFastest, kZlib };
/// Unpacks gzip data; concatenated streams are joined.
std::unique_ptr<ByteSource> unpack_gzip(std::unique_ptr<ByteSource> packed,
                                        Unpacking by = Unpacking::kFastest);
std::unique_ptr<ByteSource> unpack_zstd(std::unique_ptr<ByteSource> packed);
/// Unpacks raw deflate data (no header), up to the end of the stream.
std::unique_ptr<ByteSource> unpack_deflate(std::unique_ptr<ByteSource> packed);

/// Opens the first member of a zip file whose name says that it is JSON, else the first member. Throws Error
/// naming the path.
std::unique_ptr<ByteSource> open_zip_member(const std::filesystem::path& path);

/// Reads text in memory, which must outlive the source.
std::unique_ptr<ByteSource> from_memory(std::string_view text);

/// Opens a file and unpacks it if its first bytes are those of gzip, zstd or zip.
std::unique_ptr<ByteSource> open_json(const std::filesystem::path& path);

/// A source whose first bytes can be looked at before reading starts.
class PeekedSource : public ByteSource {
 public:
  PeekedSource(std::unique_ptr<ByteSource> source, std::size_t most);

  std::string_view first() const { return first_; }

  std::size_t read(char* into, std::size_t room) override;
  // The bytes looked at count as read: their position in a packed file is not known.
  std::uint64_t done() const override { return source_->done(); }
  std::uint64_t size() const override { return source_->size(); }
  std::string damage() const override { return source_->damage(); }

 private:
  std::unique_ptr<ByteSource> source_;
  std::string first_;
  std::size_t given_ = 0;
};

/// A file that can be read from any offset.
class FileSource : public ByteSource {
 public:
  /// Throws Error naming the path.
  explicit FileSource(const std::filesystem::path& path);
  ~FileSource() override;

  std::size_t read(char* into, std::size_t room) override;
  std::uint64_t done() const override { return done_; }
  std::uint64_t size() const override { return size_; }

  /// Continues at `offset` and ends `length` bytes later. Not for pipes.
  void restrict_to(std::uint64_t offset, std::uint64_t length);
  bool is_pipe() const { return is_pipe_; }

 private:
  std::filesystem::path path_;
  int file_ = -1;
  bool is_pipe_ = false;
  std::uint64_t size_ = 0, done_ = 0;
  std::uint64_t left_ = UINT64_MAX;
};

}  // namespace headroom::trace::readers
