// SPDX-License-Identifier: Apache-2.0
#include "headroom/base/json_reader.h"

#include <fmt/format.h>

#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <system_error>
#include <utility>

#include "headroom/base/error.h"
#include "headroom/base/text.h"

namespace headroom {
namespace {

/// Fits a cache; makes read() calls cheap.
constexpr std::size_t kWindow = std::size_t{1} << 17;
constexpr std::size_t kDeepest = 900, kDeepestValue = 500;
constexpr std::string_view kEscapes = "\"\\/bfnrtu";
constexpr std::string_view kOtherValues = "{[\"tf";
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

const char* after_digits(const char* at) {
  while (is_digit(*at)) ++at;
  return at;
}

}  // namespace

const char* json_number_end(const char* at) {
  if (*at == '-') ++at;
  if (!is_digit(*at)) return nullptr;
  at = *at == '0' ? at + 1 : after_digits(at);
  if (*at == '.') {
    if (!is_digit(at[1])) return nullptr;
    at = after_digits(at + 1);
  }
  if (*at == 'e' || *at == 'E') {
    ++at;
    if (*at == '+' || *at == '-') ++at;
    if (!is_digit(*at)) return nullptr;
    at = after_digits(at);
  }
  return at;
}

double json_number_value(std::string_view token) {
  double value = 0;
  const auto result = std::from_chars(token.data(), token.data() + token.size(), value);
  return result.ec == std::errc{} ? value : std::strtod(std::string(token).c_str(), nullptr);
}

std::optional<std::uint64_t> json_whole_number(std::string_view token) {
  std::uint64_t value = 0;
  const char* const end = token.data() + token.size();
  const auto result = std::from_chars(token.data(), end, value);
  if (result.ec != std::errc{} || result.ptr != end) return std::nullopt;
  return value;
}

bool JsonCursor::take(char expected) {
  skip_space();
  if (*at_ != expected) return false;
  ++at_;
  return true;
}

bool JsonCursor::take_literal(std::string_view literal) {
  skip_space();
  if (!std::string_view(at_, static_cast<std::size_t>(end_ - at_)).starts_with(literal)) return false;
  at_ += literal.size();
  return true;
}

bool JsonCursor::take_bool(bool& value) {
  value = take_literal("true");
  return value || take_literal("false");
}

bool JsonCursor::take_string(std::string_view& value) {
  if (!take('"')) return false;
  const char* const begin = at_;
  // Stops at the terminating zero byte.
  while (*at_ >= 0x20 && *at_ < 0x7f && *at_ != '"' && *at_ != '\\') ++at_;
  if (*at_ != '"') return false;
  value = {begin, static_cast<std::size_t>(at_ - begin)};
  ++at_;
  return true;
}

std::string_view JsonCursor::take_number_text() {
  skip_space();
  const char* const begin = at_;
  const char* const stop = json_number_end(begin);
  if (stop == nullptr) return {};
  at_ = stop;
  return {begin, static_cast<std::size_t>(stop - begin)};
}

bool JsonCursor::take_number(double& value) {
  const std::string_view token = take_number_text();
  if (token.empty()) return false;
  if (token.find_first_of(".eE") == std::string_view::npos) {
    const auto whole = json_whole_number(token);
    if (whole) value = static_cast<double>(*whole);
    return whole.has_value();
  }
  value = json_number_value(token);
  return std::isfinite(value);
}

bool JsonCursor::take_whole(std::uint64_t& value) {
  const auto whole = json_whole_number(take_number_text());
  if (whole) value = *whole;
  return whole.has_value();
}

bool JsonCursor::take_whole(std::int64_t& value) {
  const std::string_view token = take_number_text();
  const char* const end = token.data() + token.size();
  const auto [stop, error] = std::from_chars(token.data(), end, value);
  return !token.empty() && error == std::errc() && stop == end;
}

bool JsonCursor::skip_scalar() {
  skip_space();
  std::string_view text;
  double number = 0;
  bool truth = false;
  if (*at_ == '"') return take_string(text);
  if (*at_ == 'n') return take_null();
  if (*at_ == 't' || *at_ == 'f') return take_bool(truth);
  return take_number(number);
}

JsonReader::JsonReader(std::string_view text, std::string source) : source_(std::move(source)) {
  hold(text);
}

void JsonReader::hold(std::string_view text) {
  size_ = offset_ = text.size();
  at_ = text.data();
  end_ = at_ + text.size();
  at_end_ = true;
  if (text.starts_with(kByteOrderMark)) at_ += kByteOrderMark.size();
}

std::size_t JsonReader::read_more(char*, std::size_t) {
  return 0;
}

/// Keeps untaken text. Returns false at the end.
bool JsonReader::refill() {
  if (at_end_) return false;
  const auto kept = static_cast<std::size_t>(end_ - at_);
  if (kept > 0) std::memmove(window_.data(), at_, kept);
  if (kept + 1 >= window_.size()) window_.resize(window_.empty() ? kWindow + 1 : 2 * window_.size());
  const std::size_t got = read_more(window_.data() + kept, window_.size() - 1 - kept);
  at_end_ = got == 0;
  at_ = window_.data();
  end_ = at_ + kept + got;
  window_[kept + got] = '\0';
  offset_ += got;
  return got > 0;
}

void JsonReader::refuse(const std::string& what) const {
  throw Error(fmt::format("{}: at byte {}: {}", source_, offset(), what));
}

void JsonReader::throw_not_json(const std::string& what, std::uint64_t offset) const {
  const bool over = at_end_ && offset == offset_;
  throw Error(fmt::format("{}: not JSON at byte {}: {}{}", source_, offset, what,
                          !over             ? ""
                          : window_.empty() ? ", but the text ends there"
                                            : ", but the file ends there"));
}

char JsonReader::peek() {
  while (true) {
    while (at_ < end_ && is_json_space(*at_)) ++at_;
    if (at_ < end_) return *at_;
    if (!refill()) return '\0';
  }
}

void JsonReader::record(std::string_view text) {
  if (recorded_ != nullptr) recorded_->append(text);
}

void JsonReader::take(char expected) {
  if (peek() != expected) throw_not_json(fmt::format("expected '{}'", expected));
  record({at_, 1});
  ++at_;
}

void JsonReader::take_string() {
  take('"');
  bool escaped = false;
  int hex_digits = 0;
  while (true) {
    if (at_ == end_ && !refill()) throw_not_json("unterminated string");
    const char* const start = at_;
    bool closed = false;
    for (; at_ < end_ && !closed; ++at_) {
      const char c = *at_;
      if (static_cast<unsigned char>(c) < 0x20) throw_not_json("a control character in a string");
      if (hex_digits > 0) {
        if (std::isxdigit(static_cast<unsigned char>(c)) == 0) throw_not_json("expected a hexadecimal digit");
        --hex_digits;
      } else if (escaped) {
        if (kEscapes.find(c) == std::string_view::npos) throw_not_json("unknown escape in a string");
        hex_digits = c == 'u' ? 4 : 0;
        escaped = false;
      } else {
        closed = c == '"';
        escaped = c == '\\';
      }
    }
    record({start, static_cast<std::size_t>(at_ - start)});
    if (closed) return;
  }
}

void JsonReader::take_literal(std::string_view literal) {
  for (const char c : literal) {
    if (at_ == end_ && !refill()) throw_not_json("expected a value");
    if (*at_ != c) throw_not_json("expected a value");
    ++at_;
  }
  record(literal);
}

std::string_view JsonReader::number_token() {
  peek();
  while (true) {
    const char* end = json_number_end(at_);
    // A token at the end of the window may continue.
    const bool unclear = end == nullptr ? end_ - at_ < 64 : end == end_;
    if (unclear && !at_end_) {
      refill();
      continue;
    }
    if (end == nullptr) throw_not_json("expected a value");
    const std::string_view token(at_, static_cast<std::size_t>(end - at_));
    at_ = end;
    return token;
  }
}

std::string_view JsonReader::number_word() {
  const char first = peek();
  for (const std::string_view word : number_words_) {
    while (word[0] == first && window().size() < word.size() && refill()) {
    }
    if (!window().starts_with(word)) continue;
    at_ += word.size();
    record(word);
    return word;
  }
  return {};
}

void JsonReader::take_text(std::string& text) {
  peek();
  JsonCursor cursor(at_, end_);
  if (std::string_view plain; cursor.take_string(plain)) {
    text = plain;
    record({at_, static_cast<std::size_t>(cursor.at() - at_)});
    at_ = cursor.at();
    return;
  }
  const std::uint64_t begin = offset();
  std::string quoted;
  std::string* const outer = std::exchange(recorded_, &quoted);
  take_string();
  recorded_ = outer;
  record(quoted);
  CleanText clean = clean_text(std::string_view(quoted).substr(1, quoted.size() - 2));
  if (!clean.is_clean) throw_not_json("a string with invalid UTF-8 or half of a surrogate pair", begin);
  text = std::move(clean.text);
}

void JsonReader::members(const std::function<void(const std::string&)>& visit) {
  take('{');
  if (++depth_ > kDeepest) refuse("nested too deep");
  std::string key;
  while (peek() != '}') {
    take_text(key);
    take(':');
    visit(key);
    if (peek() == '}') break;
    take(',');
    if (peek() == '}') throw_not_json("expected a key");
  }
  take('}');
  --depth_;
}

void JsonReader::elements(const std::function<void()>& visit) {
  take('[');
  if (++depth_ > kDeepest) refuse("nested too deep");
  while (peek() != ']') {
    visit();
    if (peek() == ']') break;
    take(',');
    if (peek() == ']') throw_not_json("expected a value");
  }
  take(']');
  --depth_;
}

namespace {

bool append(std::string_view token, std::vector<double>& column) {
  if (token.empty() || token == "null") return false;
  column.push_back(json_number_value(token));
  return true;
}

bool append(std::string_view token, std::vector<std::uint32_t>& column) {
  const auto whole = json_whole_number(token);
  if (!whole || *whole > std::numeric_limits<std::uint32_t>::max()) return false;
  column.push_back(static_cast<std::uint32_t>(*whole));
  return true;
}

/// Stops at the closing bracket or before what is not a number and a comma with at most one space.
template <typename Number>
const char* append_plain(const char* at, const char* end, std::vector<Number>& column) {
  std::string_view last;
  while (at < end) {
    const char* stop = at + last.size();
    // Consecutive samples often have equal texts.
    const bool same = !last.empty() && last.size() < static_cast<std::size_t>(end - at) &&
                      (*stop == ',' || *stop == ']') && stop[-1] == last.back() &&
                      std::memcmp(at, last.data(), last.size()) == 0;
    if (same) {
      column.push_back(column.back());
    } else {
      stop = json_number_end(at);
      if (stop == nullptr || (*stop != ',' && *stop != ']')) break;
      last = {at, static_cast<std::size_t>(stop - at)};
      if (!append(last, column)) break;
    }
    if (*stop == ']') return stop;
    at = stop + (stop[1] == ' ' ? 2 : 1);
  }
  return at;
}

}  // namespace

template <typename Number>
void JsonReader::numbers(std::vector<Number>& column, const TakeOther& take_other) {
  take('[');
  if (depth_ >= kDeepest) refuse("nested too deep");
  while (peek() != ']') {
    const char* const begin = at_;
    at_ = append_plain(begin, end_, column);
    if (at_ > begin && at_ < end_ && *at_ == ']' && is_digit(at_[-1])) break;
    if (const std::string_view token = number_or_null(); !append(token, column)) take_other(token);
    if (peek() == ']') break;
    take(',');
    if (peek() == ']') throw_not_json("expected a value");
  }
  take(']');
}
template void JsonReader::numbers(std::vector<double>&, const TakeOther&);
template void JsonReader::numbers(std::vector<std::uint32_t>&, const TakeOther&);

/// Empty if the next value is neither.
std::string_view JsonReader::number_or_null() {
  const char first = peek();
  if (first == 'n') {
    take_literal("null");
    return "null";
  }
  if (const std::string_view number = number_word(); !number.empty()) return number;
  const bool is_number = first == '-' || is_digit(first);
  if (!is_number && kOtherValues.find(first) == std::string_view::npos) throw_not_json("expected a value");
  return is_number ? number_token() : std::string_view();
}

void JsonReader::finish() {
  if (peek() != '\0' || at_ < end_) throw_not_json("text after the end of the value");
}

void JsonReader::take_any() {
  switch (peek()) {
    case '{':
      members([this](const std::string&) { take_any(); });
      break;
    case '[':
      elements([this] { take_any(); });
      break;
    case '"':
      take_string();
      break;
    case 't':
      take_literal("true");
      break;
    case 'f':
      take_literal("false");
      break;
    case 'n':
      take_literal("null");
      break;
    default:
      if (number_word().empty()) record(number_token());
  }
}

void JsonReader::skip_value() {
  take_any();
}

Json JsonReader::take_number() {
  if (const std::string_view word = number_word(); !word.empty())
    return std::strtod(std::string(word).c_str(), nullptr);
  const std::string_view token = number_token();
  if (token.find_first_of(".eE") == std::string_view::npos) {
    std::int64_t below_zero = 0;
    const char* const end = token.data() + token.size();
    if (const auto whole = json_whole_number(token)) return *whole;
    if (std::from_chars(token.data(), end, below_zero).ec == std::errc()) return below_zero;
  }
  const double real = json_number_value(token);
  if (!std::isfinite(real)) throw_not_json("a number out of the range of a double");
  return real;
}

Json JsonReader::value() {
  const char first = peek();
  if ((first == '{' || first == '[') && depth_ >= kDeepestValue)
    refuse(fmt::format("nested more than {} deep", kDeepestValue));
  switch (first) {
    case '{': {
      Json object = Json::object();
      members([&](const std::string& key) { object[key] = value(); });
      return object;
    }
    case '[': {
      Json array = Json::array();
      elements([&] { array.push_back(value()); });
      return array;
    }
    case '"': {
      std::string text;
      take_text(text);
      return text;
    }
    case 't':
      take_literal("true");
      return true;
    case 'f':
      take_literal("false");
      return false;
    case 'n':
      take_literal("null");
      return nullptr;
    default:
      return take_number();
  }
}

std::string JsonReader::raw_value() {
  std::string text;
  recorded_ = &text;
  take_any();
  recorded_ = nullptr;
  return text;
}

}  // namespace headroom
