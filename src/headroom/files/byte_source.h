// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

namespace headroom {

class ByteSource {
 public:
  ByteSource() = default;
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;
  virtual ~ByteSource() = default;

  /// At most `room` > 0 bytes; 0 only at the end.
  virtual std::size_t read(char* into, std::size_t room) = 0;

  /// Bytes of the file read so far, and its size (0: unknown).
  virtual std::uint64_t done() const = 0;
  virtual std::uint64_t size() const = 0;
  /// Why the stream is truncated; else empty.
  virtual std::string damage() const { return {}; }
};

/// Accepts pipes. Throws Error naming the path.
std::unique_ptr<ByteSource> open_file(const std::filesystem::path& path);

/// kFastest: ISA-L if installed. kZlib: reference in tests.
enum class Unpacking { kFastest, kZlib };
/// Joins concatenated streams.
std::unique_ptr<ByteSource> unpack_gzip(std::unique_ptr<ByteSource> packed,
                                        Unpacking by = Unpacking::kFastest);
std::unique_ptr<ByteSource> unpack_zstd(std::unique_ptr<ByteSource> packed);
/// One stream without a header.
std::unique_ptr<ByteSource> unpack_deflate(std::unique_ptr<ByteSource> packed);

/// The first member named as JSON, else the first. Throws Error naming the path.
std::unique_ptr<ByteSource> open_zip_member(const std::filesystem::path& path);

/// `text` must outlive the source.
std::unique_ptr<ByteSource> memory_source(std::string_view text);

/// Detects gzip, zstd and zip by content.
std::unique_ptr<ByteSource> open_unpacked(const std::filesystem::path& path);

/// Its first bytes can be inspected before reading.
class PeekedSource : public ByteSource {
 public:
  PeekedSource(std::unique_ptr<ByteSource> source, std::size_t most);

  std::string_view first() const { return first_; }

  std::size_t read(char* into, std::size_t room) override;
  // Includes the inspected bytes.
  std::uint64_t done() const override { return source_->done(); }
  std::uint64_t size() const override { return source_->size(); }
  std::string damage() const override { return source_->damage(); }

 private:
  std::unique_ptr<ByteSource> source_;
  std::string first_;
  std::size_t given_ = 0;
};

class FileSource : public ByteSource {
 public:
  /// Throws Error naming the path.
  explicit FileSource(const std::filesystem::path& path);
  ~FileSource() override;

  std::size_t read(char* into, std::size_t room) override;
  std::uint64_t done() const override { return done_; }
  std::uint64_t size() const override { return size_; }

  /// Limits reading to `length` bytes from `offset`. Not for pipes.
  void restrict_to(std::uint64_t offset, std::uint64_t length);
  bool is_pipe() const { return is_pipe_; }

 private:
  std::filesystem::path path_;
  int file_ = -1;
  bool is_pipe_ = false;
  std::uint64_t size_ = 0, done_ = 0;
  std::uint64_t left_ = UINT64_MAX;
};

}  // namespace headroom
