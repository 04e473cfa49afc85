// SPDX-License-Identifier: Apache-2.0
#include "headroom/record/older_schemas.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "headroom/base/text.h"
#include "headroom/base/units.h"

namespace headroom::record_json {
namespace {

/// Takes the text of that name out of the map; empty where there is none.
std::string taken(StringMap& map, const char* key) {
  const auto node = map.extract(key);
  return node.empty() ? std::string() : node.mapped();
}

/// The numbers of "0.81 0.93"; none where one of them is none.
std::vector<double> numbers_of(const std::string& text) {
  std::vector<double> numbers;
  for (const std::string& word : split(text, ' ')) {
    const auto number = to_number(word);
    if (!number || !std::isfinite(*number)) return {};
    numbers.push_back(*number);
  }
  return numbers;
}

void take_ratio(StringMap& texts, Record& record) {
  const auto ratio = to_number(taken(texts, "ratio"));
  const auto low = to_number(taken(texts, "ratio_low")), high = to_number(taken(texts, "ratio_high"));
  const auto pairs = to_integer(taken(texts, "ratio_pairs"));
  const std::string other = taken(texts, "ratio_to");
  if (!ratio || other.empty()) return;
  record.ratio =
      RatioToOther{*ratio, {}, static_cast<std::size_t>(std::max<std::int64_t>(0, pairs.value_or(0))), other};
  if (low && high) record.ratio->interval = Interval{*low, *high, 0.95};
}

void take_modes(StringMap& texts, Record& record) {
  const std::vector<double> medians = numbers_of(taken(texts, "modes"));
  const std::vector<double> shares = numbers_of(taken(texts, "mode_shares"));
  const bool in_stretches = taken(texts, "mode_order") == "stretches";
  if (medians.size() != shares.size()) return;
  for (std::size_t i = 0; i < medians.size(); ++i) record.modes.groups.push_back({medians[i], shares[i]});
  record.modes.in_stretches = in_stretches;
}

void take_rounds(StringMap& texts, Record& record) {
  const std::vector<double> quartiles = numbers_of(taken(texts, "of_limit_quartiles"));
  const auto count = to_integer(taken(texts, "of_limit_rounds"));
  if (record.limit && quartiles.size() == 2 && count.value_or(0) > 0)
    record.limit->rounds = Limit::Rounds{static_cast<std::size_t>(*count), quartiles[0], quartiles[1]};
}

/// "8.58 MiB" was rounded when it was written; the nearest whole byte then.
std::optional<std::int64_t> size_of(const std::string& number, const std::string& unit) {
  const auto amount = to_number(number);
  if (!amount || !(*amount > 0) || *amount > 1e12) return std::nullopt;
  try {
    return static_cast<std::int64_t>(std::llround(*amount * static_cast<double>(parse_bytes("1" + unit))));
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

std::optional<LimitPart> part_of(const std::string& text, int threads) {
  const std::vector<std::string> words = split(text, ' ');
  LimitPart part;
  part.kind = words.front();
  part.threads = threads;
  if (words.size() == 3 && part.kind == "peak") {
    part.dtype = words[1];
    part.pattern = words[2];
    return part;
  }
  const auto bytes = words.size() == 4 ? size_of(words[1], words[2]) : std::nullopt;
  if (!bytes) return std::nullopt;
  part.bytes = *bytes;
  part.pattern = words[3];
  return part;
}

/// `ddp` told the size of its buckets as a text: "25 MiB".
void take_bucket_size(Record& record) {
  for (auto& [name, value] : record.axes) {
    const std::vector<std::string> words = split(value.text(), ' ');
    const auto bytes = name == "bucket" && words.size() == 2 ? size_of(words[0], words[1]) : std::nullopt;
    if (!bytes) continue;
    name = "bucket_size";
    value = fmt::format("{}", static_cast<double>(*bytes) / (1 << 20));
  }
}

/// "busy: 1.5 of 2 CPUs were at work for other programs before measuring".
void take_busy_cpus(Record& record) {
  constexpr std::string_view kBusy = "busy: ";
  for (const std::string& note : record.notes) {
    if (!note.starts_with(kBusy)) continue;
    record.busy_cpus = to_number(split(note.substr(kBusy.size()), ' ').front()).value_or(0);
  }
}

}  // namespace

void take_members_from_texts(Record& record) {
  if (record.benchmark.name == "ddp") take_bucket_size(record);
  if (record.busy_cpus == 0) take_busy_cpus(record);
  StringMap& texts = record.metric.extra_info;
  if (texts.empty()) return;
  if (taken(texts, "headline") == "true") record.metric.headline = true;
  if (const auto share = to_number(taken(texts, "target_share"))) record.metric.target_share = *share;
  if (texts.contains("ratio")) take_ratio(texts, record);
  if (texts.contains("modes")) take_modes(texts, record);
  if (texts.contains("of_limit_quartiles")) take_rounds(texts, record);
}

StringMap texts_of_members(const Record& record) {
  StringMap texts;
  if (record.metric.headline) texts["headline"] = "true";
  if (record.metric.target_share) texts["target_share"] = fmt::format("{}", *record.metric.target_share);
  if (record.ratio) {
    texts["ratio"] = fmt::format("{}", record.ratio->ratio);
    texts["ratio_pairs"] = std::to_string(record.ratio->pairs);
    texts["ratio_to"] = record.ratio->other;
    if (record.ratio->interval) {
      texts["ratio_low"] = fmt::format("{}", record.ratio->interval->low);
      texts["ratio_high"] = fmt::format("{}", record.ratio->interval->high);
    }
  }
  if (!record.modes.groups.empty()) {
    std::vector<std::string> medians, shares;
    for (const Mode& group : record.modes.groups) {
      medians.push_back(fmt::format("{}", group.median));
      shares.push_back(fmt::format("{}", group.share));
    }
    texts["modes"] = join(medians, " ");
    texts["mode_shares"] = join(shares, " ");
    texts["mode_order"] = record.modes.in_stretches ? "stretches" : "mixed";
  }
  if (record.limit && record.limit->rounds) {
    const Limit::Rounds& rounds = *record.limit->rounds;
    texts["of_limit_quartiles"] = fmt::format("{} {}", rounds.lower_quartile, rounds.upper_quartile);
    texts["of_limit_rounds"] = std::to_string(rounds.count);
  }
  return texts;
}

std::vector<LimitPart> limit_parts_of_name(std::string_view name) {
  const std::size_t comma = name.find(", ");
  int threads = 0;
  if (comma != std::string_view::npos) {
    const auto count = to_integer(split(std::string(name.substr(comma + 2)), ' ').front());
    threads = static_cast<int>(std::clamp<std::int64_t>(count.value_or(0), 0, 1 << 20));
  }
  std::vector<LimitPart> parts;
  std::string rest(name.substr(0, comma));
  while (true) {
    const std::size_t plus = rest.find(" + ");
    const std::optional<LimitPart> part = part_of(rest.substr(0, plus), threads);
    if (!part) return {};
    parts.push_back(*part);
    if (plus == std::string::npos) return parts;
    rest.erase(0, plus + 3);
  }
}

}  // namespace headroom::record_json
