// SPDX-License-Identifier: Apache-2.0
#include "headroom/files/compressed_file.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <new>
#include <string>
#include <vector>

#include "headroom/base/error.h"
#include "headroom/base/text.h"
#include "headroom/base/units.h"
#include "headroom/files/byte_source.h"

namespace headroom {
namespace {

/// Saves 25,000 page faults per 100 MB.
void use_large_pages(char* bytes, std::size_t size) {
  constexpr std::size_t kMinLargePageBytes = std::size_t{8} << 20;
  constexpr std::size_t kPage = 4096;
  if (size < kMinLargePageBytes) return;
  const std::size_t offset = (kPage - reinterpret_cast<std::uintptr_t>(bytes) % kPage) % kPage;
  static_cast<void>(::madvise(bytes + offset, (size - offset) / kPage * kPage, MADV_HUGEPAGE));
}

namespace fs = std::filesystem;

constexpr std::size_t kReadBlock = std::size_t{1} << 20;

[[noreturn]] void cannot_read(const fs::path& path, const std::string& why) {
  throw Error(fmt::format("cannot read {}: {}", quote(path.string()), why));
}

[[noreturn]] void too_large(const fs::path& path, std::size_t max_bytes) {
  cannot_read(path,
              fmt::format("it holds more than {}; split it", format_bytes(static_cast<double>(max_bytes))));
}

constexpr std::size_t kPackedBlock = std::size_t{1} << 18;

}  // namespace

PaddedText::PaddedText(std::string_view text) {
  char* capacity_left = reserve_space(text.size());
  if (!text.empty()) std::memcpy(capacity_left, text.data(), text.size());
  added(text.size());
}

char* PaddedText::reserve_space(std::size_t count) {
  const std::size_t needed = size_ + count + kPadding;
  if (needed > capacity_) {
    // Geometric growth keeps streams linear.
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
  reserve_space(0);
  added(0);
}

PaddedText read_compressed_file(const fs::path& path, std::size_t max_bytes) {
  const std::unique_ptr<ByteSource> source = open_unpacked(path);
  if (source->size() > max_bytes) too_large(path, max_bytes);
  PaddedText text;
  std::size_t capacity_left = std::min(std::max<std::size_t>(source->size(), kReadBlock), max_bytes) + 1;
  while (const std::size_t count = source->read(text.reserve_space(capacity_left), capacity_left)) {
    text.added(count);
    if (text.size() > max_bytes) too_large(path, max_bytes);
    capacity_left = count < capacity_left ? capacity_left - count : kReadBlock;
  }
  if (const std::string damage = source->damage(); !damage.empty()) cannot_read(path, damage);
  return text;
}

class FileWriter::Packer {
 public:
  explicit Packer(OutputFile& output) : output_(output), block_(kPackedBlock) {}
  Packer(const Packer&) = delete;
  Packer& operator=(const Packer&) = delete;
  virtual ~Packer() = default;
  virtual void pack(std::string_view text, bool is_end) = 0;

 protected:
  void emit(std::size_t count) { output_.write({block_.data(), count}); }
  OutputFile& output_;
  std::vector<char> block_;
};

class FileWriter::GzipPacker : public Packer {
 public:
  explicit GzipPacker(OutputFile& output) : Packer(output) {
    constexpr int kGzip = 16, kMemoryLevel = 8;
    if (deflateInit2(&stream_, Z_DEFAULT_COMPRESSION, Z_DEFLATED, MAX_WBITS + kGzip, kMemoryLevel,
                     Z_DEFAULT_STRATEGY) != Z_OK)
      throw std::bad_alloc();
  }
  ~GzipPacker() override { deflateEnd(&stream_); }

  void pack(std::string_view text, bool is_end) override {
    do {
      const std::string_view piece = text.substr(0, std::numeric_limits<uInt>::max());
      text.remove_prefix(piece.size());
      stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(piece.data()));
      stream_.avail_in = static_cast<uInt>(piece.size());
      const int flush = is_end && text.empty() ? Z_FINISH : Z_NO_FLUSH;
      do {
        stream_.next_out = reinterpret_cast<Bytef*>(block_.data());
        stream_.avail_out = static_cast<uInt>(block_.size());
        if (deflate(&stream_, flush) == Z_STREAM_ERROR) output_.fail("gzip compression failed");
        emit(block_.size() - stream_.avail_out);
      } while (stream_.avail_out == 0);
    } while (!text.empty());
  }

 private:
  z_stream stream_{};
};

class FileWriter::ZstdPacker : public Packer {
 public:
  explicit ZstdPacker(OutputFile& output) : Packer(output) {
    if (!context_) throw std::bad_alloc();
    ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_checksumFlag, 1);
  }

  void pack(std::string_view text, bool is_end) override {
    ZSTD_inBuffer input{text.data(), text.size(), 0};
    for (;;) {
      ZSTD_outBuffer out{block_.data(), block_.size(), 0};
      const std::size_t left =
          ZSTD_compressStream2(context_.get(), &out, &input, is_end ? ZSTD_e_end : ZSTD_e_continue);
      if (ZSTD_isError(left) != 0) output_.fail(ZSTD_getErrorName(left));
      emit(out.pos);
      if (is_end ? left == 0 : input.pos == input.size) return;
    }
  }

 private:
  struct Free {
    void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
  };
  std::unique_ptr<ZSTD_CCtx, Free> context_{ZSTD_createCCtx()};
};

FileWriter::FileWriter(const fs::path& path) : output_(path) {
  if (path.extension() == ".gz") packer_ = std::make_unique<GzipPacker>(output_);
  if (path.extension() == ".zst") packer_ = std::make_unique<ZstdPacker>(output_);
}

FileWriter::~FileWriter() = default;

void FileWriter::write(std::string_view text) {
  if (text.empty()) return;
  if (packer_) {
    packer_->pack(text, false);
  } else {
    output_.write(text);
  }
}

void FileWriter::finish() {
  if (packer_) packer_->pack({}, true);
  output_.finish();
}

}  // namespace headroom
