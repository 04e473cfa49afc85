// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace headroom::trace {

struct ZipMember {
  std::string name, text;
  bool is_deflated = true;
  bool is_zip64 = false;  ///< 64-bit sizes and offset
  bool is_encrypted = false;
  std::uint64_t method_said = 8;  ///< compression method in the headers if deflated
};

namespace packing {

inline constexpr std::uint64_t kNot32 = 0xffffffffU;

inline std::string deflated(std::string_view text, int window_bits) {
  z_stream stream{};
  deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, window_bits, 8, Z_DEFAULT_STRATEGY);
  std::string packed(deflateBound(&stream, text.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

inline void put(std::string& out, std::uint64_t number, int bytes) {
  for (int i = 0; i < bytes; ++i, number >>= 8) out += static_cast<char>(number);
}

inline void put_facts(std::string& out, const ZipMember& member, std::uint64_t packed_size) {
  const auto checksum =
      ::crc32(0, reinterpret_cast<const Bytef*>(member.text.data()), static_cast<uInt>(member.text.size()));
  put(out, member.is_encrypted ? 1 : 0, 2);
  put(out, member.is_deflated ? member.method_said : 0, 2);
  put(out, 0, 4);
  put(out, checksum, 4);
  put(out, member.is_zip64 ? kNot32 : packed_size, 4);
  put(out, member.is_zip64 ? kNot32 : member.text.size(), 4);
  put(out, member.name.size(), 2);
}

inline void put_entry(std::string& out, const ZipMember& member, std::uint64_t packed_size,
                      std::uint64_t place) {
  out += "PK\1\2";
  put(out, 45, 2);
  put(out, 45, 2);
  put_facts(out, member, packed_size);
  put(out, member.is_zip64 ? 28 : 0, 2);
  put(out, 0, 2 + 2 + 2 + 4);
  put(out, member.is_zip64 ? kNot32 : place, 4);
  out += member.name;
  if (!member.is_zip64) return;
  put(out, 1, 2);
  put(out, 24, 2);
  for (const std::uint64_t number : {std::uint64_t{member.text.size()}, packed_size, place})
    put(out, number, 8);
}

inline void put_end(std::string& out, std::uint64_t count, std::uint64_t directory, bool is_zip64,
                    std::string_view comment) {
  const std::uint64_t end = out.size();
  if (is_zip64) {
    out += "PK\6\6";
    put(out, 44, 8);
    put(out, 45, 2);
    put(out, 45, 2);
    put(out, 0, 8);
    for (const std::uint64_t number : {count, count, end - directory, directory}) put(out, number, 8);
    out += "PK\6\7";
    put(out, 0, 4);
    put(out, end, 8);
    put(out, 1, 4);
  }
  out += "PK\5\6";
  put(out, 0, 4);
  put(out, count, 2);
  put(out, count, 2);
  put(out, is_zip64 ? kNot32 : end - directory, 4);
  put(out, is_zip64 ? kNot32 : directory, 4);
  put(out, comment.size(), 2);
  out += comment;
}

}  // namespace packing

inline std::string gzip_of(std::string_view text) {
  return packing::deflated(text, MAX_WBITS + 16);
}

inline std::string zstd_of(std::string_view text) {
  std::string packed(ZSTD_compressBound(text.size()), '\0');
  ZSTD_CCtx* const context = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
  packed.resize(ZSTD_compress2(context, packed.data(), packed.size(), text.data(), text.size()));
  ZSTD_freeCCtx(context);
  return packed;
}

/// PKWARE's APPNOTE.TXT; a zip64 directory if a member is zip64.
inline std::string zip_of(const std::vector<ZipMember>& members, std::string_view comment = "") {
  std::string out, directory;
  for (const ZipMember& member : members) {
    const std::string packed = member.is_deflated ? packing::deflated(member.text, -MAX_WBITS) : member.text;
    packing::put_entry(directory, member, packed.size(), out.size());
    out += "PK\3\4";
    packing::put(out, 45, 2);
    packing::put_facts(out, member, packed.size());
    packing::put(out, 0, 2);
    out += member.name + packed;
  }
  const std::uint64_t place = out.size();
  out += directory;
  packing::put_end(out, members.size(), place, std::ranges::any_of(members, &ZipMember::is_zip64), comment);
  return out;
}

}  // namespace headroom::trace
