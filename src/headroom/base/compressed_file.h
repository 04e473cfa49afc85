// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>

#include "headroom/base/padded_text.h"

namespace headroom {

/// More than any parser here takes; a small file that unpacks to more is broken or meant to do harm.
inline constexpr std::size_t kMaxFileBytes = std::size_t{4} << 30;

/// The whole file, unpacked where it is gzip or zstd (told by its first bytes, not by its name; several
/// streams one after another are joined). A pipe is read to its end. Throws Error naming the path: missing, a
/// directory, an endless device, not readable, damaged or cut off, more than `max_bytes`.
PaddedText read_compressed_file(const std::filesystem::path& path, std::size_t max_bytes = kMaxFileBytes);

}  // namespace headroom
