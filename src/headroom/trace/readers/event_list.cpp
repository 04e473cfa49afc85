// SPDX-License-Identifier: Apache-2.0
#include "headroom/trace/readers/event_list.h"

#include <fmt/format.h>

#include <algorithm>

#include "headroom/trace/readers/event_boundary.h"

namespace headroom::trace::readers {

EventList::End EventList::read(std::uint32_t at) {
  at_ = at;
  for (;;) {
    at_ = skip_space(text_, at_);
    if (at_ >= text_.size()) return is_last_ ? End::kCutOff : End::kTextEnd;
    const char c = text_[at_];
    if (c == '{') {
      if (!read_event()) return is_last_ ? End::kCutOff : End::kOpen;
    } else if (c == ',') {
      ++at_;
      after_event_ = false;
    } else if (c == ']') {
      ++at_;
      return End::kListEnd;
    } else if (c == '}') {
      batch_.add_problem(offset_ + at_, "a } that closes nothing");
      ++at_;
    } else if (!skip_other_element()) {
      return is_last_ ? End::kCutOff : End::kOpen;
    }
  }
}

bool EventList::read_event() {
  if (after_event_) batch_.add_problem(offset_ + at_, "no comma between two events");
  after_event_ = true;
  return read_by_tokens() || scan_event();
}

bool EventList::read_by_tokens() {
  if (tokens_.empty()) return false;
  while (token_ + 1 < tokens_.size() && tokens_[token_] < at_) ++token_;
  if (tokens_[token_] != at_) return false;
  const Walk after = take({text_.data(), &tokens_[token_]}, at_);
  if (after.at == nullptr) return false;
  at_ = after.at[-1] + 1;
  token_ = static_cast<std::size_t>(after.at - tokens_.data());
  return true;
}

bool EventList::scan_event() {
  structurals_.clear();
  const std::uint32_t start = at_;
  const Scan scan = scan_value(text_, start, structurals_);
  if (scan.end == Scan::End::kBroken) return recover(start, scan.at, scan.what);
  if (scan.end == Scan::End::kOpen) {
    if (!is_last_) return false;
    return recover(start, static_cast<std::uint32_t>(text_.size()), "the text ends inside it");
  }
  if (take({text_.data(), structurals_.data()}, start).at == nullptr) {
    ++batch_.seen;
    batch_.skip_event(offset_ + start, "an event that cannot be read");
  } else if (scan.had_control) {
    batch_.add_problem(offset_ + start, "a control character that is not escaped, in a text of this event");
  } else if (scan.had_inner_quote) {
    batch_.add_problem(offset_ + start, "a quote that is not escaped, in a text of this event");
  }
  at_ = scan.at;
  return true;
}

bool EventList::skip_other_element() {
  structurals_.clear();
  const std::uint32_t start = at_;
  const Scan scan = scan_value(text_, start, structurals_);
  const bool is_complete = scan.end == Scan::End::kComplete;
  const std::uint32_t next = is_complete ? skip_space(text_, scan.at) : scan.at;
  if (!is_last_ && (scan.end == Scan::End::kOpen || next >= text_.size())) return false;
  const bool is_element =
      is_complete && next < text_.size() && (text_[next] == ',' || text_[next] == ']' || text_[next] == '{');
  if (!is_element) return recover(start, next, "not an event");
  ++batch_.seen;
  batch_.skip_event(offset_ + start, "an element of the list that is no event");
  at_ = scan.at;
  after_event_ = false;
  return true;
}

/// Counts the event at `from` as lost and goes to the next one that can be found, or to the end of the list.
bool EventList::recover(std::uint32_t from, std::uint32_t broken_at, const char* what) {
  const std::size_t next = next_event(text_, from + 1);
  const std::uint32_t list_end = list_end_between(from, next);
  const bool found = next != kNoBoundary || list_end != kNone;
  if (!found && !is_last_) return false;
  ++batch_.seen;
  batch_.skip_event(offset_ + from,
                    fmt::format("an event that cannot be read: {}, at byte {}", what, offset_ + broken_at));
  at_ = static_cast<std::uint32_t>(std::min<std::size_t>({next, list_end, text_.size()}));
  after_event_ = false;
  return found;
}

/// The ] that ends the list: after a }, and before the end of the file or another member beside the list.
std::uint32_t EventList::list_end_between(std::uint32_t from, std::size_t to) const {
  const std::string_view text = text_.substr(0, to);
  for (std::size_t at = text.find(']', from); at != text.npos; at = text.find(']', at + 1)) {
    const std::size_t before = at == 0 ? text.npos : text.find_last_not_of(" \n\r\t", at - 1);
    if (before == text.npos || text[before] != '}') continue;
    std::uint32_t after = skip_space(text, static_cast<std::uint32_t>(at + 1));
    if (after < text.size() && text[after] == ',') {
      after = skip_space(text, after + 1);
      if (after >= text.size() || text[after] != '"') continue;
      const std::size_t quote = text.find('"', after + 1);
      if (quote == text.npos) continue;
      after = skip_space(text, static_cast<std::uint32_t>(quote + 1));
      if (after < text.size() && text[after] == ':') return static_cast<std::uint32_t>(at);
      continue;
    }
    if (after < text.size() && text[after] == '}') after = skip_space(text, after + 1);
    if (after >= text_.size() && is_last_) return static_cast<std::uint32_t>(at);
  }
  return kNone;
}

}  // namespace headroom::trace::readers
