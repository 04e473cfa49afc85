// SPDX-License-Identifier: Apache-2.0
#include "headroom/trace/readers/event_list.h"

#include <fmt/format.h>

#include <algorithm>

#include "headroom/trace/readers/event_boundary.h"

namespace headroom::trace {

TolerantEventList::End TolerantEventList::read(std::uint32_t at) {
  at_ = at;
  end_ = is_last_ ? End::kCutOff : End::kTextEnd;
  for (;;) {
    at_ = skip_space(text_, at_);
    if (at_ >= text_.size()) return end_;
    const char c = text_[at_];
    if (c == ',') {
      ++at_;
      after_element_ = false;
    } else if (c == ']') {
      ++at_;
      return end_ = End::kListEnd;
    } else if (c == '}') {
      batch_.add_problem(offset_ + at_, "a } that closes nothing");
      ++at_;
    } else if (c == '{' ? !read_element() : !skip_other_element()) {
      return end_;
    }
  }
}

bool TolerantEventList::read_element() {
  if (after_element_) batch_.add_problem(offset_ + at_, "no comma between two events");
  structurals_.clear();
  const std::uint32_t start = at_;
  const Scan scan = scan_value(text_, start, structurals_);
  if (scan.end == Scan::End::kBroken) return recover(start, scan.at, scan.what);
  if (scan.end == Scan::End::kOpen) {
    if (!is_last_) return false;
    return recover(start, static_cast<std::uint32_t>(text_.size()), "the text ends inside it");
  }
  Walk walk{text_.data(), structurals_.data(), structurals_.data() + structurals_.size() - 1};
  if (!reader_.read(walk, offset_ + start, batch_)) {
    ++batch_.seen;
    batch_.skip_event(offset_ + start, "an event that cannot be read");
  } else if (scan.had_control) {
    batch_.add_problem(offset_ + start, "a control character that is not escaped, in a text of this event");
  } else if (scan.had_inner_quote) {
    batch_.add_problem(offset_ + start, "a quote that is not escaped, in a text of this event");
  }
  at_ = scan.at;
  after_element_ = true;
  return true;
}

bool TolerantEventList::skip_other_element() {
  structurals_.clear();
  const std::uint32_t start = at_;
  const Scan scan = scan_value(text_, start, structurals_);
  if (scan.end == Scan::End::kOpen && !is_last_) return false;
  const std::uint32_t next = scan.end == Scan::End::kComplete ? skip_space(text_, scan.at) : scan.at;
  if (next >= text_.size() && !is_last_) return false;
  const bool is_element = scan.end == Scan::End::kComplete && next < text_.size() &&
                          (text_[next] == ',' || text_[next] == ']' || text_[next] == '{');
  if (!is_element) return recover(start, next, "not an event");
  ++batch_.seen;
  batch_.skip_event(offset_ + start, "an element of the list that is no event");
  at_ = scan.at;
  after_element_ = text_[next] == ',';
  return true;
}

/// Counts the event at `from` as lost and goes to the next one that can be found, or to the end of the list.
bool TolerantEventList::recover(std::uint32_t from, std::uint32_t broken_at, const char* what) {
  const std::size_t next = next_event(text_, from + 1);
  const std::uint32_t list_end = list_end_after(from);
  if (next == kNoBoundary && list_end == kNone && !is_last_) {
    at_ = from;
    return false;
  }
  ++batch_.seen;
  batch_.skip_event(offset_ + from,
                    fmt::format("an event that cannot be read: {}, at byte {}", what, offset_ + broken_at));
  if (next == kNoBoundary && list_end == kNone) {
    at_ = static_cast<std::uint32_t>(text_.size());
    return false;
  }
  at_ = static_cast<std::uint32_t>(std::min<std::size_t>(next, list_end));
  after_element_ = false;
  return true;
}

/// The ] that ends the list: after a }, and before the end of the file or another member beside the list.
std::uint32_t TolerantEventList::list_end_after(std::uint32_t from) const {
  for (std::size_t at = text_.find(']', from); at != text_.npos; at = text_.find(']', at + 1)) {
    const std::size_t before = text_.find_last_not_of(" \n\r\t", at - 1);
    if (at == 0 || before == text_.npos || text_[before] != '}') continue;
    std::uint32_t after = skip_space(text_, static_cast<std::uint32_t>(at + 1));
    if (after < text_.size() && text_[after] == ',') {
      after = skip_space(text_, after + 1);
      if (after >= text_.size() || text_[after] != '"') continue;
      const std::size_t quote = text_.find('"', after + 1);
      if (quote == text_.npos) continue;
      after = skip_space(text_, static_cast<std::uint32_t>(quote + 1));
      if (after < text_.size() && text_[after] == ':') return static_cast<std::uint32_t>(at);
      continue;
    }
    if (after < text_.size() && text_[after] == '}') after = skip_space(text_, after + 1);
    if (after >= text_.size() && is_last_) return static_cast<std::uint32_t>(at);
  }
  return kNone;
}

}  // namespace headroom::trace
