// SPDX-License-Identifier: Apache-2.0
#include "headroom/process/line_ring.h"

#include <algorithm>

namespace headroom {
namespace {

/// Where the last `count` complete lines of `bytes` begin; nothing when there are no more lines than that.
std::size_t start_of_last_lines(std::string_view bytes, std::size_t count) {
  std::size_t end = bytes.size();
  for (std::size_t seen = 0; seen <= count; ++seen) {
    if (end == 0) return std::string_view::npos;
    const std::size_t newline = bytes.rfind('\n', end - 1);
    if (newline == std::string_view::npos) return newline;
    end = newline;
  }
  return end + 1;
}

/// Length of `text` without a UTF-8 sequence that was cut at its end.
std::size_t whole_characters(std::string_view text) {
  std::size_t start = text.size();
  for (int back = 0; back < 4 && start > 0; ++back) {
    const auto byte = static_cast<unsigned char>(text[--start]);
    if (byte < 0x80) break;
    if (byte < 0xC0) continue;
    const std::size_t length = byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
    return start + length > text.size() ? start : text.size();
  }
  return text.size();
}

std::string shown(std::string_view line, bool cut) {
  if (cut) return std::string(line.substr(0, whole_characters(line))) + "…";
  if (line.ends_with('\r')) line.remove_suffix(1);
  return std::string(line);
}

}  // namespace

LineRing::LineRing(std::size_t max_lines, std::size_t max_line_bytes)
    : max_lines_(max_lines), max_line_bytes_(max_line_bytes) {}

void LineRing::append(std::string_view bytes) {
  total_bytes_ += bytes.size();
  // Lines that this very call pushes out again are skipped: a flood of short lines costs a search, not a
  // copy.
  const std::size_t start = start_of_last_lines(bytes, max_lines_);
  if (start != std::string_view::npos) {
    bytes.remove_prefix(start);
    lines_.clear();
    partial_.clear();
    partial_cut_ = false;
  }
  while (!bytes.empty()) {
    const std::size_t newline = bytes.find('\n');
    const std::string_view piece = bytes.substr(0, newline);
    const std::string_view taken = piece.substr(0, max_line_bytes_ - partial_.size());
    partial_.append(taken);
    partial_cut_ = partial_cut_ || taken.size() < piece.size();
    if (newline == std::string_view::npos) return;
    lines_.push_back(shown(partial_, partial_cut_));
    if (lines_.size() > max_lines_) lines_.pop_front();
    partial_.clear();
    partial_cut_ = false;
    bytes.remove_prefix(newline + 1);
  }
}

std::vector<std::string> LineRing::lines() const {
  std::vector<std::string> result(lines_.begin(), lines_.end());
  if (!partial_.empty() || partial_cut_) result.push_back(shown(partial_, partial_cut_));
  if (result.size() > max_lines_) result.erase(result.begin());
  return result;
}

}  // namespace headroom
