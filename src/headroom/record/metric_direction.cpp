// SPDX-License-Identifier: Apache-2.0
#include "headroom/record/metric_direction.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace headroom {
namespace {

using Words = std::span<const std::string_view>;

constexpr std::array<std::string_view, 34> kGood{
    "throughput", "goodput",     "bandwidth",   "bw",        "speed",       "speedup",  "speedups",
    "ops",        "iops",        "flops",       "mips",      "ips",         "fps",      "qps",
    "rps",        "tps",         "bps",         "ipc",       "fom",         "hit",      "hits",
    "hitrate",    "utilization", "utilisation", "occupancy", "efficiency",  "accuracy", "pass",
    "passed",     "success",     "successes",   "score",     "compression", "overlap"};

/// Lower is better, even per second.
constexpr std::array<std::string_view, 49> kFaults{
    "miss",        "misses",     "missrate",   "error",      "errors",      "failure",       "failures",
    "failed",      "fault",      "faults",     "stall",      "stalls",      "stalled",       "drop",
    "drops",       "dropped",    "loss",       "losses",     "lost",        "retry",         "retries",
    "timeout",     "timeouts",   "rejected",   "eviction",   "evictions",   "conflict",      "conflicts",
    "collision",   "collisions", "contention", "mispredict", "mispredicts", "misprediction", "mispredictions",
    "spill",       "spills",     "abort",      "aborts",     "alloc",       "allocs",        "allocation",
    "allocations", "allocated",  "malloc",     "mallocs",    "switch",      "switches",      "throttled"};

constexpr std::array<std::string_view, 48> kCosts{
    "time",         "times",        "latency", "latencies", "duration", "elapsed",    "delay",  "wait",
    "second",       "seconds",      "sec",     "secs",      "ms",       "us",         "ns",     "nanoseconds",
    "microseconds", "milliseconds", "minutes", "hours",     "overhead", "memory",     "mem",    "rss",
    "footprint",    "byte",         "bytes",   "kb",        "mb",       "gb",         "kib",    "mib",
    "gib",          "instructions", "cycles",  "breaks",    "syscalls", "power",      "energy", "joules",
    "watts",        "cost",         "skew",    "jitter",    "slowdown", "perplexity", "stddev", "regret"};

constexpr std::array<std::string_view, 14> kTimes{"s",  "sec", "secs",   "second",  "seconds", "ms",   "us",
                                                  "ns", "min", "minute", "minutes", "h",       "hour", "day"};

bool is_in(Words words, std::string_view word) {
  return std::ranges::find(words, word) != words.end();
}

/// Matches "gflops", "mops".
bool is_prefixed_rate(std::string_view word) {
  constexpr std::string_view kPrefixes = "kmgtpe";
  if (word.size() < 2 || kPrefixes.find(word[0]) == std::string_view::npos) return false;
  const std::string_view rest = word.substr(1);
  return rest == "flops" || rest == "ops" || rest == "iops" || rest == "bps" || rest == "bitps";
}

bool is_good(std::string_view word) {
  return is_in(kGood, word) || is_prefixed_rate(word);
}

bool is_known(std::string_view word) {
  return is_good(word) || is_in(kFaults, word) || is_in(kCosts, word);
}

char lower(char c) {
  return static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
}

std::string lowered(std::string_view text) {
  std::string copy(text);
  std::ranges::transform(copy, copy.begin(), lower);
  return copy;
}

bool is_upper(char c) {
  return std::isupper(static_cast<unsigned char>(c)) != 0;
}

/// Splits "HitRate" and "MBPerSec"; known words ("GFLOPs") stay whole.
void append_words(std::vector<std::string>& words, std::string_view text) {
  if (const std::string whole = lowered(text); is_known(whole)) {
    words.push_back(whole);
    return;
  }
  std::size_t begin = 0;
  for (std::size_t i = 1; i < text.size(); ++i) {
    const bool after_lower = is_upper(text[i]) && !is_upper(text[i - 1]);
    const bool before_lower = is_upper(text[i]) && i + 1 < text.size() && is_upper(text[i - 1]) &&
                              std::islower(static_cast<unsigned char>(text[i + 1])) != 0;
    if (!after_lower && !before_lower) continue;
    words.push_back(lowered(text.substr(begin, i - begin)));
    begin = i;
  }
  words.push_back(lowered(text.substr(begin)));
}

/// Splits into words; a slash is "per".
std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  for (std::size_t i = 0; i < text.size();) {
    if (text[i] == '/') words.emplace_back("per");
    if (std::isalnum(static_cast<unsigned char>(text[i])) == 0) {
      ++i;
      continue;
    }
    const std::size_t begin = i;
    while (i < text.size() && std::isalnum(static_cast<unsigned char>(text[i])) != 0) ++i;
    append_words(words, text.substr(begin, i - begin));
  }
  return words;
}

std::optional<std::size_t> rate_at(const std::vector<std::string>& words) {
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    if (words[i] == "per" && (is_in(kTimes, words[i + 1]) || words[i + 1] == "cycle")) return i;
  }
  return std::nullopt;
}

std::optional<Direction> direction_of(const std::vector<std::string>& words) {
  const auto rate = rate_at(words);
  // Words after "per" divide: "bytes per operation" are bytes.
  const auto per = std::ranges::find(words, "per");
  const auto end = rate ? words.begin() + static_cast<std::ptrdiff_t>(*rate) : per;
  for (auto word = std::make_reverse_iterator(end); word != words.rend(); ++word) {
    if (is_in(kFaults, *word)) return Direction::kLowerIsBetter;
    if (is_good(*word)) return Direction::kHigherIsBetter;
    if (!rate && is_in(kCosts, *word)) return Direction::kLowerIsBetter;
  }
  if (rate) return Direction::kHigherIsBetter;
  return std::nullopt;
}

bool is_percentile(std::string_view word) {
  return word.size() >= 3 && word[0] == 'p' &&
         std::ranges::all_of(word.substr(1), [](unsigned char c) { return std::isdigit(c) != 0; });
}

}  // namespace

Direction guessed_direction(std::string_view metric, std::string_view unit) {
  const std::vector<std::string> words = words_of(metric);
  if (const auto direction = direction_of(words)) return *direction;
  if (const auto direction = direction_of(words_of(unit))) return *direction;
  const bool is_cost =
      unit == "s" || unit == "µs" || unit == "B" || std::ranges::any_of(words, is_percentile);
  return is_cost ? Direction::kLowerIsBetter : Direction::kUnknown;
}

Json lower_is_better(Direction direction) {
  if (direction == Direction::kUnknown) return nullptr;
  return direction == Direction::kLowerIsBetter;
}

}  // namespace headroom
