// SPDX-License-Identifier: Apache-2.0
#include "headroom/trace/columns/rank_numbers.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "headroom/base/text.h"

namespace headroom::trace {
namespace {

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

/// "{host}_{process id}.{time}.pt.trace.json": what PyTorch's tensorboard_trace_handler calls its files. A
/// host may have dots and numbers in its name, so that no number but one after "rank" tells anything.
bool is_of_trace_handler(std::string_view name) {
  const std::size_t end = name.find(".pt.trace.json");
  if (end == std::string_view::npos) return false;
  const std::string_view before = name.substr(0, end);
  const std::size_t dot = before.rfind('.');
  if (dot == std::string_view::npos) return false;
  const std::string_view time = before.substr(dot + 1);
  return time.size() > kMostDigits && std::ranges::all_of(time, is_digit);
}

/// A trace that did not get the rank that it says, or says none.
struct Placed {
  const TraceFacts* trace;
  const TraceFacts* owner;  ///< of the rank that it says; null: it says none
  std::int64_t rank;
};

std::string shared_text(const Placed& first, std::size_t count) {
  const std::string both = fmt::format("{} and {} both say that they are rank {}", first.owner->source,
                                       first.trace->source, *first.trace->rank);
  if (count == 1)
    return fmt::format("{}: the second is taken as rank {}; are they of one job?", both, first.rank);
  return fmt::format(
      "{} files say that they are a rank that another one is ({}): they are taken as ranks that are free, "
      "the "
      "first as {}; are they of one job?",
      count, both, first.rank);
}

std::string untold_text(const Placed& first, std::size_t count) {
  if (count == 1)
    return fmt::format("{} does not tell its rank: taken as rank {}, by its place", first.trace->source,
                       first.rank);
  return fmt::format("{} files do not tell their rank: taken by their places, {} as rank {}", count,
                     first.trace->source, first.rank);
}

/// One sentence of each kind, however many files it is about.
std::vector<std::string> notes_of(std::span<const Placed> placed) {
  const Placed* shared = nullptr;
  const Placed* untold = nullptr;
  std::size_t count_shared = 0, count_untold = 0;
  for (const Placed& one : placed) {
    const Placed*& first = one.owner != nullptr ? shared : untold;
    if (first == nullptr) first = &one;
    ++(one.owner != nullptr ? count_shared : count_untold);
  }
  std::vector<std::string> notes;
  if (shared != nullptr) notes.push_back(shared_text(*shared, count_shared));
  if (untold != nullptr) notes.push_back(untold_text(*untold, count_untold));
  return notes;
}

}  // namespace

std::optional<std::int64_t> rank_in_name(std::string_view path) {
  std::string name = std::filesystem::path(path).filename().string();
  for (char& c : name) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  if (const auto rank = number_after_rank(name)) return rank;
  if (is_of_trace_handler(name)) return std::nullopt;
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
  std::vector<std::optional<std::int64_t>> chosen(traces.size());
  std::map<std::int64_t, const TraceFacts*> owner;
  for (std::size_t i = 0; i < traces.size(); ++i) {
    if (!traces[i].rank) continue;
    const bool is_new = owner.try_emplace(*traces[i].rank, &traces[i]).second;
    if (is_new) chosen[i] = traces[i].rank;
  }
  std::int64_t free = 0;
  std::vector<Placed> placed;
  for (std::size_t i = 0; i < traces.size(); ++i) {
    if (chosen[i]) continue;
    while (owner.contains(free)) ++free;
    placed.push_back({&traces[i], traces[i].rank ? owner.at(*traces[i].rank) : nullptr, free});
    owner[free] = &traces[i];
    chosen[i] = free;
  }
  RankNumbers numbers;
  numbers.notes = notes_of(placed);
  for (const auto& rank : chosen) numbers.ranks.push_back(*rank);
  return numbers;
}

}  // namespace headroom::trace
