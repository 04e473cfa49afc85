// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

namespace headroom::trace::readers {

/// Bytes one after the other, wherever they come from.
class ByteSource {
 public:
  ByteSource() = default;
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;
  virtual ~ByteSource() = default;

  /// Fills up to `room` bytes (more than 0) and says how many; 0 at the end only.
  virtual std::size_t read(char* into, std::size_t room) = 0;

  /// Bytes of the file that have been used so far, and its size; 0 where that is not known.
  virtual std::uint64_t done() const = 0;
  virtual std::uint64_t size() const = 0;
  /// Why the bytes end before they should: "its gzip data are damaged". Empty where they do not.
  virtual std::string damage() const { return {}; }
};

/// A file as it is; a pipe is read to its end. Throws Error naming the path: missing, a folder, not readable.
std::unique_ptr<ByteSource> open_file(const std::filesystem::path& path);

/// By which library: ISA-L where it is, or zlib wherever, which tests hold the other against.
enum class Unpacking { kFastest, kZlib };
/// What `packed` unpacks to; several streams one after another are joined.
std::unique_ptr<ByteSource> unpack_gzip(std::unique_ptr<ByteSource> packed,
                                        Unpacking by = Unpacking::kFastest);
std::unique_ptr<ByteSource> unpack_zstd(std::unique_ptr<ByteSource> packed);
/// Deflate without a header, to its own end.
std::unique_ptr<ByteSource> unpack_deflate(std::unique_ptr<ByteSource> packed);

/// The first member of a zip file that is JSON by its name, else its first member. Throws Error naming the
/// path.
std::unique_ptr<ByteSource> open_zip_member(const std::filesystem::path& path);

/// Text in memory, which has to outlive it.
std::unique_ptr<ByteSource> from_memory(std::string_view text);

/// A file as JSON, unpacked where its first bytes say that it is packed.
std::unique_ptr<ByteSource> open_json(const std::filesystem::path& path);

}  // namespace headroom::trace::readers
