// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

namespace headroom {

/// Throws Error naming `path` where the open descriptor `file` is a device that may never end (/dev/zero,
/// /dev/urandom, a disk). Files and pipes pass, and so do a terminal, which ends with Ctrl-D, and /dev/null.
/// How much a pipe gives is the caller's matter.
void refuse_endless_device(int file, const std::filesystem::path& path);

}  // namespace headroom
