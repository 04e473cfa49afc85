// SPDX-License-Identifier: Apache-2.0
#include "headroom_trace/json/strict_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <vector>

#include "headroom/base/json_reader.h"
#include "headroom/base/text.h"
#include "headroom_trace/json/json_scan.h"

namespace headroom::trace::readers {
namespace {

bool is_not_finite(std::string_view word) {
  constexpr std::array<std::string_view, 10> kWords{"NaN",       "nan", "-nan", "-NaN", "Infinity",
                                                    "-Infinity", "inf", "-inf", "Inf",  "-Inf"};
  return std::ranges::find(kWords, word) != kWords.end();
}

bool is_plain(std::string_view text) {
  return std::ranges::all_of(text, [](char c) {
    return static_cast<unsigned char>(c) >= 0x20 && static_cast<unsigned char>(c) < 0x80 && c != '"' &&
           c != '\\';
  });
}

struct Level {
  char bracket;
  bool has_members = false;
};

class ValueCopy {
 public:
  ValueCopy(Walk walk, std::string& out) : walk_(walk), out_(out) {}

  Walk run() {
    do {
      const char c = walk_.token();
      const bool closes = !levels_.empty() && c == (levels_.back().bracket == '{' ? '}' : ']');
      if (closes ? !close(c) : !member()) return {};
    } while (!levels_.empty());
    return walk_;
  }

 private:
  /// Copies a value (in an object with its key) and consumes the comma.
  bool member() {
    if (!levels_.empty()) {
      if (levels_.back().has_members) out_ += ',';
      levels_.back().has_members = true;
      if (levels_.back().bracket == '{' && !key()) return false;
    }
    const Role role = role_of(walk_);
    if ((role & kOpens) != 0) {
      levels_.push_back({walk_.token()});
      out_ += walk_.token();
      ++walk_.at;
      return true;
    }
    const Raw value = role == kValue ? scalar_at(walk_) : Raw();
    if (value.empty()) return false;
    append_clean_scalar(value, out_);
    ++walk_.at;
    return after_value();
  }

  bool key() {
    const Raw name = walk_.token() == '"' ? scalar_at(walk_) : Raw();
    if (name.empty() || walk_.next_token() != ':') return false;
    append_clean_scalar(name, out_);
    out_ += ':';
    walk_.at += 2;
    return true;
  }

  bool close(char c) {
    out_ += c;
    levels_.pop_back();
    ++walk_.at;
    return after_value();
  }

  bool after_value() {
    if (levels_.empty()) return true;
    const char c = walk_.token();
    if (c == ',') ++walk_.at;
    return c == ',' || c == '}' || c == ']';
  }

  Walk walk_;
  std::string& out_;
  std::vector<Level> levels_;
};

}  // namespace

void append_microseconds(std::int64_t ns, std::string& out) {
  const std::uint64_t size = ns < 0 ? 0 - static_cast<std::uint64_t>(ns) : static_cast<std::uint64_t>(ns);
  if (ns < 0) out += '-';
  const fmt::format_int whole(size / 1000);
  out.append(whole.data(), whole.size());
  if (size % 1000 == 0) return;
  out += '.';
  const auto decimals = static_cast<unsigned>(size % 1000);
  for (const unsigned unit : {100U, 10U, 1U}) out += static_cast<char>('0' + decimals / unit % 10);
}

void append_clean_scalar(Raw value, std::string& out) {
  if (value.front() == '"') {
    const std::string_view inside = without_quotes(value);
    if (!is_plain(inside)) return append_json_string(out, clean_text(inside).text);
    out.append(value);
  } else if (json_number_end(value.data()) == value.data() + value.size() || value == "true" ||
             value == "false" || value == "null") {
    out.append(value);
  } else if (is_not_finite(value)) {
    out += "null";
  } else if (const auto real = parse_real(value.starts_with('+') ? value.substr(1) : value)) {
    fmt::format_to(std::back_inserter(out), "{}", *real);
  } else {
    append_json_string(out, clean_text(value).text);
  }
}

Walk append_clean_value(Walk walk, std::string& out) {
  return ValueCopy(walk, out).run();
}

std::string clean_json(std::string_view value) {
  const std::string text(trimmed(value));  // a walk needs a zero after the end
  Structurals tokens;
  const Scan scan = scan_value(text, 0, tokens);
  if (scan.end != Scan::End::kComplete || scan.at != text.size()) return {};
  std::string json;
  return append_clean_value({text.data(), tokens.data()}, json).at != nullptr ? json : std::string();
}

bool has_key(std::string_view members, std::string_view key) {
  for (std::size_t at = members.find(key); at != members.npos; at = members.find(key, at + 1)) {
    const std::size_t end = at + key.size();
    if (at > 0 && members[at - 1] == '"' && members.substr(end).starts_with("\":")) return true;
  }
  return false;
}

}  // namespace headroom::trace::readers
