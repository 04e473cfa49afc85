// SPDX-License-Identifier: Apache-2.0
#include "headroom/trace/readers/tolerant_scan.h"

#include "headroom/base/text.h"

namespace headroom::trace::readers {
namespace {

bool is_operator(char c) {
  return c == '{' || c == '}' || c == '[' || c == ']' || c == ':' || c == ',';
}

/// A quote ends a string when what follows it can follow a string; else it belongs to the text.
bool can_follow_string(char c) {
  return c == ',' || c == ':' || c == '}' || c == ']';
}

class Scanner {
 public:
  Scanner(std::string_view text, std::uint32_t at, Structurals& structurals)
      : text_(text), at_(at), structurals_(structurals) {}

  Scan run() {
    const std::size_t first = structurals_.size();
    do {
      at_ = skip_space(text_, at_);
      if (at_ >= text_.size()) return stop(Scan::End::kOpen);
      if (!token()) return result_;
    } while (!nesting_.empty());
    if (structurals_.size() > first) structurals_.insert(structurals_.end(), 2, at_);
    return stop(Scan::End::kComplete);
  }

 private:
  enum class Next { kValue, kValueOrEnd, kKeyOrEnd, kColon, kCommaOrEnd };

  Scan stop(Scan::End end) {
    result_.end = end;
    result_.at = at_;
    return result_;
  }
  bool broken(const char* what) {
    result_.what = what;
    stop(Scan::End::kBroken);
    return false;
  }
  bool in_object() const { return !nesting_.empty() && nesting_.back() == '{'; }

  bool token() {
    structurals_.push_back(at_);
    const char c = text_[at_];
    switch (next_) {
      case Next::kColon:
        if (c != ':') return broken("a key without a colon");
        ++at_;
        next_ = Next::kValue;
        return true;
      case Next::kCommaOrEnd:
        if (c == '}' || c == ']') return close(c);
        if (c != ',') return broken("no comma after a value");
        ++at_;
        next_ = in_object() ? Next::kKeyOrEnd : Next::kValueOrEnd;
        return true;
      case Next::kKeyOrEnd:
        if (c == '}') return close(c);
        if (c != '"') return broken("a key that is no string");
        next_ = Next::kColon;
        return string();
      case Next::kValueOrEnd:
        if (c == ']') return close(c);
        [[fallthrough]];
      case Next::kValue:
        return value(c);
    }
    return false;
  }

  bool value(char c) {
    if (c == '{' || c == '[') {
      nesting_.push_back(c);
      ++at_;
      next_ = c == '{' ? Next::kKeyOrEnd : Next::kValueOrEnd;
      return true;
    }
    if (is_operator(c)) return broken("no value");
    next_ = Next::kCommaOrEnd;
    if (c == '"') return string();
    while (at_ < text_.size() && !is_json_space(text_[at_]) && !is_operator(text_[at_])) {
      if (text_[at_] == '"') return broken("a quote inside a number or word");
      if (static_cast<unsigned char>(text_[at_]) < 0x20) return broken("a control character");
      ++at_;
    }
    return true;
  }

  bool close(char c) {
    if (in_object() != (c == '}')) return broken("brackets that do not match");
    nesting_.pop_back();
    ++at_;
    next_ = Next::kCommaOrEnd;
    return true;
  }

  bool string() {
    for (++at_; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c == '\\') {
        if (++at_ >= text_.size()) break;
      } else if (c == '"') {
        const std::uint32_t after = skip_space(text_, at_ + 1);
        if (after >= text_.size() || can_follow_string(text_[after])) {
          ++at_;
          return true;
        }
        result_.had_inner_quote = true;
      } else if (static_cast<unsigned char>(c) < 0x20) {
        result_.had_control = true;
      }
    }
    at_ = static_cast<std::uint32_t>(text_.size());
    stop(Scan::End::kOpen);
    return false;
  }

  std::string_view text_;
  std::uint32_t at_;
  Structurals& structurals_;
  std::vector<char> nesting_;
  Next next_ = Next::kValue;
  Scan result_;
};

}  // namespace

Scan scan_value(std::string_view text, std::uint32_t at, Structurals& structurals) {
  return Scanner(text, at, structurals).run();
}

std::uint32_t skip_space(std::string_view text, std::uint32_t at) {
  while (at < text.size() && is_json_space(text[at])) ++at;
  return at;
}

}  // namespace headroom::trace::readers
