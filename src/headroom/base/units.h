// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace headroom {

inline constexpr double kNsPerSecond = 1e9, kNsPerUs = 1e3;

/// "812 ns", "4.10 µs", "1.25 ms", "2.00 s": three significant digits.
std::string format_time_ns(double ns);
/// "1.50 KiB", "32 MiB".
std::string format_bytes(double bytes);
/// Three significant digits without an exponent for ordinary sizes: "0.00123", "4.10", "98.3", "12300".
std::string format_number(double value);
/// A share as a percentage: 0.9234 -> "92.3 %".
std::string format_percent(double share);

/// Parses "500ms", "2s", "1.5 min", "10us"; a bare number is seconds. Returns nanoseconds. Throws Error.
double parse_time_ns(std::string_view text);
/// Parses "1%", "0.5 %"; a bare number is a share of at most 1 (0.01). Returns the share. Throws Error, for
/// example for 3, which probably means 3 %.
double parse_share(std::string_view text);
/// Parses "64K", "32MiB", "1G", "4096" with binary multiples. Throws Error.
std::int64_t parse_bytes(std::string_view text);

}  // namespace headroom
