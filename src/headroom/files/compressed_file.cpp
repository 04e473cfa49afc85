// SPDX-License-Identifier: Apache-2.0
#include "headroom/files/compressed_file.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <limits>
#include <new>

#include "headroom/base/error.h"
#include "headroom/base/files.h"
#include "headroom/base/text.h"
#include "headroom/base/units.h"

namespace headroom {
namespace {

/// Asks for huge pages: reading 100 MB into 4 KiB pages takes 25,000 page faults. Failure does not matter.
void use_large_pages(char* bytes, std::size_t size) {
  constexpr std::size_t kWorthIt = std::size_t{8} << 20;
  constexpr std::size_t kPage = 4096;
  if (size < kWorthIt) return;
  const std::size_t offset = (kPage - reinterpret_cast<std::uintptr_t>(bytes) % kPage) % kPage;
  static_cast<void>(::madvise(bytes + offset, (size - offset) / kPage * kPage, MADV_HUGEPAGE));
}

namespace fs = std::filesystem;

constexpr std::size_t kReadBlock = std::size_t{1} << 20;

[[noreturn]] void cannot_read(const fs::path& path, const std::string& why) {
  throw Error(fmt::format("cannot read {}: {}", in_quotes(path.string()), why));
}

[[noreturn]] void too_large(const fs::path& path, std::size_t max_bytes) {
  cannot_read(path,
              fmt::format("it holds more than {}; split it", format_bytes(static_cast<double>(max_bytes))));
}

/// Calls `step` with room to fill until it reports the end.
template <typename Step>
PaddedText filled(const fs::path& path, std::size_t expected, std::size_t max_bytes, Step step) {
  PaddedText text;
  std::size_t room = std::min(std::max(expected, kReadBlock), max_bytes) + 1;
  for (;;) {
    const std::size_t count = step(text.room_for(room), room);
    text.added(count);
    if (count == 0) return text;
    if (text.size() > max_bytes) too_large(path, max_bytes);
    room -= count;
    if (room == 0) room = kReadBlock;
  }
}

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

PaddedText read_bytes(const fs::path& path, std::size_t max_bytes) {
  const std::unique_ptr<std::FILE, CloseFile> file(std::fopen(path.c_str(), "rbe"));
  if (!file) cannot_read(path, std::strerror(errno));
  refuse_endless_device(fileno(file.get()), path);
  struct stat info {};
  std::size_t expected = 0;
  if (::fstat(fileno(file.get()), &info) == 0 && S_ISREG(info.st_mode)) {
    expected = static_cast<std::size_t>(info.st_size);
  }
  if (expected > max_bytes) too_large(path, max_bytes);
  std::setvbuf(file.get(), nullptr, _IONBF, 0);
  return filled(path, expected, max_bytes, [&](char* into, std::size_t room) {
    const std::size_t count = std::fread(into, 1, room, file.get());
    if (count == 0 && std::ferror(file.get()) != 0) cannot_read(path, std::strerror(errno));
    return count;
  });
}

class GzipStream {
 public:
  GzipStream(std::string_view packed, const fs::path& path) : rest_(packed), path_(path) {
    constexpr int kGzipOnly = 16;
    if (inflateInit2(&stream_, MAX_WBITS + kGzipOnly) != Z_OK) throw std::bad_alloc();
  }
  GzipStream(const GzipStream&) = delete;
  GzipStream& operator=(const GzipStream&) = delete;
  ~GzipStream() { inflateEnd(&stream_); }

  std::size_t operator()(char* into, std::size_t room) {
    constexpr std::size_t kMost = std::numeric_limits<uInt>::max();
    stream_.next_out = reinterpret_cast<Bytef*>(into);
    stream_.avail_out = static_cast<uInt>(std::min(room, kMost));
    const uInt wanted = stream_.avail_out;
    while (stream_.avail_out == wanted && !(at_end_ && rest_.empty())) {
      if (at_end_) inflateReset(&stream_);
      at_end_ = false;
      if (rest_.empty()) cannot_read(path_, "its gzip data end too early; the file was cut off");
      stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(rest_.data()));
      stream_.avail_in = static_cast<uInt>(std::min(rest_.size(), kMost));
      const uInt offered = stream_.avail_in;
      const int status = inflate(&stream_, Z_NO_FLUSH);
      rest_.remove_prefix(offered - stream_.avail_in);
      if (status != Z_OK && status != Z_STREAM_END && status != Z_BUF_ERROR) {
        cannot_read(path_, fmt::format("its gzip data are damaged ({})",
                                       stream_.msg != nullptr ? stream_.msg : "unknown form"));
      }
      at_end_ = status == Z_STREAM_END;
    }
    return wanted - stream_.avail_out;
  }

 private:
  std::string_view rest_;
  const fs::path& path_;
  z_stream stream_{};
  bool at_end_ = false;
};

class ZstdStream {
 public:
  ZstdStream(std::string_view packed, const fs::path& path)
      : input_{packed.data(), packed.size(), 0}, path_(path) {
    if (!stream_) throw std::bad_alloc();
  }

  std::size_t operator()(char* into, std::size_t room) {
    ZSTD_outBuffer output{into, room, 0};
    // At the end of the input the decoder may still hold output.
    while (output.pos == 0 && !(frame_done_ && input_.pos == input_.size)) {
      const std::size_t before = input_.pos;
      const std::size_t status = ZSTD_decompressStream(stream_.get(), &output, &input_);
      if (ZSTD_isError(status) != 0) {
        cannot_read(path_, fmt::format("its zstd data are damaged ({})", ZSTD_getErrorName(status)));
      }
      frame_done_ = status == 0;
      if (!frame_done_ && output.pos == 0 && input_.pos == before) {
        cannot_read(path_, "its zstd data end too early; the file was cut off");
      }
    }
    return output.pos;
  }

 private:
  struct FreeStream {
    void operator()(ZSTD_DStream* stream) const { ZSTD_freeDStream(stream); }
  };
  ZSTD_inBuffer input_;
  const fs::path& path_;
  std::unique_ptr<ZSTD_DStream, FreeStream> stream_{ZSTD_createDStream()};
  bool frame_done_ = false;
};

}  // namespace

PaddedText::PaddedText(std::string_view text) {
  char* room = room_for(text.size());
  if (!text.empty()) std::memcpy(room, text.data(), text.size());
  added(text.size());
}

char* PaddedText::room_for(std::size_t count) {
  const std::size_t needed = size_ + count + kPadding;
  if (needed > capacity_) {
    // Grows by half, so that reading a stream of unknown length stays linear.
    const std::size_t capacity = std::max(needed, capacity_ + capacity_ / 2);
    auto* larger = static_cast<char*>(std::realloc(bytes_.get(), capacity));
    if (larger == nullptr) throw std::bad_alloc();
    static_cast<void>(bytes_.release());
    bytes_.reset(larger);
    use_large_pages(larger, capacity);
    capacity_ = capacity;
  }
  return bytes_.get() + size_;
}

void PaddedText::added(std::size_t count) {
  size_ += count;
  std::memset(bytes_.get() + size_, 0, kPadding);
}

void PaddedText::shorten(std::size_t size) {
  size_ = size;
  room_for(0);
  added(0);
}

PaddedText read_compressed_file(const fs::path& path, std::size_t max_bytes) {
  PaddedText content = read_bytes(path, max_bytes);
  if (content.view().starts_with("\x1f\x8b")) {
    return filled(path, 0, max_bytes, GzipStream(content.view(), path));
  }
  if (content.view().starts_with("\x28\xb5\x2f\xfd")) {
    return filled(path, 0, max_bytes, ZstdStream(content.view(), path));
  }
  return content;
}

}  // namespace headroom
