// SPDX-License-Identifier: Apache-2.0
#include "headroom/trace/readers/rank_mark.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>
#include <limits>

#include "headroom/trace/readers/json_repair.h"

namespace headroom::trace::readers {
namespace {

// Spellings as in event_arguments.cpp, and those that only viewers join by.
constexpr std::array<std::string_view, 11> kIds{"correlation",
                                                "correlation_id",
                                                "Sequence number",
                                                "wait_on_cuda_event_record_corr_id",
                                                "wait_on_hip_event_record_corr_id",
                                                "wait_on_cuda_event_id",
                                                "wait_on_hip_event_id",
                                                "cuda_event_id",
                                                "hip_event_id",
                                                "Python id",
                                                "Python parent id"};
constexpr std::array<std::string_view, 2> kExternalIds{"External id", "external id"};
constexpr std::array<std::string_view, 2> kDevices{"device", "Device Id"};

template <typename Words>
bool is_one_of(const Words& words, std::string_view key) {
  return std::ranges::find(words, key) != words.end();
}

/// Wraps within what 63 bits hold, so that ids of a rank stay as different as they were.
std::int64_t moved(const RankMark& mark, std::int64_t id) {
  constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  const std::uint64_t sum = static_cast<std::uint64_t>(id) +
                            static_cast<std::uint64_t>(mark.place) * static_cast<std::uint64_t>(kIdsOfARank);
  return static_cast<std::int64_t>(sum & kMost);
}

/// All of the text as a number of the base.
std::optional<std::int64_t> number_in(std::string_view text, int base) {
  std::int64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, number, base);
  return error == std::errc{} && at == end && number >= 0 ? std::optional(number) : std::nullopt;
}

}  // namespace

void append_process(const RankMark& mark, Raw pid, std::string& out) {
  const std::string_view text = without_quotes(pid);
  const auto number = number_in(text, 10);
  // "07" and "7" are two processes to the reader.
  const bool is_plain = text.size() == 1 || !text.starts_with('0');
  if (number && is_plain && *number < mark.process_stride) {
    fmt::format_to(std::back_inserter(out), "{}", mark.place * mark.process_stride + *number);
  } else {
    append_json_string(fmt::format("rank {}{}{}", mark.rank, text.empty() ? "" : " ", clean_text(text).text),
                       out);
  }
}

void append_id(const RankMark& mark, Raw id, std::string& out) {
  if (mark.place == 0) return append_clean_scalar(id, out);
  const std::string_view text = without_quotes(id);
  const bool is_text = text.size() != id.size();
  if (const auto number = number_in(text, 10)) {
    fmt::format_to(std::back_inserter(out), "{0}{1}{0}", is_text ? "\"" : "", moved(mark, *number));
  } else if (const auto hex = text.starts_with("0x") ? number_in(text.substr(2), 16) : std::nullopt) {
    fmt::format_to(std::back_inserter(out), "\"0x{:x}\"", moved(mark, *hex));
  } else if (const auto whole = is_text ? std::nullopt : parse_whole(id)) {
    fmt::format_to(std::back_inserter(out), "{}", moved(mark, *whole));
  } else {
    append_json_string(fmt::format("rank {} {}", mark.rank, clean_text(text).text), out);
  }
}

std::optional<std::int64_t> marked_argument(const RankMark& mark, std::string_view key, Raw value) {
  const bool is_device = is_one_of(kDevices, key), is_external = is_one_of(kExternalIds, key);
  if (!is_device && !is_external && !is_one_of(kIds, key)) return std::nullopt;
  const auto number = parse_whole(value);
  // Below zero, and for external ids zero, stand for none.
  if (!number || *number < (is_external ? 1 : 0)) return std::nullopt;
  if (!is_device) return moved(mark, *number);
  if (*number > std::numeric_limits<std::int32_t>::max()) return std::nullopt;
  return mark.place * mark.device_stride + *number;
}

std::string marked_process_name(const RankMark& mark, std::string_view name) {
  std::string marked = fmt::format("rank {}: {}", mark.rank, name);
  for (const std::string_view prefix : {"/device:GPU:", "/device:TPU:"}) {
    const std::size_t found = marked.find(prefix);
    if (found == std::string::npos) continue;
    const std::size_t first = found + prefix.size();
    const std::size_t end = std::min(marked.find_first_not_of("0123456789", first), marked.size());
    const auto device = marked_argument(mark, "device", std::string_view(marked).substr(first, end - first));
    if (device) marked.replace(first, end - first, std::to_string(*device));
  }
  return marked;
}

std::int64_t marked_sort_index(const RankMark& mark, std::optional<std::int64_t> index) {
  // Kineto sorts the host by its process id, devices from 5,000,000 on, and what is of neither last. 32 bits
  // are all that viewers sort by, so that the order is kept and not the numbers.
  constexpr std::int64_t kOfARank = 4096, kHost = 2048, kLast = kOfARank - 1, kFirstDevice = 5'000'000;
  const std::int64_t given = std::max<std::int64_t>(index.value_or(kHost), 0);
  const std::int64_t place =
      given < kFirstDevice ? std::min(given, kHost) : std::min(kHost + 1 + (given - kFirstDevice), kLast);
  return mark.place * kOfARank + place;
}

}  // namespace headroom::trace::readers
