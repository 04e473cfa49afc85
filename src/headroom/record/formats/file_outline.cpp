// SPDX-License-Identifier: Apache-2.0
#include "headroom/record/formats/file_outline.h"

#include <algorithm>
#include <cstddef>
#include <functional>

namespace headroom {
namespace {

constexpr int kDeepest = 2;

}  // namespace

/// Invalid JSON moves to the end of the text.
class OutlineScan {
 public:
  explicit OutlineScan(FileOutline& outline) : outline_(outline), text_(outline.text_) {}

  void root() {
    skip_blanks();
    outline_.starts_with_object_ = at('{');
    if (at('[')) {
      ++at_;
      skip_blanks();
    }
    if (at('{')) object("", 0);
  }

 private:
  bool at(char c) const { return at_ < text_.size() && text_[at_] == c; }
  void give_up() { at_ = text_.size(); }

  void skip_blanks() { at_ = std::min(text_.find_first_not_of(" \t\r\n", at_), text_.size()); }

  /// Escapes stay as written.
  std::string_view string() {
    const std::size_t begin = ++at_;
    for (;; at_ += 2) {
      at_ = std::min(text_.find_first_of("\"\\", at_), text_.size());
      if (!at('\\')) break;
    }
    const std::string_view found = text_.substr(begin, at_ - begin);
    at_ = std::min(at_ + 1, text_.size());
    return found;
  }

  /// Moves to the comma or bracket that ends a value or list.
  void skip_value() {
    std::size_t depth = 0;
    while (at_ < text_.size()) {
      switch (text_[at_]) {
        case '"':
          string();
          continue;
        case '{':
        case '[':
          ++depth;
          break;
        case '}':
        case ']':
          if (depth == 0) return;
          --depth;
          break;
        case ',':
          if (depth == 0) return;
          break;
        default:
          break;
      }
      ++at_;
    }
  }

  void object(const std::string& prefix, int level) {
    ++at_;
    for (skip_blanks(); at('"'); skip_blanks()) {
      const std::string_view key = string();
      const std::string path = prefix + std::string(key);
      if (level == kDeepest) outline_.deepest_.emplace(key);
      skip_blanks();
      if (!at(':')) return give_up();
      ++at_;
      outline_.paths_.insert(path);
      value(path, level);
      skip_blanks();
      if (at(',')) ++at_;
    }
    if (!at('}')) return give_up();
    ++at_;
  }

  void value(const std::string& path, int level) {
    skip_blanks();
    if (at('{') && level < kDeepest) return object(path + "/", level + 1);
    if (!at('[')) return skip_value();
    ++at_;
    skip_blanks();
    if (at(']')) outline_.empty_lists_.insert(path);
    if (at('{') && level < kDeepest) object(path + "/", level + 1);
    while (at_ < text_.size() && !at(']')) {
      skip_value();
      if (at('}')) return give_up();
      if (at(',')) ++at_;
    }
    at_ = std::min(at_ + 1, text_.size());
  }

  FileOutline& outline_;
  std::string_view text_;
  std::size_t at_ = 0;
};

FileOutline::FileOutline(std::string_view text) : text_(text) {
  OutlineScan(*this).root();
}

bool FileOutline::has_all(std::initializer_list<std::string_view> paths) const {
  return std::ranges::all_of(paths, [this](std::string_view path) { return has(path); });
}

bool FileOutline::has_any(std::initializer_list<std::string_view> paths) const {
  return std::ranges::any_of(paths, [this](std::string_view path) { return has(path); });
}

}  // namespace headroom
