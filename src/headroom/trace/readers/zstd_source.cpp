// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <zstd.h>

#include <new>
#include <vector>

#include "headroom/trace/readers/byte_source.h"

namespace headroom::trace::readers {
namespace {

class ZstdSource : public ByteSource {
 public:
  explicit ZstdSource(std::unique_ptr<ByteSource> packed)
      : packed_(std::move(packed)), block_(ZSTD_DStreamInSize()), input_{block_.data(), 0, 0} {
    if (!stream_) throw std::bad_alloc();
  }

  std::size_t read(char* into, std::size_t room) override;
  std::uint64_t done() const override { return packed_->done(); }
  std::uint64_t size() const override { return packed_->size(); }
  std::string damage() const override { return damage_; }

 private:
  struct FreeStream {
    void operator()(ZSTD_DStream* stream) const { ZSTD_freeDStream(stream); }
  };

  std::unique_ptr<ByteSource> packed_;
  std::vector<char> block_;
  ZSTD_inBuffer input_;
  std::unique_ptr<ZSTD_DStream, FreeStream> stream_{ZSTD_createDStream()};
  bool frame_done_ = false, ended_ = false;
  std::string damage_;
};

std::size_t ZstdSource::read(char* into, std::size_t room) {
  ZSTD_outBuffer output{into, room, 0};
  while (!ended_ && output.pos < output.size) {
    if (input_.pos == input_.size) {
      input_.size = packed_->read(block_.data(), block_.size());
      input_.pos = 0;
    }
    const bool at_end = input_.size == 0;
    if (at_end && frame_done_) {
      ended_ = true;
      break;
    }
    const std::size_t before = output.pos;
    const std::size_t status = ZSTD_decompressStream(stream_.get(), &output, &input_);
    if (ZSTD_isError(status) != 0) {
      damage_ = fmt::format("its zstd data are damaged ({})", ZSTD_getErrorName(status));
      ended_ = true;
    } else if (at_end && output.pos == before) {
      damage_ = "its zstd data end too early; the file was cut off";
      ended_ = true;
    }
    frame_done_ = status == 0;
  }
  return output.pos;
}

}  // namespace

std::unique_ptr<ByteSource> unpack_zstd(std::unique_ptr<ByteSource> packed) {
  return std::make_unique<ZstdSource>(std::move(packed));
}

}  // namespace headroom::trace::readers
