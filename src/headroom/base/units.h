// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace headroom {

inline constexpr double kNsPerSecond = 1e9, kNsPerUs = 1e3;

/// "812 ns", "4.10 µs".
std::string format_time_ns(double ns);
/// "1.50 KiB", "32 MiB".
std::string format_bytes(double bytes);
/// Three significant digits: "0.00123", "98.3", "12300".
std::string format_number(double value);
/// "1.023"; three significant digits if that has none, or too many: "1.00e-05", "2.50e+07".
std::string format_ratio(double ratio);
/// "92.3 %" for 0.9234.
std::string format_percent(double share);

/// "500ms", "1.5 min"; a bare number is seconds. Throws Error.
double parse_time_ns(std::string_view text);
/// "0.5 %"; a bare number is a share of at most 1. Throws Error.
double parse_share(std::string_view text);
/// "64K", "32MiB", "4096", binary multiples. Throws Error.
std::int64_t parse_bytes(std::string_view text);

}  // namespace headroom
