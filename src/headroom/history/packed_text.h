// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace headroom {

/// `text` as one Zstandard frame (RFC 8878) with its checksum.
std::string pack_text(std::string_view text);

/// What pack_text packed. `source` names it in errors. Throws Error where the frame is damaged.
std::string unpack_text(std::string_view packed, const std::string& source);

/// 32 hexadecimal digits: FNV-1a of 128 bits, to tell texts apart that nobody made alike on purpose.
std::string digest_of(std::string_view text);

}  // namespace headroom
