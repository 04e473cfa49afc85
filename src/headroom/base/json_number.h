// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace headroom {

/// The end of the JSON number at `at`, or nullptr where there is none. A zero byte must follow the text.
const char* json_number_end(const char* at);

/// The double nearest to a JSON number; infinity or zero beyond what a double holds.
double json_number_value(std::string_view token);

/// A JSON number that is whole and from 0 to 2^64 - 1 without point or exponent, or nothing.
std::optional<std::uint64_t> json_whole_number(std::string_view token);

}  // namespace headroom
