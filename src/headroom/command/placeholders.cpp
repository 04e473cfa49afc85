// SPDX-License-Identifier: Apache-2.0
#include "headroom/command/placeholders.h"

#include <algorithm>
#include <functional>

#include "headroom/base/error.h"
#include "headroom/base/text.h"

namespace headroom {
namespace {

/// Calls `plain` with each plain character and `name` with each name in braces, in their order.
void walk(std::string_view text, const std::function<void(char)>& plain,
          const std::function<void(std::string_view)>& name) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c != '{' && c != '}') {
      plain(c);
    } else if (i + 1 < text.size() && text[i + 1] == c) {
      plain(c);
      ++i;
    } else {
      const std::size_t end = c == '{' ? text.find('}', i) : std::string_view::npos;
      if (end == std::string_view::npos) {
        throw Error("a brace without its partner in " + in_quotes(text) + "; a plain brace is written twice");
      }
      if (end == i + 1) throw Error("an empty placeholder {} in " + in_quotes(text));
      name(text.substr(i + 1, end - i - 1));
      i = end;
    }
  }
}

}  // namespace

std::vector<std::string> placeholder_names(std::string_view text) {
  std::vector<std::string> names;
  walk(
      text, [](char) {}, [&](std::string_view name) { names.emplace_back(name); });
  return names;
}

std::string fill_placeholders(std::string_view text, const Placeholders& values) {
  std::string result;
  walk(
      text, [&](char c) { result += c; },
      [&](std::string_view name) {
        const auto found = values.find(name);
        if (found == values.end()) {
          throw Error("nothing stands for the placeholder {" + std::string(name) + "} in " + in_quotes(text));
        }
        result += found->second;
      });
  return result;
}

std::string escape_unknown_placeholders(std::string_view text, const std::vector<std::string>& known) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::size_t end = text[i] == '{' ? text.find('}', i) : std::string_view::npos;
    const bool is_name = end != std::string_view::npos &&
                         std::ranges::find(known, text.substr(i + 1, end - i - 1)) != known.end();
    if (is_name) {
      result += text.substr(i, end - i + 1);
      i = end;
    } else {
      result += text[i];
      if (text[i] == '{' || text[i] == '}') result += text[i];
    }
  }
  return result;
}

}  // namespace headroom
