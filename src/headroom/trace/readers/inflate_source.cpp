// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <limits>
#include <new>
#include <vector>

#include "headroom/trace/readers/byte_source.h"

namespace headroom::trace::readers {
namespace {

enum class Form { kGzip, kDeflate };

/// zlib over a source. What was unpacked before the data turned out to be damaged is given, and then the end.
class InflateSource : public ByteSource {
 public:
  InflateSource(std::unique_ptr<ByteSource> packed, Form form)
      : packed_(std::move(packed)), form_(form), block_(kBlock) {
    constexpr int kGzipOnly = 16;
    const int bits = form == Form::kGzip ? MAX_WBITS + kGzipOnly : -MAX_WBITS;
    if (inflateInit2(&stream_, bits) != Z_OK) throw std::bad_alloc();
  }
  ~InflateSource() override { inflateEnd(&stream_); }

  std::size_t read(char* into, std::size_t room) override;
  std::uint64_t done() const override { return packed_->done(); }
  std::uint64_t size() const override { return packed_->size(); }
  std::string damage() const override { return damage_; }

 private:
  static constexpr std::size_t kBlock = std::size_t{1} << 18;

  bool refill() {
    if (stream_.avail_in > 0) return true;
    stream_.next_in = reinterpret_cast<Bytef*>(block_.data());
    stream_.avail_in = static_cast<uInt>(packed_->read(block_.data(), block_.size()));
    return stream_.avail_in > 0;
  }
  bool start_next_stream();

  std::unique_ptr<ByteSource> packed_;
  Form form_;
  std::vector<char> block_;
  z_stream stream_{};
  bool in_stream_ = false, ended_ = false;
  std::uint64_t streams_ = 0;
  std::string damage_;
};

/// False at the end: nothing is left, or bytes that start no stream (padding, as gzip takes it).
bool InflateSource::start_next_stream() {
  if (streams_ > 0 && (form_ == Form::kDeflate || !refill() || *stream_.next_in != 0x1f)) return false;
  if (streams_ > 0) inflateReset(&stream_);
  ++streams_;
  return in_stream_ = true;
}

std::size_t InflateSource::read(char* into, std::size_t room) {
  stream_.next_out = reinterpret_cast<Bytef*>(into);
  stream_.avail_out = static_cast<uInt>(std::min<std::size_t>(room, std::numeric_limits<uInt>::max()));
  const uInt wanted = stream_.avail_out;
  while (!ended_ && stream_.avail_out > 0) {
    if (!in_stream_ && !start_next_stream()) {
      ended_ = true;
    } else if (!refill()) {
      damage_ = "its compressed data end too early; the file was cut off";
      ended_ = true;
    } else {
      const int status = inflate(&stream_, Z_NO_FLUSH);
      if (status == Z_STREAM_END) {
        in_stream_ = false;
      } else if (status != Z_OK && status != Z_BUF_ERROR) {
        damage_ = fmt::format("its compressed data are damaged ({})",
                              stream_.msg != nullptr ? stream_.msg : "unknown form");
        ended_ = true;
      }
    }
  }
  return wanted - stream_.avail_out;
}

}  // namespace

std::unique_ptr<ByteSource> unpack_gzip(std::unique_ptr<ByteSource> packed) {
  return std::make_unique<InflateSource>(std::move(packed), Form::kGzip);
}

std::unique_ptr<ByteSource> unpack_deflate(std::unique_ptr<ByteSource> packed) {
  return std::make_unique<InflateSource>(std::move(packed), Form::kDeflate);
}

}  // namespace headroom::trace::readers
