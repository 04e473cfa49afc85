// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace headroom {

/// What stands in the place of a secret.
inline constexpr const char* kHidden = "***";

/// Whether `name`, of an option, a variable or a key, is one whose value is nobody's business: a word of it
/// is "password", "secret", "token", "credential" or the like ("--db-password", "AWS_SECRET_ACCESS_KEY",
/// "apiKey"); not "--max-new-tokens".
bool names_a_secret(std::string_view name);

/// `words` of a command line with the values that names_a_secret hidden ("--token=***", "--token ***",
/// "DB_PASSWORD=***"), the passwords in URLs ("postgresql://me:***@server") and what follows "Bearer".
std::vector<std::string> without_secrets(std::vector<std::string> words);
/// The same of a line of a shell, whose words are parted by blanks.
std::string without_secrets(std::string_view line);

}  // namespace headroom
