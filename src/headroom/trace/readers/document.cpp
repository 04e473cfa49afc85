// SPDX-License-Identifier: Apache-2.0
#include "headroom/trace/readers/document.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "headroom/base/error.h"
#include "headroom/base/text.h"
#include "headroom/trace/readers/event_boundary.h"
#include "headroom/trace/readers/json_repair.h"
#include "headroom/trace/readers/json_text.h"
#include "headroom/trace/readers/metadata.h"
#include "headroom/trace/readers/value_skip.h"

namespace headroom::trace::readers {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
constexpr std::string_view kListKey = "\"traceEvents\"";
constexpr std::size_t kLongestKey = std::size_t{1} << 16;
constexpr std::size_t kLongestMetadata = std::size_t{1} << 28;
/// Kept of a piece that has been searched, so that what lies across two of them is found.
constexpr std::size_t kOverlap = 4096;

/// Where a list of events begins as a member: the place of its key.
std::size_t find_list(std::string_view text) {
  for (std::size_t at = text.find(kListKey); at != text.npos; at = text.find(kListKey, at + 1)) {
    std::uint32_t after = skip_space(text, static_cast<std::uint32_t>(at + kListKey.size()));
    if (after >= text.size() || text[after] != ':') continue;
    after = skip_space(text, after + 1);
    if (after < text.size() && text[after] == '[') return at;
  }
  return text.npos;
}

/// A whole value as strict JSON; empty where its tokens make none.
std::string strict(std::string_view value) {
  const std::string text(value);  // a walk needs a zero after the end
  Structurals tokens;
  if (scan_value(text, 0, tokens).end != Scan::End::kComplete) return {};
  std::string json;
  return append_clean_value({text.data(), tokens.data()}, json).at != nullptr ? json : std::string();
}

}  // namespace

void Document::read() {
  feed_.grow();
  first_text_ = feed_.text().substr(0, 64);
  if (feed_.text().starts_with(kByteOrderMark)) feed_.consume(kByteOrderMark.size());
  const int first = feed_.peek();
  if (first != '[' && first != '{') fail_as_no_trace();
  feed_.consume(1);
  if (first == '[') {
    read_list();
  } else {
    read_members();
    while (!has_list_ && go_to_list_of_events()) {
      add_problem("the list of events is not where it should be");
      read_members();
    }
  }
  if (!has_list_) fail_as_no_trace();
  read_rest();
  check_syntax();
  assembly_.finish();
  trace_.json_bytes = feed_.offset();
}

void Document::read_members() {
  for (;;) {
    const int c = feed_.peek();
    if (c == '}') return feed_.consume(1);
    if (c == ',') {
      feed_.consume(1);
    } else if (c == TextFeed::kEnd) {
      trace_.is_complete = false;
      return;
    } else if (c != '"' || !read_member()) {
      return;
    }
  }
}

bool Document::read_member() {
  const Scan key = feed_.scan_whole(kLongestKey);
  if (key.end != Scan::End::kComplete) {
    if (key.end == Scan::End::kOpen) trace_.is_complete = false;
    add_problem("the name of a member has no end");
    return false;
  }
  const std::string name(without_quotes(feed_.text().substr(0, key.at)));
  feed_.consume(key.at);
  if (const int colon = feed_.peek(); colon != ':') {
    if (colon == TextFeed::kEnd) trace_.is_complete = false;
    add_problem(fmt::format("{} has no value", in_quotes(name)));
    return false;
  }
  feed_.consume(1);
  if (feed_.peek() == '[' && name == "traceEvents") {
    feed_.consume(1);
    read_list();
    return true;
  }
  if (!is_metadata_key(name)) return (sink_ != nullptr && rewrite_member(name)) || skip_value();
  const Scan value = feed_.scan_whole(kLongestMetadata);
  if (value.end != Scan::End::kComplete) {
    if (value.end == Scan::End::kOpen) trace_.is_complete = false;
    add_problem(fmt::format("{} cannot be read: {}", in_quotes(name),
                            value.end == Scan::End::kBroken ? value.what : "it has no end"));
    return false;
  }
  if (sink_ != nullptr) sink_->member(clean_text(name).text, strict(feed_.text().substr(0, value.at)));
  read_metadata(name, feed_.text().substr(0, value.at), feed_.offset(), trace_);
  feed_.consume(value.at);
  return true;
}

/// False, with nothing consumed, where the value is broken or too long to be held.
bool Document::rewrite_member(const std::string& name) {
  const Scan value = feed_.scan_whole(kLongestMetadata);
  if (value.end != Scan::End::kComplete) return false;
  const std::string json = strict(feed_.text().substr(0, value.at));
  if (json.empty()) return false;
  sink_->member(clean_text(name).text, json);
  feed_.consume(value.at);
  return true;
}

void Document::read_list() {
  has_list_ = true;
  if (!events_.read_list()) trace_.is_complete = false;
}

/// Nothing should be left now. Events that come nevertheless are read: the list, or the object, was closed
/// too early.
void Document::read_rest() {
  while (feed_.peek() != TextFeed::kEnd) {
    const std::size_t next = next_event(feed_.text(), 0);
    if (next != kNoBoundary) {
      add_problem("the list of events seems to end here, but more of them follow");
      feed_.consume(next);
      read_list();
      if (feed_.peek() == ',' || feed_.peek() == '}') read_members();
      continue;
    }
    const std::size_t size = feed_.text().size();
    if (feed_.grow()) {
      if (size > kOverlap) feed_.consume(size - kOverlap);
      continue;
    }
    add_problem("the text goes on after the end of the trace");
    feed_.consume(feed_.text().size());
  }
}

/// Stops at a list of events inside the value while none has been found: a quote that is not escaped, before
/// it, makes the rest of the file look like one value.
bool Document::skip_value() {
  ValueSkip skip;
  std::size_t searched = 0;  // of the feed's text, by `skip`
  for (;;) {
    const std::string_view text = feed_.text();
    searched += skip.take(text.substr(searched));
    if (const std::size_t list = has_list_ ? text.npos : find_list(text); list < searched) {
      add_problem("a list of events inside of another member");
      feed_.consume(list);
      return true;
    }
    if (skip.is_over()) {
      feed_.consume(searched);
      return true;
    }
    const std::size_t done = has_list_ ? searched : searched - std::min(searched, kOverlap);
    feed_.consume(done);
    searched -= done;
    if (feed_.grow()) continue;
    feed_.consume(searched);
    trace_.is_complete = false;
    return true;
  }
}

bool Document::go_to_list_of_events() {
  for (;;) {
    const std::size_t at = find_list(feed_.text());
    if (at != std::string_view::npos) {
      feed_.consume(at);
      return true;
    }
    const std::size_t size = feed_.text().size();
    feed_.consume(size - std::min(size, kOverlap));
    if (!feed_.grow()) return false;
  }
}

void Document::add_problem(std::string what) {
  append(trace_.problems, {1, 0, {{feed_.offset(), std::move(what)}}});
}

/// Only where nothing else is said: what else is amiss is located better, and none of it is JSON.
void Document::check_syntax() {
  if (!syntax_ || !trace_.is_complete || trace_.problems.count > 0) return;
  if (const auto& fault = syntax_->fault()) {
    append(trace_.problems,
           {1, 0, {{fault->offset, fmt::format("no JSON parser takes this text: {}", fault->what)}}});
  }
}

void Document::fail_as_no_trace() const {
  const std::string_view text = first_text_;
  const std::uint32_t at = skip_space(text, 0);
  if (at >= text.size()) throw Error("it is empty; write the trace again");
  if (text[at] == '{') {
    throw Error(
        "it is JSON, or starts like it, but has no list of events (traceEvents); give a trace that a "
        "profiler wrote");
  }
  throw Error(fmt::format("it is no Chrome trace: it starts with {}; give the JSON that a profiler wrote",
                          in_quotes(text.substr(at, 20))));
}

}  // namespace headroom::trace::readers
