// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string_view>

namespace headroom::trace::readers {

/// Throws Error where a file that no reader takes is known for something else: what it looks like, and what
/// to give instead. What it is not known for passes.
void refuse_lookalike(std::string_view first, const std::filesystem::path& path);

}  // namespace headroom::trace::readers
