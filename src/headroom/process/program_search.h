// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace headroom {

/// Where a program called `name` lies: itself where it has a slash (seen from `folder`, empty for ours), else
/// in PATH. Nothing where there is no executable file.
std::optional<std::filesystem::path> find_program(const std::string& name,
                                                  const std::filesystem::path& folder = {});

}  // namespace headroom
