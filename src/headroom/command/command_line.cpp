// SPDX-License-Identifier: Apache-2.0
#include "headroom/command/command_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <set>

#include "headroom/base/error.h"
#include "headroom/base/text.h"

namespace headroom {
namespace {

constexpr std::string_view kBlanks = " \t\n\r\v\f";
constexpr std::string_view kShellOnly = "|&;<>()$`*?[";

bool is_assignment(std::string_view word) {
  const std::size_t equals = word.find('=');
  if (equals == std::string_view::npos || equals == 0) return false;
  const std::string_view name = word.substr(0, equals);
  const auto is_name_character = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; };
  return std::isdigit(static_cast<unsigned char>(name.front())) == 0 &&
         std::ranges::all_of(name, is_name_character);
}

class Splitter {
 public:
  explicit Splitter(std::string_view line) : line_(line) {}

  std::vector<std::string> words() {
    while (skip_blanks()) words_.push_back(word());
    if (words_.empty()) fail(0, "no command found");
    return std::move(words_);
  }

 private:
  [[noreturn]] void fail(std::size_t at, const std::string& why) const {
    throw Error(fmt::format("command {}: byte {}: {}", quote(line_), at + 1, why));
  }
  [[noreturn]] void needs_shell(std::size_t at, std::string_view what) const {
    fail(at,
         fmt::format(
             "{} works only in a shell; quote it, or run the command in a shell (--shell, or sh -c '...')",
             quote(what)));
  }
  bool at_end() const { return at_ == line_.size(); }

  bool skip_blanks() {
    while (true) {
      at_ = std::min(line_.find_first_not_of(kBlanks, at_), line_.size());
      if (at_end()) return false;
      if (line_[at_] != '#') return true;
      at_ = std::min(line_.find('\n', at_), line_.size());
    }
  }

  std::string word() {
    const std::size_t start = at_;
    if (line_[at_] == '~') needs_shell(at_, "~");
    std::string text;
    bool quoted = false;
    for (; !at_end() && kBlanks.find(line_[at_]) == std::string_view::npos; ++at_) {
      const char c = line_[at_];
      quoted = quoted || c == '\'' || c == '"' || c == '\\';
      if (c == '\'') {
        take_single_quoted(text);
      } else if (c == '"') {
        take_double_quoted(text);
      } else if (c == '\\') {
        take_escaped(text);
      } else if (kShellOnly.find(c) != std::string_view::npos) {
        needs_shell(at_, line_.substr(at_, 1));
      } else {
        text += c;
      }
    }
    if (words_.empty() && !quoted && is_assignment(text)) needs_shell(start, text);
    return text;
  }

  void take_single_quoted(std::string& text) {
    const std::size_t end = line_.find('\'', at_ + 1);
    if (end == std::string_view::npos) fail(at_, "this single quote is never closed");
    text += line_.substr(at_ + 1, end - at_ - 1);
    at_ = end;
  }

  void take_double_quoted(std::string& text) {
    const std::size_t start = at_;
    for (++at_; !at_end() && line_[at_] != '"'; ++at_) {
      const char c = line_[at_];
      if (c == '$' || c == '`') needs_shell(at_, line_.substr(at_, 1));
      if (c == '\\' && at_ + 1 < line_.size() &&
          std::string_view("$`\"\\\n").find(line_[at_ + 1]) != std::string_view::npos) {
        ++at_;
        if (line_[at_] == '\n') continue;
      }
      text += line_[at_];
    }
    if (at_end()) fail(start, "this double quote is never closed");
  }

  void take_escaped(std::string& text) {
    if (at_ + 1 == line_.size()) fail(at_, "there is nothing after this backslash");
    ++at_;
    if (line_[at_] != '\n') text += line_[at_];
  }

  std::string_view line_;
  std::size_t at_ = 0;
  std::vector<std::string> words_;
};

void walk(std::string_view text, const std::function<void(char)>& plain,
          const std::function<void(std::string_view)>& name) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c != '{' && c != '}') {
      plain(c);
    } else if (i + 1 < text.size() && text[i + 1] == c) {
      plain(c);
      ++i;
    } else {
      const std::size_t end = c == '{' ? text.find('}', i) : std::string_view::npos;
      if (end == std::string_view::npos) {
        throw Error("unmatched brace in " + quote(text) + "; write a literal brace twice");
      }
      if (end == i + 1) throw Error("an empty placeholder {} in " + quote(text));
      name(text.substr(i + 1, end - i - 1));
      i = end;
    }
  }
}

constexpr std::size_t kMaxPoints = 10'000;
constexpr int kMaxDecimals = 9;

/// units / 10^decimals
struct Decimal {
  std::int64_t units = 0;
  int decimals = 0;
};

std::int64_t power_of_ten(int exponent) {
  std::int64_t value = 1;
  for (; exponent > 0; --exponent) value *= 10;
  return value;
}

Decimal parse_decimal(std::string_view text) {
  const std::size_t dot = std::min(text.find('.'), text.size());
  const std::string_view fraction = dot < text.size() ? text.substr(dot + 1) : std::string_view();
  const auto units = to_integer(std::string(text.substr(0, dot)) + std::string(fraction));
  constexpr std::int64_t kLargest = 1'000'000'000'000'000;
  if (!units || fraction.size() > kMaxDecimals || std::abs(*units) > kLargest || fraction.starts_with('-') ||
      fraction.starts_with('+')) {
    throw Error(fmt::format("{} is not a decimal number such as 4, -2 or 0.25 (up to {} decimals)",
                            quote(text), kMaxDecimals));
  }
  return {*units, static_cast<int>(fraction.size())};
}

std::int64_t scale_to_decimals(const Decimal& number, int decimals) {
  const std::int64_t factor = power_of_ten(decimals - number.decimals);
  std::int64_t units = 0;
  if (__builtin_mul_overflow(number.units, factor, &units)) throw Error("its numbers have too many digits");
  return units;
}

std::string text_of(std::int64_t units, int decimals) {
  if (decimals == 0) return std::to_string(units);
  const std::int64_t scale = power_of_ten(decimals), size = std::abs(units);
  return fmt::format("{}{}.{:0{}}", units < 0 ? "-" : "", size / scale, size % scale, decimals);
}

std::string checked_name(std::string_view name) {
  if (name.empty() || name.find_first_of("{} \t\n") != std::string_view::npos) {
    throw Error(fmt::format("{} is not a valid parameter name: commands use it as {{name}}", quote(name)));
  }
  return std::string(name);
}

}  // namespace

std::vector<std::string> split_command_line(std::string_view line) {
  return Splitter(line).words();
}

std::string quoted_word(std::string_view text) {
  const auto plain = [](unsigned char c) {
    return std::isalnum(c) != 0 ||
           std::string_view("_-./,:=@%+").find(static_cast<char>(c)) != std::string_view::npos;
  };
  if (!text.empty() && std::ranges::all_of(text, plain) && !is_assignment(text)) return std::string(text);
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::string with_placeholders(std::string_view text,
                              const std::vector<std::pair<std::string, std::string>>& values) {
  std::vector<std::string> names;
  for (const auto& [name, value] : values) names.push_back(name);
  return fill_placeholders(escape_unknown_placeholders(text, names), {values.begin(), values.end()});
}

std::vector<std::string> placeholder_names(std::string_view text) {
  std::vector<std::string> names;
  walk(
      text, [](char) {}, [&](std::string_view name) { names.emplace_back(name); });
  return names;
}

std::string fill_placeholders(std::string_view text, const Placeholders& values) {
  std::string result;
  walk(
      text, [&](char c) { result += c; },
      [&](std::string_view name) {
        const auto found = values.find(name);
        if (found == values.end()) {
          throw Error("no value for the placeholder {" + std::string(name) + "} in " + quote(text));
        }
        result += found->second;
      });
  return result;
}

std::string escape_unknown_placeholders(std::string_view text, const std::vector<std::string>& known) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::size_t end = text[i] == '{' ? text.find('}', i) : std::string_view::npos;
    const bool is_name = end != std::string_view::npos &&
                         std::ranges::find(known, text.substr(i + 1, end - i - 1)) != known.end();
    if (is_name) {
      result += text.substr(i, end - i + 1);
      i = end;
    } else {
      result += text[i];
      if (text[i] == '{' || text[i] == '}') result += text[i];
    }
  }
  return result;
}

CommandParameter listed_parameter(std::string_view name, std::string_view values) {
  CommandParameter parameter{checked_name(name), {""}};
  for (std::size_t at = 0; at < values.size(); ++at) {
    const bool escaped = values.substr(at).starts_with("\\,");
    if (values[at] == ',') {
      parameter.values.emplace_back();
    } else {
      parameter.values.back() += escaped ? ',' : values[at];
    }
    if (escaped) ++at;
  }
  const std::set<std::string> distinct(parameter.values.begin(), parameter.values.end());
  if (distinct.size() < parameter.values.size()) {
    throw Error(fmt::format("parameter {}: a value is given twice in {}", name, quote(values)));
  }
  if (values.empty()) throw Error(fmt::format("parameter {} has no values; give some, as in a,b", name));
  return parameter;
}

CommandParameter stepped_parameter(std::string_view name, std::string_view first, std::string_view last,
                                   std::string_view step) {
  CommandParameter parameter{checked_name(name), {}};
  return with_context(fmt::format("parameter {}", name), [&] {
    const Decimal from = parse_decimal(first), to = parse_decimal(last), by = parse_decimal(step);
    const int decimals = std::max({from.decimals, to.decimals, by.decimals});
    const std::int64_t begin = scale_to_decimals(from, decimals), end = scale_to_decimals(to, decimals),
                       stride = scale_to_decimals(by, decimals);
    if (stride == 0 || (end - begin) / stride < 0) {
      throw Error(fmt::format("steps of {} do not lead from {} to {}", step, first, last));
    }
    if (static_cast<std::uint64_t>((end - begin) / stride) >= kMaxPoints) {
      throw Error(fmt::format("more than {} values from {} to {}", kMaxPoints, first, last));
    }
    for (std::int64_t value = begin; stride > 0 ? value <= end : value >= end; value += stride) {
      parameter.values.push_back(text_of(value, decimals));
    }
    return parameter;
  });
}

std::vector<AxisTexts> parameter_points(std::span<const CommandParameter> parameters) {
  std::vector<AxisTexts> points(1);
  std::set<std::string> names;
  for (const CommandParameter& parameter : parameters) {
    if (!names.insert(parameter.name).second) {
      throw Error("parameter " + quote(parameter.name) + " is given twice; name its values once");
    }
    if (points.size() * parameter.values.size() > kMaxPoints) {
      throw Error(fmt::format("more than {} combinations of parameters", kMaxPoints));
    }
    std::vector<AxisTexts> extended;
    for (const AxisTexts& point : points) {
      for (const std::string& value : parameter.values) {
        extended.push_back(point);
        extended.back().emplace_back(parameter.name, value);
      }
    }
    points = std::move(extended);
  }
  return points;
}

}  // namespace headroom
