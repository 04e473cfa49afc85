// SPDX-License-Identifier: Apache-2.0
#include "headroom/trace/rank_numbers.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "headroom/base/text.h"

namespace headroom::trace {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// Longer numbers are times, process ids and sizes.
constexpr std::size_t kMostDigits = 5;

std::optional<std::int64_t> number_at(std::string_view text) {
  std::size_t digits = 0;
  while (digits < text.size() && is_digit(text[digits])) ++digits;
  if (digits == 0 || digits > kMostDigits) return std::nullopt;
  return to_integer(text.substr(0, digits));
}

std::optional<std::int64_t> number_after_rank(std::string_view name) {
  constexpr std::string_view kWord = "rank";
  for (std::size_t at = name.rfind(kWord); at != std::string_view::npos;
       at = at == 0 ? std::string_view::npos : name.rfind(kWord, at - 1)) {
    std::string_view rest = name.substr(at + kWord.size());
    const std::size_t digits = rest.find_first_not_of("-_.[=");
    if (digits == std::string_view::npos || digits > 2) continue;
    if (const auto number = number_at(rest.substr(digits))) return number;
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::int64_t> rank_in_name(std::string_view path) {
  std::string name = std::filesystem::path(path).filename().string();
  for (char& c : name) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  if (const auto rank = number_after_rank(name)) return rank;
  const std::string_view stem = std::string_view(name).substr(0, name.find('.'));
  std::size_t digits = 0;
  while (digits < stem.size() && is_digit(stem[stem.size() - 1 - digits])) ++digits;
  const std::size_t before = stem.size() - digits;
  if (digits > 0 && (before == 0 || stem[before - 1] == '_' || stem[before - 1] == '-')) {
    return number_at(stem.substr(before));
  }
  const std::size_t first = stem.find_first_not_of("0123456789");
  if (first == 0 || first == std::string_view::npos || stem[first] != '_') return std::nullopt;
  return number_at(stem);
}

RankNumbers rank_numbers(std::span<const TraceFacts> traces) {
  RankNumbers numbers;
  std::vector<std::optional<std::int64_t>> chosen(traces.size());
  std::map<std::int64_t, std::size_t> owner;
  for (std::size_t i = 0; i < traces.size(); ++i) {
    if (!traces[i].rank) continue;
    const auto [place, is_new] = owner.try_emplace(*traces[i].rank, i);
    if (is_new) chosen[i] = traces[i].rank;
  }
  std::int64_t free = 0;
  for (std::size_t i = 0; i < traces.size(); ++i) {
    if (chosen[i]) continue;
    while (owner.contains(free)) ++free;
    const auto& claim = traces[i].rank;
    numbers.notes.push_back(
        claim ? fmt::format("{} and {} both say that they are rank {}: the second is taken as rank {}; are "
                            "they of one job?",
                            traces[owner.at(*claim)].source, traces[i].source, *claim, free)
              : fmt::format("{} does not tell its rank: taken as rank {}, by its place", traces[i].source,
                            free));
    owner[free] = i;
    chosen[i] = free;
  }
  for (const auto& rank : chosen) numbers.ranks.push_back(*rank);
  return numbers;
}

}  // namespace headroom::trace
