// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <regex.h>

#include <array>
#include <optional>
#include <string>

#include "headroom/base/error.h"
#include "headroom/base/text.h"

namespace headroom {

/// POSIX extended regular expression. Unlike std::regex it cannot overflow the stack.
class RegularExpression {
 public:
  /// Throws Error.
  explicit RegularExpression(const std::string& text) {
    const int error = ::regcomp(&compiled_, text.c_str(), REG_EXTENDED);
    if (error == 0) return;
    std::array<char, 256> reason{};
    ::regerror(error, &compiled_, reason.data(), reason.size());
    throw Error(quote(text) + " is not a regular expression: " + reason.data());
  }
  ~RegularExpression() { ::regfree(&compiled_); }
  RegularExpression(const RegularExpression&) = delete;
  RegularExpression& operator=(const RegularExpression&) = delete;

  std::size_t groups() const { return compiled_.re_nsub; }
  bool is_in(const std::string& text) const {
    return ::regexec(&compiled_, text.c_str(), 0, nullptr, 0) == 0;
  }
  /// Returns the first group of the first match; without groups, the match.
  std::optional<std::string> find(const std::string& text) const {
    std::array<regmatch_t, 2> matches{};
    if (::regexec(&compiled_, text.c_str(), matches.size(), matches.data(), 0) != 0) return std::nullopt;
    const regmatch_t& match = groups() > 0 ? matches[1] : matches[0];
    if (match.rm_so < 0) return std::nullopt;
    return text.substr(static_cast<std::size_t>(match.rm_so),
                       static_cast<std::size_t>(match.rm_eo - match.rm_so));
  }

 private:
  regex_t compiled_{};
};

}  // namespace headroom
