// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <vector>

namespace headroom::cli {

/// The regular files below a folder that are wanted, in no order. Throws Error where it cannot be listed.
std::vector<std::filesystem::path> files_below(
    const std::filesystem::path& folder, const std::function<bool(const std::filesystem::path&)>& is_wanted);

}  // namespace headroom::cli
