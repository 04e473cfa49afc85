// SPDX-License-Identifier: Apache-2.0
#include "headroom/trace/readers/json_descent.h"

#include <algorithm>
#include <utility>

#include "headroom/base/error.h"
#include "headroom/base/json.h"
#include "headroom/trace/readers/json_text.h"
#include "headroom/trace/readers/tolerant_scan.h"
#include "headroom/trace/readers/value_skip.h"

namespace headroom::trace::readers {

void JsonDescent::fail(std::string what) {
  if (damage_.empty()) damage_ = std::move(what);
}

void JsonDescent::skip() {
  is_used_ = true;
  const int first = feed_.peek();
  if (first == TextFeed::kEnd) return fail("the file ends inside its JSON");
  if (first == ',' || first == '}' || first == ']' || first == ':') return fail("a value is missing");
  for (ValueSkip value; !value.is_over();) {
    const std::size_t taken = value.take(feed_.text());
    feed_.consume(taken);
    if (!value.is_over() && !feed_.grow()) return fail("the file ends inside its JSON");
  }
}

/// Whether the list is over; goes past the comma before its next element.
bool JsonDescent::ends_list(char close, bool& is_first) {
  if (!damage_.empty()) return true;
  const int next = feed_.peek();
  if (next == close) {
    feed_.consume(1);
    return true;
  }
  if (next == TextFeed::kEnd) {
    fail("the file ends inside its JSON");
    return true;
  }
  if (!std::exchange(is_first, false)) {
    if (next != ',') {
      fail("a comma is missing");
      return true;
    }
    feed_.consume(1);
    // One at the end is forgiven.
    if (feed_.peek() == close) {
      feed_.consume(1);
      return true;
    }
  }
  return false;
}

void JsonDescent::object(const OnMember& on_member) {
  if (feed_.peek() != '{') return skip();
  feed_.consume(1);
  for (bool is_first = true; !ends_list('}', is_first);) {
    if (feed_.peek() != '"') return fail("the name of a member is missing");
    const auto name = take_text();
    if (!name || feed_.peek() != ':') return fail("a member has no value");
    feed_.consume(1);
    is_used_ = false;
    on_member(clean_text(without_quotes(*name)).text);
    if (!is_used_ && damage_.empty()) skip();
  }
  is_used_ = true;
}

void JsonDescent::array(const OnElement& on_element) {
  if (feed_.peek() != '[') return skip();
  feed_.consume(1);
  for (bool is_first = true; !ends_list(']', is_first);) {
    is_used_ = false;
    on_element();
    if (!is_used_ && damage_.empty()) skip();
  }
  is_used_ = true;
}

std::optional<std::string> JsonDescent::take_text() {
  problem_.clear();
  if (feed_.peek() == TextFeed::kEnd) {
    fail("the file ends inside its JSON");
    return std::nullopt;
  }
  const Scan scan = feed_.scan_whole(kLargest);
  if (scan.end != Scan::End::kComplete) {
    problem_ = scan.end == Scan::End::kBroken ? scan.what : "it has no end";
    skip();
    return std::nullopt;
  }
  std::string text(feed_.text().substr(0, scan.at));
  feed_.consume(scan.at);
  is_used_ = true;
  return text;
}

std::optional<Json> JsonDescent::take() {
  const auto text = take_text();
  if (!text) return std::nullopt;
  try {
    return parse_json(*text, "a value");
  } catch (const Error& error) {
    problem_ = error.what();
    return std::nullopt;
  }
}

const Json& member_at(const Json& object, std::string_view key) {
  static const Json kNull(nullptr);
  const Json* const member = object.is_object() ? object.find(key) : nullptr;
  return member == nullptr ? kNull : *member;
}

std::int64_t whole_at(const Json& object, std::string_view key, std::int64_t absent) {
  const Json& member = member_at(object, key);
  if (member.is_number_integer()) return parse_whole(dump_json(member)).value_or(absent);
  return member.is_string() ? parse_whole(member.string()).value_or(absent) : absent;
}

std::string_view text_at(const Json& object, std::string_view key) {
  const Json& member = member_at(object, key);
  return member.is_string() ? std::string_view(member.string()) : std::string_view{};
}

}  // namespace headroom::trace::readers
