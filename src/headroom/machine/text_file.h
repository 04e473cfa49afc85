// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

namespace headroom {

/// The text of a file whose absence is no failure (of /proc, /sys or .git); empty where it cannot be read.
/// The size that the file claims is not trusted: the kernel's files claim none.
std::string text_of_file(const std::filesystem::path& path);

/// The same without the blanks and line ends around it: for files of one value.
std::string value_in_file(const std::filesystem::path& path);

}  // namespace headroom
