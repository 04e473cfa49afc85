// SPDX-License-Identifier: Apache-2.0
#include "headroom/command/command_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "headroom/base/error.h"
#include "headroom/base/text.h"
#include "headroom/command/placeholders.h"

namespace headroom {
namespace {

constexpr std::string_view kBlanks = " \t\n\r\v\f";
constexpr std::string_view kShellOnly = "|&;<>()$`*?[";

/// Whether `word` is what a shell takes for an assignment before a command: NAME=value.
bool is_assignment(std::string_view word) {
  const std::size_t equals = word.find('=');
  if (equals == std::string_view::npos || equals == 0) return false;
  const std::string_view name = word.substr(0, equals);
  const auto is_name_character = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; };
  return std::isdigit(static_cast<unsigned char>(name.front())) == 0 &&
         std::ranges::all_of(name, is_name_character);
}

/// Reads one line from left to right.
class Splitter {
 public:
  explicit Splitter(std::string_view line) : line_(line) {}

  std::vector<std::string> words() {
    while (skip_blanks()) words_.push_back(word());
    if (words_.empty()) fail(0, "there is no command in it");
    return std::move(words_);
  }

 private:
  [[noreturn]] void fail(std::size_t at, const std::string& why) const {
    throw Error(fmt::format("command {}: byte {}: {}", in_quotes(line_), at + 1, why));
  }
  [[noreturn]] void needs_shell(std::size_t at, std::string_view what) const {
    fail(at, fmt::format("{} means something to a shell only; quote it, or have a shell run the command "
                         "(--shell, or sh -c '...')",
                         in_quotes(what)));
  }
  bool at_end() const { return at_ == line_.size(); }

  /// False at the end of the line.
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

}  // namespace headroom
