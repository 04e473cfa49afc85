// SPDX-License-Identifier: Apache-2.0
#include "headroom/base/json_codec.h"

#include <fmt/format.h>

#include <algorithm>

#include "headroom/base/error.h"

namespace headroom {

std::string JsonPath::text() const {
  if (parent_ == nullptr) return std::string(key_);
  return fmt::format("{}/{}", parent_->text(), key_.data() == nullptr ? std::to_string(index_) : key_);
}

void JsonPath::refuse(const std::string& what) const {
  throw Error(text() + ": " + what);
}

void JsonPath::expected(const std::string& what, const Json& found) const {
  refuse(fmt::format("expected {}, found {}", what, found.type_text()));
}

bool JsonCodec<bool>::read(const Json& json, const JsonPath& path) {
  if (!json.is_boolean()) path.expected("a boolean", json);
  return json.get<bool>();
}

std::string JsonCodec<std::string>::read(const Json& json, const JsonPath& path) {
  if (!json.is_string()) path.expected("a string", json);
  return json.string();
}

bool JsonCodec<std::string>::take(JsonCursor& cursor, std::string& value) {
  std::string_view text;
  if (!cursor.take_string(text)) return false;
  value = text;
  return true;
}

bool is_whole_number(const Json& json, std::int64_t least, std::uint64_t most) {
  if (json.is_number_unsigned()) {
    const auto value = json.get<std::uint64_t>();
    return value <= most && std::cmp_greater_equal(value, least);
  }
  return json.is_number_integer() && json.get<std::int64_t>() >= least;
}

void refuse_whole_number(const Json& json, const JsonPath& path, std::int64_t least, std::uint64_t most) {
  path.refuse(fmt::format("expected a whole number from {} up to {}, found {}", least, most,
                          json.is_number() ? dump_json(json) : json.type_text()));
}

std::size_t json_choice(const Json& json, const JsonPath& path, const std::vector<std::string_view>& names) {
  const std::string text = json_to<std::string>(json, path);
  const auto found = std::ranges::find(names, text);
  if (found == names.end())
    path.refuse(fmt::format("expected one of '{}', found '{}'", fmt::join(names, "', '"), text));
  return static_cast<std::size_t>(found - names.begin());
}

}  // namespace headroom
