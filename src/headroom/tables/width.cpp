// SPDX-License-Identifier: Apache-2.0
#include "headroom/tables/width.h"

#include <utf8proc.h>

#include <algorithm>

namespace headroom {
namespace {

constexpr bool is_ascii_graphic(char c) {
  return c >= 0x20 && c < 0x7F;
}

/// Grapheme clusters of a text (UAX #29).
class Clusters {
 public:
  explicit Clusters(std::string_view text) : rest_(text) {}

  bool next() {
    if (rest_.empty()) return false;
    width_ = 0;
    std::size_t end = take(0);
    for (utf8proc_int32_t before = code_; end < rest_.size(); before = code_) {
      const std::size_t after = take_if_joined(before, end);
      if (after == end) break;
      end = after;
    }
    state_ = 0;
    length_ += end;
    rest_.remove_prefix(end);
    return true;
  }
  std::size_t width() const { return width_; }
  std::size_t length() const { return length_; }

 private:
  static constexpr utf8proc_int32_t kEmojiStyle = 0xFE0F;

  std::size_t decode(std::size_t at) {
    const std::string_view text = rest_.substr(at);
    const auto* bytes = reinterpret_cast<const utf8proc_uint8_t*>(text.data());
    const utf8proc_ssize_t count =
        utf8proc_iterate(bytes, static_cast<utf8proc_ssize_t>(text.size()), &code_);
    return count > 0 ? static_cast<std::size_t>(count) : 1;  // code_ is -1 then
  }
  std::size_t take(std::size_t at) {
    const std::size_t count = decode(at);
    widen();
    return at + count;
  }
  std::size_t take_if_joined(utf8proc_int32_t before, std::size_t at) {
    const std::size_t count = decode(at);
    if (before < 0 || code_ < 0 || utf8proc_grapheme_break_stateful(before, code_, &state_)) return at;
    widen();
    return at + count;
  }
  /// Takes the widest character's width.
  void widen() {
    const bool is_control = code_ < 0x20 || (code_ >= 0x7F && code_ < 0xA0);
    const std::size_t width = is_control ? 1 : static_cast<std::size_t>(utf8proc_charwidth(code_));
    const bool is_flag = code_ >= 0x1F1E6 && code_ <= 0x1F1FF;  // two letters, each one column wide
    const bool is_wide = width_ > 0 && (code_ == kEmojiStyle || is_flag);
    width_ = std::max(width_, is_wide ? std::size_t{2} : width);
  }

  std::string_view rest_;
  utf8proc_int32_t code_ = 0, state_ = 0;
  std::size_t width_ = 0, length_ = 0;
};

}  // namespace

std::size_t display_width(std::string_view text) {
  if (std::ranges::all_of(text, is_ascii_graphic)) return text.size();
  std::size_t width = 0;
  for (Clusters clusters(text); clusters.next();) width += clusters.width();
  return width;
}

std::string_view first_columns(std::string_view text, std::size_t columns) {
  std::size_t taken = 0, end = 0;
  for (Clusters clusters(text); clusters.next(); end = clusters.length()) {
    taken += clusters.width();
    if (taken > columns) break;
  }
  return text.substr(0, end);
}

std::string_view last_columns(std::string_view text, std::size_t columns) {
  std::size_t left = display_width(text), begin = 0;
  for (Clusters clusters(text); left > columns && clusters.next(); begin = clusters.length()) {
    left -= clusters.width();
  }
  return text.substr(begin);
}

std::string shortened(std::string_view text, std::size_t width) {
  if (display_width(text) <= width) return std::string(text);
  if (width == 0) return {};
  return std::string(first_columns(text, width - 1)) + "…";
}

std::string cut_in_middle(std::string_view text, std::size_t width) {
  if (display_width(text) <= width) return std::string(text);
  if (width == 0) return {};
  const std::size_t end = (width - 1) / 2;
  return std::string(first_columns(text, width - 1 - end)) + "…" + std::string(last_columns(text, end));
}

}  // namespace headroom
