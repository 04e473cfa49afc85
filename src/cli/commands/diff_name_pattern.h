// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <regex.h>

#include <string>

namespace headroom::cli {

/// An extended regular expression (POSIX) that a name may hold anywhere. Unlike std::regex it does not
/// overflow the stack on long names.
class NamePattern {
 public:
  /// Throws Error where `expression` is none.
  explicit NamePattern(const std::string& expression);
  ~NamePattern();
  NamePattern(const NamePattern&) = delete;
  NamePattern& operator=(const NamePattern&) = delete;

  bool is_in(const std::string& name) const;

 private:
  regex_t compiled_{};
};

}  // namespace headroom::cli
