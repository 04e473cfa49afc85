// SPDX-License-Identifier: Apache-2.0
#include "headroom_trace/json/text_feed.h"

#include <cstring>
#include <utility>

#include "headroom/base/error.h"
#include "headroom_trace/json/json_text.h"

namespace headroom::trace::readers {
namespace {

void append_to(PaddedText& text, std::string_view more) {
  std::memcpy(text.reserve_space(more.size()), more.data(), more.size());
  text.added(more.size());
}

}  // namespace

void TextFeed::make_front_free() {
  if (start_ == 0) return;
  PaddedText rest;
  append_to(rest, text());
  pending_ = std::move(rest);
  start_ = 0;
}

bool TextFeed::grow() {
  if (ended_) return false;
  make_front_free();
  return read_more(std::max(window_bytes_, pending_.size())) > 0;
}

std::size_t TextFeed::read_more(std::size_t wanted) {
  char* const buffer = pending_.reserve_space(wanted);
  const std::size_t count = source_.read(buffer, wanted);
  if (syntax_ != nullptr) syntax_->take({buffer, count});
  pending_.added(count);
  ended_ = count == 0;
  return count;
}

void TextFeed::consume(std::size_t count) {
  start_ += count;
  offset_ += count;
}

int TextFeed::peek() {
  do {
    const std::size_t space = std::min(text().find_first_not_of(" \n\r\t"), text().size());
    consume(space);
    if (!text().empty()) return static_cast<unsigned char>(text().front());
  } while (grow());
  return kEnd;
}

Scan TextFeed::scan_whole(std::size_t most) {
  Structurals structurals;
  for (;;) {
    structurals.clear();
    const Scan scan = scan_value(text(), 0, structurals);
    // A number may continue in unread text.
    const bool may_go_on = scan.end == Scan::End::kOpen || scan.at == text().size();
    if (!may_go_on || text().size() > most || !grow()) return scan;
  }
}

Window TextFeed::take_window(PaddedText buffer) {
  make_front_free();
  std::size_t end = kNoBoundary;
  for (std::size_t wanted = window_bytes_; end == kNoBoundary; wanted *= 2) {
    while (!ended_ && pending_.size() < wanted) read_more(wanted - pending_.size());
    end = ended_ ? pending_.size() : last_boundary(pending_.view());
  }
  Window window{std::move(pending_), offset_, ended_};
  pending_ = std::move(buffer);
  pending_.shorten(0);
  append_to(pending_, window.text.view().substr(end));
  window.text.shorten(end);
  offset_ += end;
  return window;
}

void TextFeed::put_back(const std::vector<Window>& windows, std::size_t from) {
  if (windows.empty()) return;
  offset_ = windows.front().offset + from;
  PaddedText all;
  for (const Window& window : windows) {
    append_to(all, window.text.view().substr(from));
    from = 0;
  }
  append_to(all, text());
  pending_ = std::move(all);
  start_ = 0;
}

void JsonDescent::fail(std::string what) {
  if (damage_.empty()) damage_ = std::move(what);
}

void JsonDescent::skip() {
  is_used_ = true;
  const int first = feed_.peek();
  if (first == TextFeed::kEnd) return fail("the file ends inside its JSON");
  if (first == ',' || first == '}' || first == ']' || first == ':') return fail("a value is missing");
  for (ValueSkipper value; !value.is_over();) {
    const std::size_t taken = value.take(feed_.text());
    feed_.consume(taken);
    if (!value.is_over() && !feed_.grow()) return fail("the file ends inside its JSON");
  }
}

/// Skips the comma unless the list has ended.
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

std::int64_t integer_at(const Json& object, std::string_view key, std::int64_t absent) {
  const Json& member = member_at(object, key);
  if (member.is_number_integer()) return parse_integer(dump_json(member)).value_or(absent);
  return member.is_string() ? parse_integer(member.string()).value_or(absent) : absent;
}

std::string_view text_at(const Json& object, std::string_view key) {
  const Json& member = member_at(object, key);
  return member.is_string() ? std::string_view(member.string()) : std::string_view{};
}

}  // namespace headroom::trace::readers
