// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace headroom {

/// SHA-256 (FIPS 180-4), 64 hexadecimal digits.
std::string sha256(std::string_view text);

/// HMAC-SHA256 (RFC 2104), 64 hexadecimal digits.
std::string hmac_sha256(std::string_view key, std::string_view message);

/// Compares in a time that depends on the lengths only.
bool constant_time_equal(std::string_view a, std::string_view b);

/// 128 bits from the kernel's random generator, as 32 hexadecimal digits. Throws Error.
std::string random_nonce();

}  // namespace headroom
