// SPDX-License-Identifier: Apache-2.0
#include "headroom/files/json_stream.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <system_error>
#include <utility>

#include "headroom/base/error.h"
#include "headroom/base/files.h"
#include "headroom/base/text.h"

namespace headroom {
namespace {

/// Fits a cache; makes read() calls cheap.
constexpr std::size_t kWindow = std::size_t{1} << 17;
constexpr std::size_t kDeepest = 900;
constexpr std::string_view kEscapes = "\"\\/bfnrtu";
constexpr std::string_view kOtherValues = "{[\"tf";
constexpr std::string_view kGzip = "\x1f\x8b", kZstd = "\x28\xb5\x2f\xfd";

bool is_space(char c) {
  return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

constexpr std::size_t kDeepestValue = 500;

}  // namespace

JsonStream::JsonStream(const std::filesystem::path& path) : source_(path.string()), window_(kWindow + 1) {
  const auto cannot = [&] { return Error(source_ + ": cannot be read: " + std::strerror(errno)); };
  file_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file_ < 0) throw cannot();
  struct stat status {};
  const bool is_folder = ::fstat(file_, &status) == 0 && S_ISDIR(status.st_mode);
  try {
    if (is_folder) throw Error(source_ + ": is a folder, not a file");
    refuse_endless_device(file_, path);
    if (S_ISREG(status.st_mode)) size_ = static_cast<std::uint64_t>(status.st_size);
    at_ = end_ = window_.data();
    refill();
    const std::string_view first(at_, static_cast<std::size_t>(end_ - at_));
    if (S_ISREG(status.st_mode) && (first.starts_with(kGzip) || first.starts_with(kZstd))) {
      unpacked_ = read_compressed_file(path);
      hold(unpacked_);
    }
    if (peek() == '\0' && at_ == end_) throw Error(source_ + ": the file is empty");
  } catch (...) {
    ::close(file_);
    throw;
  }
}

JsonStream::JsonStream(const PaddedText& text, std::string source) : source_(std::move(source)) {
  hold(text);
}

JsonStream::~JsonStream() {
  if (file_ >= 0) ::close(file_);
}

void JsonStream::hold(const PaddedText& text) {
  size_ = text.size();
  at_ = text.view().data();
  end_ = at_ + text.size();
  offset_ = text.size();
  at_end_ = true;
}

/// Keeps untaken text. Returns false at the end.
bool JsonStream::refill() {
  if (at_end_) return false;
  const auto kept = static_cast<std::size_t>(end_ - at_);
  std::memmove(window_.data(), at_, kept);
  if (kept + 1 >= window_.size()) window_.resize(2 * window_.size());
  ssize_t got = 0;
  do {
    got = ::read(file_, window_.data() + kept, window_.size() - 1 - kept);
  } while (got < 0 && errno == EINTR);
  if (got < 0) throw Error(source_ + ": cannot be read: " + std::strerror(errno));
  at_end_ = got == 0;
  at_ = window_.data();
  end_ = at_ + kept + static_cast<std::size_t>(got);
  window_[static_cast<std::size_t>(end_ - at_)] = '\0';
  offset_ += static_cast<std::uint64_t>(got);
  return got > 0;
}

void JsonStream::refuse(const std::string& what) const {
  throw Error(fmt::format("{}: at byte {}: {}", source_, offset(), what));
}

void JsonStream::not_json(const std::string& what) const {
  const bool over = at_end_ && at_ == end_;
  throw Error(fmt::format("{}: not JSON at byte {}: {}{}", source_, offset(), what,
                          over ? ", but the file ends there" : ""));
}

char JsonStream::peek() {
  while (true) {
    while (at_ < end_ && is_space(*at_)) ++at_;
    if (at_ < end_) return *at_;
    if (!refill()) return '\0';
  }
}

void JsonStream::record(std::string_view text) {
  if (recorded_ != nullptr) recorded_->append(text);
}

void JsonStream::take(char expected) {
  if (peek() != expected) not_json(fmt::format("expected '{}'", expected));
  record({at_, 1});
  ++at_;
}

void JsonStream::take_string() {
  take('"');
  bool escaped = false;
  int hex_digits = 0;
  while (true) {
    if (at_ == end_ && !refill()) not_json("unterminated string");
    const char* const start = at_;
    bool closed = false;
    for (; at_ < end_ && !closed; ++at_) {
      const char c = *at_;
      if (static_cast<unsigned char>(c) < 0x20) not_json("a control character in a string");
      if (hex_digits > 0) {
        if (std::isxdigit(static_cast<unsigned char>(c)) == 0) not_json("expected a hexadecimal digit");
        --hex_digits;
      } else if (escaped) {
        if (kEscapes.find(c) == std::string_view::npos) not_json("unknown escape in a string");
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

void JsonStream::take_literal(std::string_view literal) {
  for (const char c : literal) {
    if (at_ == end_ && !refill()) not_json("expected a value");
    if (*at_ != c) not_json("expected a value");
    ++at_;
  }
  record(literal);
}

std::string_view JsonStream::number_token() {
  peek();
  while (true) {
    const char* end = json_number_end(at_);
    // A token at the end of the window may continue.
    const bool unclear = end == nullptr ? end_ - at_ < 64 : end == end_;
    if (unclear && !at_end_) {
      refill();
      continue;
    }
    if (end == nullptr) not_json("expected a value");
    const std::string_view token(at_, static_cast<std::size_t>(end - at_));
    at_ = end;
    return token;
  }
}

std::string_view JsonStream::python_number() {
  if (!takes_python_numbers_) return {};
  const char first = peek();
  while (at_ + 1 == end_ && refill()) {
  }
  std::string_view found;
  if (first == 'N') found = "NaN";
  if (first == 'I') found = "Infinity";
  if (first == '-' && at_ + 1 < end_ && at_[1] == 'I') found = "-Infinity";
  if (!found.empty()) take_literal(found);
  return found;
}

void JsonStream::take_text(std::string& text) {
  peek();
  JsonCursor cursor(at_, end_);
  if (std::string_view plain; cursor.take_string(plain)) {
    text = plain;
    record({at_, static_cast<std::size_t>(cursor.at() - at_)});
    at_ = cursor.at();
    return;
  }
  std::string quoted;
  std::string* const outer = std::exchange(recorded_, &quoted);
  take_string();
  recorded_ = outer;
  record(quoted);
  text = parse_json(quoted, fmt::format("{}: string before byte {}", source_, offset())).get<std::string>();
}

void JsonStream::members(const std::function<void(const std::string&)>& visit) {
  take('{');
  if (++depth_ > kDeepest) refuse("nested too deep");
  std::string key;
  while (peek() != '}') {
    take_text(key);
    take(':');
    visit(key);
    if (peek() == '}') break;
    take(',');
    if (peek() == '}') not_json("expected a key");
  }
  take('}');
  --depth_;
}

void JsonStream::elements(const std::function<void()>& visit) {
  take('[');
  if (++depth_ > kDeepest) refuse("nested too deep");
  while (peek() != ']') {
    visit();
    if (peek() == ']') break;
    take(',');
    if (peek() == ']') not_json("expected a value");
  }
  take(']');
  --depth_;
}

void JsonStream::numbers(const TakeMany& many, const TakeOne& one) {
  take('[');
  if (depth_ >= kDeepest) refuse("nested too deep");
  while (peek() != ']') {
    const char* const begin = at_;
    at_ = many(begin, end_);
    if (at_ > begin && at_ < end_ && *at_ == ']' && is_digit(at_[-1])) break;
    take_one_number(one);
    if (peek() == ']') break;
    take(',');
    if (peek() == ']') not_json("expected a value");
  }
  take(']');
}

void JsonStream::take_one_number(const TakeOne& one) {
  const char first = peek();
  if (first == 'n') {
    take_literal("null");
    return one("null");
  }
  if (const std::string_view number = python_number(); !number.empty()) return one(number);
  const bool is_number = first == '-' || is_digit(first);
  if (!is_number && kOtherValues.find(first) == std::string_view::npos) not_json("expected a value");
  one(is_number ? number_token() : std::string_view());
}

void JsonStream::finish() {
  if (peek() != '\0' || at_ < end_) not_json("text after the end of the value");
}

void JsonStream::take_any() {
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
      if (python_number().empty()) record(number_token());
  }
}

void JsonStream::skip_value() {
  take_any();
}

Json JsonStream::take_number() {
  const std::string_view token = number_token();
  if (token.find_first_of(".eE") == std::string_view::npos) {
    std::int64_t below_zero = 0;
    const char* const end = token.data() + token.size();
    if (const auto whole = json_whole_number(token)) return *whole;
    if (std::from_chars(token.data(), end, below_zero).ec == std::errc()) return below_zero;
  }
  const double real = json_number_value(token);
  if (!std::isfinite(real)) not_json("a number out of the range of a double");
  return real;
}

Json JsonStream::value() {
  if (depth_ > kDeepestValue) refuse(fmt::format("nested more than {} deep", kDeepestValue));
  switch (peek()) {
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

std::string JsonStream::raw_value() {
  std::string text;
  recorded_ = &text;
  take_any();
  recorded_ = nullptr;
  return text;
}

}  // namespace headroom
