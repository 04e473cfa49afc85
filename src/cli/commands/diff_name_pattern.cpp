// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/diff_name_pattern.h"

#include <array>

#include "headroom/base/error.h"
#include "headroom/base/text.h"

namespace headroom::cli {

NamePattern::NamePattern(const std::string& expression) {
  const int error = ::regcomp(&compiled_, expression.c_str(), REG_EXTENDED | REG_NOSUB);
  if (error == 0) return;
  std::array<char, 200> reason{};
  ::regerror(error, &compiled_, reason.data(), reason.size());
  throw Error(in_quotes(expression) + " is no regular expression: " + reason.data());
}

NamePattern::~NamePattern() {
  ::regfree(&compiled_);
}

bool NamePattern::is_in(const std::string& name) const {
  return ::regexec(&compiled_, name.c_str(), 0, nullptr, 0) == 0;
}

}  // namespace headroom::cli
