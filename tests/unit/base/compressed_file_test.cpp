// SPDX-License-Identifier: Apache-2.0
#include "headroom/base/compressed_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <string>

#include "../error_message.h"
#include "headroom/base/files.h"

namespace headroom {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

std::string gzipped(const std::string& text) {
  z_stream stream{};
  deflateInit2(&stream, 6, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY);
  std::string packed(deflateBound(&stream, text.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

std::string zstandard(const std::string& text) {
  std::string packed(ZSTD_compressBound(text.size()), '\0');
  // With a checksum, as the zstd program writes it.
  ZSTD_CCtx* context = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
  packed.resize(ZSTD_compress2(context, packed.data(), packed.size(), text.data(), text.size()));
  ZSTD_freeCCtx(context);
  return packed;
}

class CompressedFile : public testing::Test {
 protected:
  CompressedFile() : path_(fs::temp_directory_path() / ("headroom-packed-" + std::to_string(::getpid()))) {
    for (int i = 0; i < 400000; ++i) text_ += std::to_string(i) + ",";
  }
  ~CompressedFile() override { fs::remove(path_); }

  PaddedText read(const std::string& content, std::size_t max_bytes = kMaxFileBytes) {
    write_file_atomically(path_, content);
    return read_compressed_file(path_, max_bytes);
  }
  std::string refusal(const std::string& content, std::size_t max_bytes = kMaxFileBytes) {
    return test::message_of([&] { read(content, max_bytes); });
  }

  fs::path path_;
  std::string text_;
};

TEST_F(CompressedFile, IsUnpackedByItsContent) {
  EXPECT_EQ(read(text_).view(), text_);
  EXPECT_EQ(read(gzipped(text_)).view(), text_);
  EXPECT_EQ(read(zstandard(text_)).view(), text_);
  EXPECT_EQ(read("").view(), "");
  EXPECT_EQ(read(gzipped("")).view(), "");
  EXPECT_EQ(read(zstandard("")).view(), "");
}

TEST_F(CompressedFile, SeveralStreamsAreJoined) {
  EXPECT_EQ(read(gzipped(text_) + gzipped("x")).view(), text_ + "x");
  EXPECT_EQ(read(zstandard(text_) + zstandard("x")).view(), text_ + "x");
}

TEST_F(CompressedFile, HasRoomForWholeWords) {
  const PaddedText text = read(gzipped("abc"));
  EXPECT_GE(text.capacity(), text.size() + PaddedText::kPadding);
  EXPECT_EQ(text.view().data()[text.size() + PaddedText::kPadding - 1], '\0');
}

TEST_F(CompressedFile, WhatIsCutOffOrDamagedIsRefused) {
  for (const std::string& packed : {gzipped(text_), zstandard(text_)}) {
    for (const std::size_t size : {std::size_t{12}, packed.size() / 2, packed.size() - 1}) {
      EXPECT_THAT(refusal(packed.substr(0, size)), HasSubstr("data end too early")) << size;
    }
    std::string damaged = packed;
    damaged[packed.size() / 2] = static_cast<char>(damaged[packed.size() / 2] ^ 0x55);
    damaged[packed.size() - 6] = static_cast<char>(damaged[packed.size() - 6] ^ 0x55);
    EXPECT_NE(refusal(damaged), "nothing was thrown");
    EXPECT_THAT(refusal(packed + "rubbish"), HasSubstr("data are damaged"));
  }
}

TEST_F(CompressedFile, ALimitHoldsForBoth) {
  EXPECT_EQ(read(text_, text_.size()).view(), text_);
  EXPECT_THAT(refusal(text_, text_.size() - 1), HasSubstr("holds more than"));
  EXPECT_EQ(read(gzipped(text_), text_.size()).view(), text_);
  EXPECT_THAT(refusal(gzipped(text_), text_.size() - 1), HasSubstr("holds more than"));
  EXPECT_THAT(refusal(zstandard(text_), 1000), HasSubstr("holds more than"));
}

}  // namespace
}  // namespace headroom
