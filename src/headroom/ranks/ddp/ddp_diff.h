// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

namespace headroom {

/// Compares two reports of PyTorch's DDP benchmark, byte for byte like its diff.py: matches results by
/// position. Throws Error where diff.py raises, such as for missing members and zero times, and for what the
/// benchmark never writes, such as ranks that are not a list.
std::string ddp_diff(const std::filesystem::path& baseline, const std::filesystem::path& test);

}  // namespace headroom
