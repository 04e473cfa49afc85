// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace headroom {

inline constexpr const char* kHidden = "***";

/// Matches "--db-password", "AWS_SECRET_ACCESS_KEY", "apiKey", but not "--max-new-tokens".
bool is_secret_name(std::string_view name);

/// Hides their values ("--token=***", "--token ***"), passwords in URLs ("postgresql://me:***@server") and
/// the word after "Bearer".
std::vector<std::string> redact_secrets(std::vector<std::string> words);
/// For a shell command line.
std::string redact_secrets(std::string_view line);

}  // namespace headroom
