// SPDX-License-Identifier: Apache-2.0
#include "headroom/history/packed_text.h"

#include <fmt/format.h>
#include <zstd.h>

#include <cstdint>
#include <memory>
#include <new>

#include "headroom/base/error.h"

namespace headroom {
namespace {

constexpr int kCompressionLevel = 3;
/// No record comes near it; a damaged frame may claim any size.
constexpr unsigned long long kLargestText = 1ULL << 31;

}  // namespace

std::string pack_text(std::string_view text) {
  const std::unique_ptr<ZSTD_CCtx, decltype(&ZSTD_freeCCtx)> context(ZSTD_createCCtx(), ZSTD_freeCCtx);
  if (!context) throw std::bad_alloc();
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_compressionLevel, kCompressionLevel);
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_checksumFlag, 1);
  std::string packed(ZSTD_compressBound(text.size()), '\0');
  const std::size_t size =
      ZSTD_compress2(context.get(), packed.data(), packed.size(), text.data(), text.size());
  if (ZSTD_isError(size)) throw Error(fmt::format("cannot compress: {}", ZSTD_getErrorName(size)));
  packed.resize(size);
  return packed;
}

std::string unpack_text(std::string_view packed, const std::string& source) {
  const unsigned long long size = ZSTD_getFrameContentSize(packed.data(), packed.size());
  // The two markers of an unknown size and of an error lie above every size that is allowed.
  if (size > kLargestText) throw Error(source + ": damaged: not a compressed text");
  std::string text(static_cast<std::size_t>(size), '\0');
  // Making one takes longer than unpacking a text of a few kilobytes.
  thread_local const std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)> context(ZSTD_createDCtx(),
                                                                                  ZSTD_freeDCtx);
  if (!context) throw std::bad_alloc();
  const std::size_t read =
      ZSTD_decompressDCtx(context.get(), text.data(), text.size(), packed.data(), packed.size());
  if (ZSTD_isError(read) || read != text.size()) {
    const char* why = ZSTD_isError(read) ? ZSTD_getErrorName(read) : "it is shorter than it says";
    throw Error(fmt::format("{}: damaged: {}", source, why));
  }
  return text;
}

std::string digest_of(std::string_view text) {
  // The 128 bits as two words: prime 2^88 + 2^8 + 0x3b, offset basis as in draft-eastlake-fnv.
  std::uint64_t high = 0x6c62272e07bb0142, low = 0x62b821756295c58d;
  for (const char c : text) {
    low ^= static_cast<unsigned char>(c);
    constexpr std::uint64_t kPrimeLow = 0x13b;
    const std::uint64_t bottom = (low & 0xffffffff) * kPrimeLow;
    const std::uint64_t top = (low >> 32) * kPrimeLow + (bottom >> 32);
    high = high * kPrimeLow + (top >> 32) + (low << 24);
    low = (top << 32) | (bottom & 0xffffffff);
  }
  return fmt::format("{:016x}{:016x}", high, low);
}

}  // namespace headroom
