// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace headroom {

/// SHA-256 (FIPS 180-4) of `text`, 64 hexadecimal digits.
std::string sha256(std::string_view text);

/// HMAC-SHA256 (RFC 2104) of `message`, 64 hexadecimal digits.
std::string hmac_sha256(std::string_view key, std::string_view message);

/// Whether two texts are equal. The time depends on their lengths only.
bool equal_secrets(std::string_view a, std::string_view b);

/// A number that nobody can guess and that does not come twice: 32 hexadecimal digits of the kernel's. Throws
/// Error.
std::string random_nonce();

}  // namespace headroom
