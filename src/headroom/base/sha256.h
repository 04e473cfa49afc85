// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace headroom {

/// FIPS 180-4, 64 hexadecimal digits.
std::string sha256(std::string_view text);

/// RFC 2104, 64 hexadecimal digits.
std::string hmac_sha256(std::string_view key, std::string_view message);

/// The time depends only on the lengths.
bool constant_time_equal(std::string_view a, std::string_view b);

/// 128 bits from the kernel, as 32 hexadecimal digits. Throws Error.
std::string random_nonce();

}  // namespace headroom
