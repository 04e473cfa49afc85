// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace headroom {

/// What a transparent huge page holds, on x86-64 and on aarch64 with pages of 4 KiB.
inline constexpr std::size_t kHugePageBytes = std::size_t{2} << 20;

/// Whom the kernel gives transparent huge pages: "always" everybody, "madvise" who asks, "never" nobody;
/// empty where it does not say.
std::string huge_page_policy(const std::filesystem::path& root = "/");

/// How many bytes of an anonymous mapping of this process lie in huge pages now; nothing where the kernel
/// does not say. By the page tables of that range alone since Linux 6.7, else by /proc/self/smaps.
std::optional<std::size_t> huge_page_bytes(const void* start, std::size_t bytes);

/// The same by the text of smaps, where mappings that the kernel has joined lie in them in equal shares.
std::optional<std::size_t> huge_page_bytes_of_smaps(std::string_view smaps, std::size_t start,
                                                    std::size_t bytes);

}  // namespace headroom
