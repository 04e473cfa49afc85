// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace headroom {

/// Replacement text for a secret.
inline constexpr const char* kHidden = "***";

/// Whether `name` (of an option, a variable or a key) denotes a secret: one of its words is "password",
/// "secret", "token", "credential" or the like ("--db-password", "AWS_SECRET_ACCESS_KEY", "apiKey").
/// "--max-new-tokens" does not.
bool names_a_secret(std::string_view name);

/// The command line `words` without secrets. Hides values of names_a_secret names ("--token=***", "--token
/// ***", "DB_PASSWORD=***"), passwords in URLs ("postgresql://me:***@server") and the word after "Bearer".
std::vector<std::string> without_secrets(std::vector<std::string> words);
/// The same for a shell command line with words separated by blanks.
std::string without_secrets(std::string_view line);

}  // namespace headroom
