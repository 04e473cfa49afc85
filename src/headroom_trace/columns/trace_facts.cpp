// SPDX-License-Identifier: Apache-2.0
#include "headroom_trace/columns/trace_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <iterator>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "headroom/base/text.h"

namespace headroom::trace {
namespace {

/// Other clocks (since boot or profiler start) are far below.
bool is_since_1970(std::int64_t ns) {
  constexpr std::int64_t kYear = 31'556'952'000'000'000;
  return ns > (2015 - 1970) * kYear && ns < (2100 - 1970) * kYear;
}

std::uint64_t file_time_s(const std::string& path) {
  std::error_code error;
  const auto written = std::filesystem::last_write_time(path, error);
  if (error) return 0;
  const auto since = std::chrono::file_clock::to_sys(written).time_since_epoch();
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::seconds>(since).count());
}

/// Longer numbers are times, process ids, sizes.
constexpr std::size_t kMostDigits = 5;

std::optional<std::int64_t> number_at(std::string_view text) {
  std::size_t digits = 0;
  while (digits < text.size() && is_digit(text[digits])) ++digits;
  if (digits == 0 || digits > kMostDigits) return std::nullopt;
  return to_integer(text.substr(0, digits));
}

/// Excludes "frank3" and "workers_4".
std::optional<std::int64_t> number_after_word(std::string_view name, std::string_view word) {
  for (std::size_t at = name.rfind(word); at != std::string_view::npos;
       at = at == 0 ? std::string_view::npos : name.rfind(word, at - 1)) {
    if (at > 0 && name[at - 1] >= 'a' && name[at - 1] <= 'z') continue;
    const std::string_view rest = name.substr(at + word.size());
    const std::size_t digits = rest.find_first_not_of("-_.[=");
    if (digits == std::string_view::npos || digits > 2) continue;
    if (const auto number = number_at(rest.substr(digits))) return number;
  }
  return std::nullopt;
}

/// "{host}_{process id}.{time}.pt.trace.json" of PyTorch's tensorboard_trace_handler.
bool is_trace_handler_name(std::string_view name) {
  const std::size_t end = name.find(".pt.trace.json");
  if (end == std::string_view::npos) return false;
  const std::string_view before = name.substr(0, end);
  const std::size_t dot = before.rfind('.');
  if (dot == std::string_view::npos) return false;
  const std::string_view time = before.substr(dot + 1);
  return time.size() > kMostDigits && std::ranges::all_of(time, is_digit);
}

/// "#" stands for a number in `rest`.
struct NameParts {
  std::string rest;
  std::vector<std::string_view> numbers;
};

NameParts parts_of(std::string_view name) {
  NameParts parts;
  for (std::size_t at = 0; at < name.size();) {
    std::size_t end = at;
    while (end < name.size() && is_digit(name[end])) ++end;
    if (end == at) {
      parts.rest += name[at++];
      continue;
    }
    parts.numbers.push_back(name.substr(at, end - at));
    parts.rest += '#';
    at = end;
  }
  return parts;
}

/// The unranked traces with the only number in which their names differ, or nothing.
std::vector<std::pair<std::size_t, std::int64_t>> distinguishing_numbers(std::span<const TraceFacts> traces) {
  std::vector<std::pair<std::size_t, std::int64_t>> found;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < traces.size(); ++i) {
    if (traces[i].rank) continue;
    found.emplace_back(i, 0);
    names.push_back(std::filesystem::path(traces[i].source).filename().string());
  }
  if (found.size() < 2) return {};
  std::vector<NameParts> parts;
  for (const std::string& name : names) parts.push_back(parts_of(name));
  const NameParts& first = parts.front();
  std::optional<std::size_t> place;
  for (const NameParts& one : parts) {
    if (one.rest != first.rest) return {};
    for (std::size_t i = 0; i < first.numbers.size(); ++i) {
      if (one.numbers[i] == first.numbers[i]) continue;
      if (place.value_or(i) != i) return {};
      place = i;
    }
  }
  std::set<std::int64_t> different;
  for (std::size_t i = 0; place && i < parts.size(); ++i) {
    const auto number = number_at(parts[i].numbers[*place]);
    if (!number || !different.insert(*number).second) return {};
    found[i].second = *number;
  }
  return place ? found : std::vector<std::pair<std::size_t, std::int64_t>>();
}

struct AssignedRank {
  const TraceFacts* trace;
  const TraceFacts* owner;  ///< of the claimed rank, or null
  std::int64_t rank;
};

std::string shared_text(const AssignedRank& first, std::size_t count) {
  const std::string both = fmt::format("{} and {} both claim rank {}", first.owner->source,
                                       first.trace->source, *first.trace->rank);
  if (count == 1)
    return fmt::format("{}: the second counts as rank {}; are they from one job?", both, first.rank);
  return fmt::format(
      "{} files claim the rank of another file ({}): they count as free ranks, the first as {}; are they "
      "from one job?",
      count, both, first.rank);
}

std::string unranked_text(const AssignedRank& first, std::size_t count) {
  if (count == 1)
    return fmt::format("{} does not name its rank: counted as rank {}, by its position", first.trace->source,
                       first.rank);
  return fmt::format("{} files do not name their rank: numbered by position, {} as rank {}", count,
                     first.trace->source, first.rank);
}

std::vector<std::string> notes_of(std::span<const AssignedRank> placed) {
  const AssignedRank* shared = nullptr;
  const AssignedRank* unranked = nullptr;
  std::size_t count_shared = 0, count_unranked = 0;
  for (const AssignedRank& one : placed) {
    const AssignedRank*& first = one.owner != nullptr ? shared : unranked;
    if (first == nullptr) first = &one;
    ++(one.owner != nullptr ? count_shared : count_unranked);
  }
  std::vector<std::string> notes;
  if (shared != nullptr) notes.push_back(shared_text(*shared, count_shared));
  if (unranked != nullptr) notes.push_back(unranked_text(*unranked, count_unranked));
  return notes;
}

struct NamedRanks {
  std::vector<std::optional<std::int64_t>> ranks;
  std::vector<std::string> notes;
};

NamedRanks ranks_by_name_of_equals(std::span<const TraceFacts> traces) {
  std::map<std::int64_t, std::vector<std::size_t>> by_rank;
  for (std::size_t i = 0; i < traces.size(); ++i) {
    if (traces[i].rank) by_rank[*traces[i].rank].push_back(i);
  }
  NamedRanks named{std::vector<std::optional<std::int64_t>>(traces.size()), {}};
  std::set<std::int64_t> taken;
  for (const auto& [rank, files] : by_rank) {
    std::set<std::int64_t> of_names;
    for (const std::size_t i : files) {
      const auto name = rank_in_name(traces[i].source);
      if (name && !taken.contains(*name) && (*name == rank || !by_rank.contains(*name)))
        of_names.insert(*name);
    }
    if (files.size() < 2 || of_names.size() < files.size()) continue;
    for (const std::size_t i : files) named.ranks[i] = rank_in_name(traces[i].source);
    taken.merge(of_names);
    named.notes.push_back(fmt::format(
        "{} files claim rank {} ({} and {}): they count as the ranks in their names; are they from one job?",
        files.size(), rank, traces[files[0]].source, traces[files[1]].source));
  }
  return named;
}

template <typename Wanted>
Extent extent_of(const Events& events, Wanted wanted) {
  Extent extent{std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::min()};
  for (std::size_t i = 0; i < events.size(); ++i) {
    if (!wanted(i)) continue;
    extent.start_ns = std::min(extent.start_ns, events.start_ns[i]);
    extent.end_ns = std::max(extent.end_ns, events.end_ns(i));
  }
  return extent.start_ns > extent.end_ns ? Extent{} : extent;
}

}  // namespace

std::string step_text(const Step& step) {
  return step.number >= 0 ? std::to_string(step.number) : step.name;
}

Extent gpu_extent(const Trace& trace) {
  return extent_of(trace.events, [&](std::size_t i) { return is_gpu_work(trace.events.category[i]); });
}

Extent trace_extent(const Trace& trace) {
  return extent_of(trace.events, [](std::size_t) { return true; });
}

bool has_times(const Trace& trace) {
  constexpr std::int64_t kFew = 10;
  const std::vector<std::int64_t>& starts = trace.events.start_ns;
  const std::int64_t half = std::ssize(starts) / 2;
  const Extent whole = trace_extent(trace), work = gpu_extent(trace);
  const auto at_one_time = std::ranges::count_if(
      trace.gpu, [&](const GpuDetail& row) { return starts[row.event] == work.start_ns; });
  const bool is_counted = whole.length_ns() <= 2 * std::ssize(starts) &&
                          std::ranges::count_if(trace.events.duration_ns,
                                                [](std::int64_t length) { return length <= 1; }) >= half;
  return !is_counted && std::ranges::count(starts, whole.start_ns) <= std::max(kFew, half) &&
         at_one_time <= std::max(kFew, std::ssize(trace.gpu) / 2);
}

TraceFacts facts_of(const Trace& trace) {
  const Extent extent = trace_extent(trace);
  TraceFacts facts;
  facts.source = trace.source;
  facts.file_bytes = trace.file_bytes;
  facts.json_bytes = trace.json_bytes;
  facts.events_seen = trace.events_seen;
  facts.start_ns = extent.start_ns;
  facts.end_ns = extent.end_ns;
  facts.recorded_at_s = is_since_1970(extent.start_ns)
                            ? static_cast<std::uint64_t>(extent.start_ns / 1'000'000'000)
                            : file_time_s(trace.source);
  facts.is_complete = trace.is_complete;
  facts.problems = trace.problems;
  facts.rank = trace.rank;
  facts.world_size = trace.world_size;
  facts.devices = trace.devices;
  return facts;
}

std::optional<std::int64_t> rank_in_name(std::string_view path) {
  std::string name = std::filesystem::path(path).filename().string();
  for (char& c : name) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  if (const auto rank = number_after_word(name, "rank")) return rank;
  return is_trace_handler_name(name) ? std::nullopt : number_after_word(name, "worker");
}

RankNumbers rank_numbers(std::span<const TraceFacts> traces) {
  NamedRanks named = ranks_by_name_of_equals(traces);
  std::vector<std::optional<std::int64_t>>& chosen = named.ranks;
  std::map<std::int64_t, const TraceFacts*> owner;
  for (std::size_t i = 0; i < traces.size(); ++i) {
    if (chosen[i]) owner.emplace(*chosen[i], &traces[i]);
  }
  for (std::size_t i = 0; i < traces.size(); ++i) {
    if (!traces[i].rank || chosen[i]) continue;
    const bool is_new = owner.try_emplace(*traces[i].rank, &traces[i]).second;
    if (is_new) chosen[i] = traces[i].rank;
  }
  for (const auto& [i, number] : distinguishing_numbers(traces)) {
    if (owner.try_emplace(number, &traces[i]).second) chosen[i] = number;
  }
  std::int64_t free = 0;
  std::vector<AssignedRank> placed;
  for (std::size_t i = 0; i < traces.size(); ++i) {
    if (chosen[i]) continue;
    while (owner.contains(free)) ++free;
    placed.push_back({&traces[i], traces[i].rank ? owner.at(*traces[i].rank) : nullptr, free});
    owner[free] = &traces[i];
    chosen[i] = free;
  }
  RankNumbers numbers;
  numbers.notes = std::move(named.notes);
  std::ranges::move(notes_of(placed), std::back_inserter(numbers.notes));
  for (const auto& rank : chosen) numbers.ranks.push_back(*rank);
  return numbers;
}

std::string missing_data_text(const Trace& trace) {
  std::string text;
  if (!trace.is_complete) text = "the file is truncated: these figures cover only the part before its end";
  if (trace.problems.count == 0) return text;
  if (!text.empty()) text += "; ";
  text += fmt::format("{} places of the file could not be read, {} events are left out", trace.problems.count,
                      trace.problems.events_skipped);
  if (!trace.problems.first.empty()) {
    const Problem& first = trace.problems.first.front();
    text += fmt::format(" (the first at byte {}: {})", first.offset, first.what);
  }
  return text;
}

}  // namespace headroom::trace
