// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <string_view>
#include <utility>

namespace headroom::cli {

/// Text for people, as a terminal may see it: names of kernels and cases and what programs say are of
/// strangers (visible()). All that the command line prints but JSON goes through here.
void print_text(std::string_view text, std::FILE* out);

/// "headroom: " and a sentence on standard error.
void say_sentence(std::string_view sentence);
template <typename... Args>
void say(fmt::format_string<Args...> format, Args&&... args) {
  say_sentence(fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace headroom::cli
