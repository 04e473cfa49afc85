// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "headroom/base/error.h"
#include "headroom/base/text.h"
#include "headroom/console/option_table.h"
#include "headroom/console/output.h"

namespace headroom::cli {
namespace {

bool is_option_word(const std::string& word) {
  return word.size() > 1 && word.front() == '-' && word != "--";
}

bool is_long(const std::string& name) {
  return name.starts_with("--");
}

/// "--runs" of "--runs=5", "-r" of "-r5".
std::string name_of(const std::string& word) {
  return is_long(word) ? word.substr(0, word.find('=')) : word.substr(0, 2);
}

bool has_value(const std::string& word) {
  return is_long(word) ? word.find('=') != std::string::npos : word.size() > 2;
}

/// The value within the word: "5" of "--runs=5" and "-r5".
std::string value_in(const std::string& word) {
  return is_long(word) ? word.substr(word.find('=') + 1) : word.substr(2);
}

std::size_t value_count(const Option& option) {
  if (option.is_flag() || option.least_values == 0) return 0;
  if (option.values_at_once > 0) return static_cast<std::size_t>(option.values_at_once);
  return option.takes_pairs() ? 2 : 1;
}

bool is_named(const ForeignOption& option, const std::string& name) {
  return std::ranges::any_of(split(option.names, ','), [&](std::string known) {
    if (!known.ends_with('*')) return known == name;
    known.pop_back();
    return name.starts_with(known);
  });
}

void append_meaning(Arguments& out, const char* means, const std::string& value) {
  constexpr std::string_view kPlace = "{}";
  if (*means == '\0') return;
  for (std::string& word : split(means, ' ')) {
    if (const std::size_t at = word.find(kPlace); at != std::string::npos)
      word.replace(at, kPlace.size(), value);
    out.push_back(std::move(word));
  }
}

}  // namespace

const Option* OptionTable::find(const std::string& name) const {
  const auto found = std::ranges::find_if(options_, [&](const Option& option) {
    const std::vector<std::string> names = option.all_names();
    return !option.is_operand() && std::ranges::find(names, name) != names.end();
  });
  return found == options_.end() ? nullptr : &*found;
}

const ForeignOption* OptionTable::find_foreign(const std::string& name) const {
  if (find(name) != nullptr) return nullptr;
  const auto found =
      std::ranges::find_if(foreign_, [&](const ForeignOption& option) { return is_named(option, name); });
  return found == foreign_.end() ? nullptr : &*found;
}

std::size_t OptionTable::words_at(const Arguments& arguments, std::size_t place) const {
  const std::string& word = arguments[place];
  if (!is_option_word(word) || has_value(word)) return 1;
  std::size_t values = 0;
  if (const Option* option = find(word)) {
    values = value_count(*option);
  } else if (const ForeignOption* foreign = find_foreign(word)) {
    values = foreign->takes_value ? 1 : 0;
  }
  return std::min(1 + values, arguments.size() - place);
}

std::size_t OptionTable::first_operand(const Arguments& arguments) const {
  std::size_t place = 0;
  while (place < arguments.size() && is_option_word(arguments[place])) place += words_at(arguments, place);
  return place;
}

bool OptionTable::takes_all(const Arguments& arguments) const {
  for (std::size_t i = 0; i < arguments.size(); i += words_at(arguments, i)) {
    const std::string& word = arguments[i];
    if (!is_option_word(word)) return false;
    const std::string name = name_of(word);
    const Option* option = find(name);
    if (option == nullptr) {
      if (!is_long(name) || find_foreign(name) == nullptr) return false;
      continue;
    }
    const std::size_t values = value_count(*option);
    if (values == 0 && has_value(word) && !is_long(word)) return false;  // "-la"
    if (values == 0 || !option->takes_number()) continue;
    const std::string value = has_value(word)            ? value_in(word)
                              : i + 1 < arguments.size() ? arguments[i + 1]
                                                         : "";
    if (!to_number(value)) return false;
  }
  return true;
}

Arguments OptionTable::translated(const Arguments& arguments) const {
  Arguments out;
  for (std::size_t i = 0; i < arguments.size();) {
    const std::string& word = arguments[i];
    const auto at = arguments.begin() + static_cast<std::ptrdiff_t>(i);
    if (word == "--") return out.insert(out.end(), at, arguments.end()), out;
    const std::size_t words = words_at(arguments, i);
    i += words;
    const std::string name = is_option_word(word) ? name_of(word) : "";
    const ForeignOption* foreign = name.empty() ? nullptr : find_foreign(name);
    if (foreign == nullptr) {
      out.insert(out.end(), at, at + static_cast<std::ptrdiff_t>(words));
      continue;
    }
    if (foreign->means == nullptr) throw Error(fmt::format("{}: {}", name, foreign->note));
    const bool has_own = has_value(word);
    if (foreign->takes_value && !has_own && words == 1) throw Error(name + " needs a value");
    if (*foreign->note != '\0') print_message("{}: {}", name, foreign->note);
    const std::string value = has_own ? value_in(word) : words > 1 ? arguments[i - 1] : "";
    if (foreign->takes_value || value != "false") append_meaning(out, foreign->means, value);
  }
  return out;
}

}  // namespace headroom::cli
