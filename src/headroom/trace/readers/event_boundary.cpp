// SPDX-License-Identifier: Apache-2.0
#include "headroom/trace/readers/event_boundary.h"

#include <array>

#include "headroom/base/text.h"

namespace headroom::trace::readers {
namespace {

constexpr std::array<std::string_view, 23> kEventKeys{
    "ph",    "cat",     "name",  "pid",   "tid",     "ts",       "dur",          "id",
    "args",  "s",       "bp",    "tts",   "tdur",    "sf",       "esf",          "id2",
    "scope", "bind_id", "cname", "stack", "flow_in", "flow_out", "use_async_tts"};

std::size_t after_space(std::string_view text, std::size_t at) {
  while (at < text.size() && is_json_space(text[at])) ++at;
  return at;
}

/// The character before `at` that is no white space, which is moved to it; 0 when there is none.
char before_space(std::string_view text, std::size_t& at) {
  while (at > 0) {
    if (!is_json_space(text[--at])) return text[at];
  }
  return '\0';
}

/// What stands before the brace decides how sure it is.
enum class Before { kEventAndComma, kComma };

bool is_boundary(std::string_view text, std::size_t brace, Before before) {
  std::size_t at = brace;
  if (before_space(text, at) != ',') return false;
  if (before == Before::kEventAndComma && before_space(text, at) != '}') return false;
  at = after_space(text, brace + 1);
  if (at >= text.size() || text[at] != '"') return false;
  const std::string_view rest = text.substr(at + 1, 16);
  for (const std::string_view key : kEventKeys) {
    if (!rest.starts_with(key) || key.size() >= rest.size() || rest[key.size()] != '"') continue;
    at = after_space(text, at + 1 + key.size() + 1);
    return at < text.size() && text[at] == ':';
  }
  return false;
}

}  // namespace

std::size_t next_event(std::string_view text, std::size_t from) {
  for (std::size_t at = text.find('{', from); at != text.npos; at = text.find('{', at + 1)) {
    if (is_boundary(text, at, Before::kComma)) return at;
  }
  return kNoBoundary;
}

std::size_t last_boundary(std::string_view text) {
  for (std::size_t end = text.size(); end > 0;) {
    const std::size_t at = text.rfind('{', end - 1);
    if (at == text.npos) break;
    if (is_boundary(text, at, Before::kEventAndComma)) return at;
    end = at;
  }
  return kNoBoundary;
}

}  // namespace headroom::trace::readers
