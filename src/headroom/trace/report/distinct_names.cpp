// SPDX-License-Identifier: Apache-2.0
#include "headroom/trace/report/distinct_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>

#include "headroom/base/text.h"

namespace headroom {
namespace {

constexpr const char* kCut = "…";

bool is_inside_character(char c) {
  return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U;
}

/// Bytes of the first `characters` characters of UTF-8.
std::size_t bytes_of(std::string_view text, std::size_t characters) {
  std::size_t at = 0;
  while (at < text.size() && characters > 0) {
    ++at;
    while (at < text.size() && is_inside_character(text[at])) ++at;
    --characters;
  }
  return at;
}

std::string_view first_characters(std::string_view text, std::size_t characters) {
  return text.substr(0, bytes_of(text, characters));
}

std::string_view last_characters(std::string_view text, std::size_t characters) {
  const std::size_t width = display_width(std::string(text));
  return width <= characters ? text : text.substr(bytes_of(text, width - characters));
}

std::string shortened(const std::string& text, std::size_t most) {
  if (display_width(text) <= most) return text;
  const std::size_t head = most * 2 / 3, tail = most - head - 1;
  return fmt::format("{}{}{}", first_characters(text, head), kCut, last_characters(text, tail));
}

/// Bytes that all of the names begin with, between characters.
std::size_t shared_beginning(const std::vector<const std::string*>& names) {
  const std::string& first = *names.front();
  std::size_t shared = first.size();
  for (const std::string* name : names) {
    const auto differing = std::mismatch(first.begin(), first.end(), name->begin(), name->end()).first;
    shared = std::min(shared, static_cast<std::size_t>(differing - first.begin()));
  }
  while (shared > 0 && shared < first.size() && is_inside_character(first[shared])) --shared;
  return shared;
}

/// The beginning, what follows `shared` bytes with a little of what stands before them, and the end.
std::string shortened_around(const std::string& name, std::size_t shared, std::size_t most) {
  constexpr std::size_t kBefore = 4;
  const std::size_t head = most / 3, around = most / 3, tail = most - head - around - 2;
  const std::string_view before = last_characters(std::string_view(name).substr(0, shared), kBefore);
  const std::size_t from = shared - before.size();
  const std::string_view differing = first_characters(std::string_view(name).substr(from), around);
  const std::size_t rest = from + differing.size();
  const std::string_view end = last_characters(std::string_view(name).substr(rest), tail);
  return fmt::format("{}{}{}{}{}", first_characters(std::string_view(name).substr(0, from), head), kCut,
                     differing, rest + end.size() < name.size() ? kCut : "", end);
}

using ByText = std::map<std::string, std::vector<const std::string*>>;

/// Gives the names that are alone with their text that text, and looks closer at the others.
void settle(const ByText& by_text, std::size_t most, std::size_t looked_at,
            std::map<std::string, std::string>& chosen) {
  for (const auto& [text, names] : by_text) {
    if (names.size() == 1) {
      chosen[*names.front()] = text;
      continue;
    }
    const std::size_t shared = shared_beginning(names);
    ByText closer;
    for (const std::string* name : names) closer[shortened_around(*name, shared, most)].push_back(name);
    // Each look is at a later place, and the first one may have left all of them together.
    if (closer.size() > 1 || shared > looked_at) {
      settle(closer, most, shared, chosen);
      continue;
    }
    std::size_t number = 0;
    for (const std::string* name : names) chosen[*name] = fmt::format("{} #{}", text, ++number);
  }
}

/// Numbers those that got the text of a name of another group.
void number_repeats(const std::vector<std::string>& names, std::map<std::string, std::string>& chosen) {
  std::set<std::string> taken, done;
  for (const std::string& name : names) {
    if (!done.insert(name).second) continue;
    std::string& text = chosen[name];
    const std::string plain = text;
    for (std::size_t number = 2; !taken.insert(text).second; ++number)
      text = fmt::format("{} #{}", plain, number);
  }
}

}  // namespace

std::vector<std::string> shortened_names(const std::vector<std::string>& names, std::size_t most) {
  const std::set<std::string> distinct(names.begin(), names.end());
  ByText by_text;
  for (const std::string& name : distinct) by_text[shortened(name, most)].push_back(&name);
  std::map<std::string, std::string> chosen;
  settle(by_text, most, 0, chosen);
  number_repeats(names, chosen);
  std::vector<std::string> texts;
  texts.reserve(names.size());
  for (const std::string& name : names) texts.push_back(chosen[name]);
  return texts;
}

}  // namespace headroom
