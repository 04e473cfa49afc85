// SPDX-License-Identifier: Apache-2.0
#include "headroom/base/secrets.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "headroom/base/text.h"

namespace headroom {
namespace {

/// "_api_key_" for "apiKey" and "API-KEY".
std::string words_of(std::string_view name) {
  std::string words = "_";
  bool was_lower = false;
  for (const char c : name) {
    const auto letter = static_cast<unsigned char>(c);
    if (std::isalnum(letter) == 0) {
      if (words.back() != '_') words += '_';
      was_lower = false;
      continue;
    }
    if (was_lower && std::isupper(letter) != 0) words += '_';
    words += static_cast<char>(std::tolower(letter));
    was_lower = std::islower(letter) != 0;
  }
  return words.back() == '_' ? words : words + "_";
}

std::string redact_url_passwords(std::string text) {
  std::size_t from = 0;
  for (std::size_t scheme = 0; (scheme = text.find("://", from)) != std::string::npos;) {
    const std::size_t start = scheme + 3;
    const std::size_t end = std::min(text.find_first_of("/?# \t\"'", start), text.size());
    const std::size_t at = text.rfind('@', end);
    const std::size_t colon = text.find(':', start);
    from = start;
    if (at == std::string::npos || at < start || at >= end || colon >= at) continue;
    text.replace(colon + 1, at - colon - 1, kHidden);
  }
  return text;
}

/// Hides the values in "?user=me&password=x" and "PASSWORD=x".
std::string redact_values(std::string text) {
  for (std::size_t equals = 0; (equals = text.find('=', equals)) != std::string::npos; ++equals) {
    const std::size_t before = text.find_last_of("&?;,'\" ", equals);
    const std::size_t start = before == std::string::npos ? 0 : before + 1;
    if (!is_secret_name(std::string_view(text).substr(start, equals - start))) continue;
    const std::size_t value = equals + 1;
    const bool quoted = value < text.size() && (text[value] == '"' || text[value] == '\'');
    const std::size_t end = quoted ? text.find(text[value], value + 1) : text.find_first_of("&;'\"", value);
    const std::size_t first = quoted ? value + 1 : value;
    text.replace(first, std::min(end, text.size()) - first, kHidden);
  }
  return text;
}

bool is_option(std::string_view word) {
  return word.size() > 1 && word.front() == '-';
}

/// "--token", "Bearer".
bool precedes_secret(std::string_view word) {
  if (is_option(word)) return word.find('=') == std::string_view::npos && is_secret_name(word);
  const std::string name = words_of(word);
  return name == "_bearer_" || (name == "_basic_" && word != "basic");
}

/// Splits at blanks outside quotes; keeps empty words, so that joining restores the line.
std::vector<std::string> split_words(std::string_view line) {
  std::vector<std::string> words(1);
  char quote = 0;
  for (const char c : line) {
    if (quote == 0 && c == ' ') {
      words.emplace_back();
      continue;
    }
    if (quote != 0 ? c == quote : c == '"' || c == '\'') quote = quote == 0 ? c : '\0';
    words.back() += c;
  }
  return words;
}

std::string redact_word(std::string word) {
  word = redact_values(redact_url_passwords(std::move(word)));
  if (!contains(word, " ")) return word;
  const std::size_t quote = word.find_first_of("\"'");
  if (quote == std::string::npos) return redact_secrets(std::string_view(word));
  const std::size_t close = std::min(word.find(word[quote], quote + 1), word.size());
  const std::string inner = redact_secrets(std::string_view(word).substr(quote + 1, close - quote - 1));
  return word.substr(0, quote + 1) + inner + (close < word.size() ? redact_word(word.substr(close)) : "");
}

}  // namespace

bool is_secret_name(std::string_view name) {
  constexpr std::array kWords{"password", "pgpassword", "passwd",      "pwd",   "passphrase", "secret",
                              "secrets",  "credential", "credentials", "token", "apikey"};
  constexpr std::array kPairs{"api_key", "access_key", "private_key", "auth_key", "account_key"};
  const std::string words = words_of(name);
  const auto holds = [&](const char* word) { return contains(words, "_" + std::string(word) + "_"); };
  return std::ranges::any_of(kWords, holds) || std::ranges::any_of(kPairs, holds);
}

std::vector<std::string> redact_secrets(std::vector<std::string> words) {
  bool is_secret = false;
  for (std::string& word : words) {
    const bool announces = precedes_secret(word);
    word = is_secret && !is_option(word) ? kHidden : redact_word(std::move(word));
    is_secret = announces;
  }
  return words;
}

std::string redact_secrets(std::string_view line) {
  return join(redact_secrets(split_words(line)), " ");
}

}  // namespace headroom
