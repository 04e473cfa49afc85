// SPDX-License-Identifier: Apache-2.0
#include "headroom/trace/readers/json_members.h"

#include <fmt/format.h>

#include <cmath>

#include "headroom/trace/readers/json_repair.h"
#include "headroom/trace/readers/tolerant_scan.h"

namespace headroom::trace::readers {

void JsonMembers::add_key(std::string_view key) {
  if (!text_.empty()) text_ += ',';
  append_json_string(key, text_);
  text_ += ':';
}

void JsonMembers::add(std::string_view key, double value) {
  add_json(key, std::isfinite(value) ? fmt::format("{}", value) : "null");
}

void JsonMembers::add(std::string_view key, std::string_view text) {
  add_key(key);
  append_json_string(text, text_);
}

void JsonMembers::add_json(std::string_view key, std::string_view json) {
  add_key(key);
  text_ += json;
}

bool JsonMembers::add_members(std::string_view json) {
  std::string object = "{";
  object += json;
  object += '}';
  const std::size_t size = object.size();
  object.append(8, '\0');
  Structurals tokens;
  const Scan scan = scan_value(std::string_view(object).substr(0, size), 0, tokens);
  if (scan.end != Scan::End::kComplete || scan.at != size) return false;
  std::string clean;
  if (append_clean_value({object.data(), tokens.data()}, clean).at == nullptr) return false;
  if (clean.size() <= 2) return true;
  if (!text_.empty()) text_ += ',';
  text_ += std::string_view(clean).substr(1, clean.size() - 2);
  return true;
}

void JsonMembers::add_extent(std::string_view key, std::int64_t x, std::int64_t y, std::int64_t z) {
  add_json(key, fmt::format("[{},{},{}]", x, y, z));
}

bool has_key(std::string_view members, std::string_view key) {
  for (std::size_t at = members.find(key); at != members.npos; at = members.find(key, at + 1)) {
    const std::size_t end = at + key.size();
    if (at > 0 && members[at - 1] == '"' && members.substr(end).starts_with("\":")) return true;
  }
  return false;
}

}  // namespace headroom::trace::readers
