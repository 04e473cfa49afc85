// SPDX-License-Identifier: Apache-2.0
#include "headroom/report/json_stream.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <bit>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <utility>

#include "headroom/base/compressed_file.h"
#include "headroom/base/error.h"
#include "headroom/base/json.h"

namespace headroom {
namespace {

/// Small enough to stay in a cache, large enough that reading it costs nothing per byte.
constexpr std::size_t kWindow = std::size_t{1} << 17;
constexpr std::size_t kDeepest = 900;
constexpr std::string_view kGzip = "\x1f\x8b", kZstd = "\x28\xb5\x2f\xfd";

bool is_space(char c) {
  return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

const char* after_digits(const char* at) {
  while (is_digit(*at)) ++at;
  return at;
}

/// The end of the JSON number at `at`, or nullptr where there is none. A zero byte must follow the text.
const char* number_end(const char* at) {
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

/// The eight characters at `at` as a number below 1e8, or nothing where one is no digit. Eight digits at a
/// time: the sums of pairs, of pairs of pairs, and of those, in the lanes of one word.
std::optional<std::uint64_t> eight_digits(const char* at) {
  static_assert(std::endian::native == std::endian::little);
  std::uint64_t word = 0;
  std::memcpy(&word, at, sizeof word);
  const std::uint64_t digits = word - 0x3030303030303030u;
  if (((digits | (word + 0x4646464646464646u)) & 0x8080808080808080u) != 0) return std::nullopt;
  const std::uint64_t pairs = digits * 10 + (digits >> 8);
  return ((pairs & 0x000000ff000000ffu) * 0x000f424000000064u +
          (pairs >> 16 & 0x000000ff000000ffu) * 0x0000271000000001u) >>
         32;
}

struct PlainDecimal {
  std::uint64_t multiple;  ///< of 1e-19
  const char* end;
};

/// A number of the form 0.123 or 1.123 that a DecimalSample holds exactly, or nothing. Reads up to 24
/// characters.
std::optional<PlainDecimal> plain_decimal(const char* at) {
  static constexpr std::array<std::uint64_t, 20> kPowers = [] {
    std::array<std::uint64_t, 20> powers{1};
    for (std::size_t i = 1; i < powers.size(); ++i) powers[i] = powers[i - 1] * 10;
    return powers;
  }();
  if ((at[0] != '0' && at[0] != '1') || at[1] != '.') return std::nullopt;
  const char* const first = at + 2;
  const char* digit = first;
  std::uint64_t decimals = 0;
  for (int i = 0; i < 2; ++i) {
    const auto eight = eight_digits(digit);
    if (!eight) break;
    decimals = decimals * 100'000'000 + *eight;
    digit += 8;
  }
  while (is_digit(*digit) && digit - first < DecimalSample::kDecimals) {
    decimals = decimals * 10 + static_cast<std::uint64_t>(*digit++ - '0');
  }
  // Anything but the end of the number, an exponent or more digits, is for the slow path.
  if (digit == first || is_digit(*digit) || *digit == 'e' || *digit == 'E' || *digit == '.')
    return std::nullopt;
  decimals *= kPowers[static_cast<std::size_t>(DecimalSample::kDecimals - (digit - first))];
  if (at[0] == '1' && __builtin_add_overflow(decimals, kPowers[DecimalSample::kDecimals], &decimals))
    return std::nullopt;
  return PlainDecimal{decimals, digit};
}

double number_of(std::string_view token) {
  double value = 0;
  const auto result = std::from_chars(token.data(), token.data() + token.size(), value);
  // Beyond double: infinity or zero, as Python reads it.
  return result.ec == std::errc{} ? value : std::strtod(std::string(token).c_str(), nullptr);
}

}  // namespace

JsonStream::JsonStream(const std::filesystem::path& path) : source_(path.string()), window_(kWindow + 1) {
  const auto cannot = [&] { return Error(source_ + ": cannot be read: " + std::strerror(errno)); };
  file_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file_ < 0) throw cannot();
  struct stat status {};
  const bool is_folder = ::fstat(file_, &status) == 0 && S_ISDIR(status.st_mode);
  try {
    if (is_folder) throw Error(source_ + ": is a folder, not a file");
    at_ = end_ = window_.data();
    refill();
    const std::string_view first(at_, static_cast<std::size_t>(end_ - at_));
    if (S_ISREG(status.st_mode) && (first.starts_with(kGzip) || first.starts_with(kZstd))) {
      unpacked_ = read_compressed_file(path);
      at_ = unpacked_.view().data();
      end_ = at_ + unpacked_.size();
      offset_ = unpacked_.size();
      at_end_ = true;
    }
    if (peek() == '\0' && at_ == end_) throw Error(source_ + ": the file is empty");
  } catch (...) {
    ::close(file_);
    throw;
  }
}

JsonStream::~JsonStream() {
  ::close(file_);
}

/// Reads on behind what is not yet taken. False where there is no more.
bool JsonStream::refill() {
  if (at_end_) return false;
  const auto kept = static_cast<std::size_t>(end_ - at_);
  std::memmove(window_.data(), at_, kept);
  // One token longer than the window.
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
  const std::uint64_t byte = offset_ - static_cast<std::uint64_t>(end_ - at_);
  const bool over = at_end_ && at_ == end_;
  throw Error(
      fmt::format("{}: at byte {}: {}{}", source_, byte, what, over ? ", but the file ends there" : ""));
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
  if (peek() != expected) refuse(fmt::format("not JSON: expected '{}'", expected));
  record({at_, 1});
  ++at_;
}

void JsonStream::take_string() {
  take('"');
  bool escaped = false;
  while (true) {
    if (at_ == end_ && !refill()) refuse("not JSON: a string has no end");
    const char c = *at_;
    if (static_cast<unsigned char>(c) < 0x20) refuse("not JSON: a control character in a string");
    record({at_, 1});
    ++at_;
    if (escaped) {
      escaped = false;
    } else if (c == '\\') {
      escaped = true;
    } else if (c == '"') {
      return;
    }
  }
}

void JsonStream::take_literal(std::string_view literal) {
  for (const char c : literal) {
    if (at_ == end_ && !refill()) refuse("not JSON: expected a value");
    if (*at_ != c) refuse("not JSON: expected a value");
    ++at_;
  }
  record(literal);
}

std::string_view JsonStream::number_token() {
  peek();
  while (true) {
    const char* end = number_end(at_);
    // What reaches to the end of the window may go on behind it. Reading on moves the window's text.
    const bool unclear = end == nullptr ? end_ - at_ < 64 : end == end_;
    if (unclear && !at_end_) {
      refill();
      continue;
    }
    if (end == nullptr) refuse("not JSON: expected a value");
    const std::string_view token(at_, static_cast<std::size_t>(end - at_));
    at_ = end;
    return token;
  }
}

void JsonStream::members(const std::function<void(const std::string&)>& visit) {
  take('{');
  if (++depth_ > kDeepest) refuse("nested too deep");
  while (peek() != '}') {
    std::string key;
    std::string* const outer = std::exchange(recorded_, &key);
    take_string();
    recorded_ = outer;
    record(key);
    take(':');
    visit(parse_json(key, source_).get<std::string>());
    if (peek() == '}') break;
    take(',');
    if (peek() == '}') refuse("not JSON: expected a key");
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
    if (peek() == ']') refuse("not JSON: expected a value");
  }
  take(']');
  --depth_;
}

/// Takes numbers and the commas behind them as long as they have the usual form and lie well inside the
/// window.
void JsonStream::take_plain_decimals(DecimalSample& sample) {
  constexpr std::ptrdiff_t kLongest = 32;
  while (end_ - at_ > kLongest) {
    const auto number = plain_decimal(at_);
    if (!number || *number->end != ',') return;
    sample.add_decimal(number->multiple);
    at_ = number->end + (number->end[1] == ' ' ? 2 : 1);
  }
}

void JsonStream::numbers(DecimalSample& sample) {
  elements([&] {
    peek();
    take_plain_decimals(sample);
    const char first = peek();
    if (first != '-' && !is_digit(first)) refuse("expected a number");
    const std::string_view token = number_token();
    // The token is followed by what the window has behind it, never by another digit.
    const auto plain =
        token.size() < 24 ? plain_decimal(std::string(token).append(24, '\0').c_str()) : std::nullopt;
    if (plain) {
      sample.add_decimal(plain->multiple);
    } else {
      sample.add_double(number_of(token));
    }
  });
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
      record(number_token());
  }
}

void JsonStream::skip_value() {
  take_any();
}

std::string JsonStream::raw_value() {
  std::string text;
  recorded_ = &text;
  take_any();
  recorded_ = nullptr;
  return text;
}

void JsonStream::finish() {
  if (peek() != '\0' || at_ < end_) refuse("not JSON: text behind the end of the value");
}

}  // namespace headroom
