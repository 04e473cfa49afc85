// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace headroom::trace {

std::string gzip_of(std::string_view text);
std::string zstd_of(std::string_view text);

struct ZipMember {
  std::string name, text;
  bool is_deflated = true;
  bool is_zip64 = false;  ///< its sizes and place stand in 64 bits, as those of large files do
  bool is_encrypted = false;
  std::uint64_t method_said = 8;  ///< of a deflated one; what the headers say
};

/// A zip file as APPNOTE.TXT of PKWARE has it; where a member is zip64, so is the directory.
std::string zip_of(const std::vector<ZipMember>& members, std::string_view comment = "");

}  // namespace headroom::trace
