// SPDX-License-Identifier: Apache-2.0
#include "headroom/record/older_schemas.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <optional>

#include "headroom/base/error.h"
#include "headroom/base/json.h"
#include "headroom/base/text.h"
#include "headroom/base/units.h"

namespace headroom::record_json {
namespace {

/// Empty if absent.
std::string taken(StringMap& map, const char* key) {
  const auto node = map.extract(key);
  return node.empty() ? std::string() : node.mapped();
}

/// Parses "0.81 0.93"; empty if invalid.
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

/// Rounds to whole bytes: "8.58 MiB" was rounded when written.
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

/// Converts "25 MiB" to bucket_size in MiB.
void take_bucket_size(Record& record) {
  for (auto& [name, value] : record.axes) {
    const std::vector<std::string> words = split(value.text(), ' ');
    const auto bytes = name == "bucket" && words.size() == 2 ? size_of(words[0], words[1]) : std::nullopt;
    if (!bytes) continue;
    name = "bucket_size";
    value = fmt::format("{}", static_cast<double>(*bytes) / (1 << 20));
  }
}

std::vector<double> parse_numbers(std::string_view sentence) {
  std::vector<double> numbers;
  for (std::size_t at = 0; at < sentence.size();) {
    double number = 0;
    const char* begin = sentence.data() + at;
    const auto [end, error] = std::from_chars(begin, sentence.data() + sentence.size(), number);
    const bool is_word = at > 0 && std::isalpha(static_cast<unsigned char>(sentence[at - 1])) != 0;
    if (error == std::errc() && !is_word && std::isfinite(number)) numbers.push_back(number);
    at += error == std::errc() ? static_cast<std::size_t>(end - begin) : 1;
  }
  return numbers;
}

std::string parenthesised_text(const std::string& sentence) {
  const std::size_t open = sentence.find('('), close = sentence.rfind(')');
  if (open == std::string::npos || close == std::string::npos || close < open) return {};
  return sentence.substr(open + 1, close - open - 1);
}

/// First words of a note before schema 4, and its count of leading numbers.
struct OldSentence {
  const char* begin;
  NoteKind kind;
  std::size_t numbers = 0;
};

constexpr std::array<OldSentence, 18> kOldSentences{{
    {"steal: the hypervisor took ", NoteKind::kSteal, 2},
    {"preempted: ", NoteKind::kPreempted, 2},
    {"page faults: in ", NoteKind::kPageFaults, 2},
    {"frequency: between ", NoteKind::kCpuClock, 2},
    {"device clock: between ", NoteKind::kDeviceClock, 2},
    {"device memory clock: between ", NoteKind::kDeviceMemoryClock, 2},
    {"throttled: the device's clocks ", NoteKind::kThrottled, 2},
    {"placement: the threads moved, ", NoteKind::kPlacement, 2},
    {"warm-up: ", NoteKind::kWarmUp, 1},
    {"processes differ: ", NoteKind::kProcessesDiffer},
    {"limit unstable: ", NoteKind::kLimitUnstable},
    {"above its limit (", NoteKind::kAboveLimit, 1},
    {"pages: ", NoteKind::kOtherPages, 2},
    {"time cap: ", NoteKind::kTimeCap},
    {"as many runs as were asked for", NoteKind::kExactRounds},
    {"busy: ", NoteKind::kBusy, 2},
    {"quota: ", NoteKind::kQuota, 2},
    {"failed: ", NoteKind::kFailedRuns, 3},
}};

bool take_text(StringMap& texts, const char* key, std::string& taken) {
  const auto node = texts.extract(key);
  if (node.empty()) return false;
  taken = node.mapped();
  return true;
}

std::string text_or_empty(const StringMap& texts, const char* key) {
  const auto found = texts.find(key);
  return found == texts.end() ? std::string() : found->second;
}

/// Parses "48 KiB, 35.8 MiB"; empty if invalid.
std::vector<std::int64_t> parse_sizes(const std::string& text) {
  std::vector<std::int64_t> sizes;
  if (text.empty()) return sizes;
  for (const std::string& size : split(text, ',')) {
    const std::vector<std::string> words = split(std::string(trimmed(size)), ' ');
    const auto bytes = words.size() == 2 ? size_of(words[0], words[1]) : std::nullopt;
    if (!bytes) return {};
    sizes.push_back(*bytes);
  }
  return sizes;
}

std::optional<double> parse_percent(const std::string& text) {
  const auto percent = to_number(split(text, ' ').front());
  return percent ? std::optional(*percent / 100) : std::nullopt;
}

/// "native@native" meant the same case, "native@native D=1024" other axes.
void complete_ratio(RatioToOther& ratio) {
  const std::size_t at = ratio.other.find('@');
  if (at == std::string::npos || ratio.other.find('=') != std::string::npos) return;
  ratio.backend = ratio.other.substr(0, at);
  ratio.runner = ratio.other.substr(at + 1);
}

void complete_slowest(Record& record) {
  const StringMap& texts = record.metric.extra_info;
  const auto rank = to_integer(text_or_empty(texts, "slowest rank"));
  const auto share = to_number(text_or_empty(texts, "slowest share"));
  if (rank && *rank >= 0 && share) record.slowest = Record::Slowest{static_cast<std::size_t>(*rank), *share};
}

/// For schemas 1 and 2.
void take_members_from_texts(Record& record) {
  if (record.benchmark.name == "ddp") take_bucket_size(record);
  for (const Note& note : record.notes) {
    if (record.busy_cpus == 0 && note.kind == NoteKind::kBusy) record.busy_cpus = note.numbers[0];
  }
  StringMap& texts = record.metric.extra_info;
  if (texts.empty()) return;
  if (taken(texts, "headline") == "true") record.metric.headline = true;
  if (const auto share = to_number(taken(texts, "target_share"))) record.metric.target_share = *share;
  if (texts.contains("ratio")) take_ratio(texts, record);
  if (texts.contains("modes")) take_modes(texts, record);
  if (texts.contains("of_limit_quartiles")) take_rounds(texts, record);
}

}  // namespace

Note note_of_sentence(const std::string& sentence) {
  const auto* known = std::ranges::find_if(
      kOldSentences, [&](const OldSentence& one) { return sentence.starts_with(one.begin); });
  const std::vector<double> numbers = parse_numbers(sentence);
  if (known == kOldSentences.end() || numbers.size() < known->numbers) return sentence;
  Note note(known->kind);
  std::copy_n(numbers.begin(), known->numbers, note.numbers.begin());
  if (note.kind == NoteKind::kThrottled || note.kind == NoteKind::kOtherPages)
    note.text = parenthesised_text(sentence);
  if (note.kind == NoteKind::kBusy) {
    constexpr std::string_view kBefore = "other programs ";
    const std::size_t at = sentence.find(kBefore);
    note.text = at == std::string::npos ? "" : sentence.substr(at + kBefore.size());
  }
  if (note.kind == NoteKind::kAboveLimit) note.numbers[0] /= 100;
  if (note.kind == NoteKind::kOtherPages) {
    note.numbers[0] /= 100;
    note.numbers[1] /= 100;
  }
  if (note.kind == NoteKind::kAboveLimit && sentence.find("held up") != std::string::npos)
    note.kind = NoteKind::kAboveUnstableLimit;
  if (note.kind == NoteKind::kFailedRuns && sentence.find("(signal") != std::string::npos)
    note.numbers[2] = -note.numbers[2];
  // Numbers were rounded: keep sentences that do not round-trip.
  return headroom::sentence(note) == sentence ? note : Note(sentence);
}

Instrument instrument_by_names(const Record& record) {
  const bool is_of_tool = record.benchmark.extra_info.contains("tool");
  if (record.model.type == "command" && !is_of_tool) return Instrument::kCommands;
  if (record.model.type == "compile cache") return Instrument::kCache;
  if (record.model.type == "operator dispatch") return Instrument::kDispatch;
  if (record.benchmark.name == "ddp") return Instrument::kDdp;
  if (record.model.type == "collective") return Instrument::kCollectives;
  if (record.model.type == "trace") return Instrument::kTrace;
  return record.benchmark.name == "headroom" && !is_of_tool ? Instrument::kRun : Instrument::kImport;
}

void complete_old_record(Record& record, const std::vector<std::string>& notes) {
  for (const std::string& note : notes) record.notes.push_back(note_of_sentence(note));
  take_members_from_texts(record);
  record.instrument = instrument_by_names(record);
  if (record.instrument == Instrument::kImport)
    record.tool = text_or_empty(record.benchmark.extra_info, "tool");
  complete_slowest(record);
  record.huge_pages = parse_percent(text_or_empty(record.model.extra_info, kHugePagesKey));
  if (std::string look; take_text(record.metric.extra_info, "look", look))
    record.look = look == "last" ? Look::kLast : Look::kRunning;
  if (record.ratio) complete_ratio(*record.ratio);
  take_numbers_from_texts(record);
}

void complete_old_environment(Environment& environment, const JsonPath& path) {
  InstrumentOptions& options = environment.options;
  const JsonPath texts(path, "extra_info");
  options.per_rank = std::ranges::find(environment.command, "--per-rank") != environment.command.end();
  options.margin = to_number(text_or_empty(environment.extra_info, "margin"));
  if (text_or_empty(environment.extra_info, "hardware_counters") == "user space only")
    options.counters = CounterScope::kUserSpace;
  if (std::string text; take_text(environment.extra_info, "cache_run", text))
    options.cache_run = parse_json(text, JsonPath(texts, "cache_run").text());
  if (std::string text; take_text(environment.extra_info, "dispatch_expectations", text))
    options.expectations = parse_dispatch_expectations(text, JsonPath(texts, "dispatch_expectations").text());
  for (Environment::Runner& machine : environment.machines) {
    machine.cache_bytes = parse_sizes(text_or_empty(machine.extra_info, "caches"));
    const std::vector<std::int64_t> l2 = parse_sizes(text_or_empty(machine.extra_info, "gpu_l2"));
    if (l2.size() == 1) machine.gpu_l2_bytes = l2.front();
  }
}

void complete_early_options(Environment& environment) {
  InstrumentOptions& options = environment.options;
  const std::string counters = text_or_empty(environment.extra_info, "hardware_counters");
  constexpr std::string_view kNone = "none: ";
  if (options.counters == CounterScope::kUnknown && counters.starts_with(kNone)) {
    options.counters = CounterScope::kNone;
    options.no_counters = counters.substr(kNone.size());
  }
  const std::vector<std::string>& command = environment.command;
  if (!options.traces.empty() || command.size() < 4 || command[1] != "trace") return;
  options.traces = {command.back()};
  options.writes_file = std::ranges::find(command, "--overlay") != command.end();
}

void take_numbers_from_texts(Record& record) {
  if (record.instrument != Instrument::kDdp && record.instrument != Instrument::kCache) return;
  for (const char* name : {"bytes", "tensors", "saves"}) {
    StringMap& texts = record.metric.extra_info;
    const auto number = to_number(text_or_empty(texts, name));
    if (!number) continue;
    record.metric.numbers.emplace(name, *number);
    texts.erase(name);
  }
}

StringMap texts_of_members(const Record& record) {
  StringMap texts;
  for (const auto& [name, number] : record.metric.numbers) texts[name] = fmt::format("{}", number);
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
  if (record.look) texts["look"] = *record.look == Look::kLast ? "last" : "running";
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
