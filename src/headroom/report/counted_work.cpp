// SPDX-License-Identifier: Apache-2.0
#include "headroom/report/counted_work.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>

#include "headroom/base/text.h"
#include "headroom/base/units.h"
#include "headroom/record/metrics.h"
#include "headroom/report/case_rows.h"
#include "headroom/report/metric_text.h"

namespace headroom {
namespace {

/// Smaller hot working sets are partly in the last-level cache.
constexpr double kCachesBehind = 4;

/// Empty if unknown.
std::vector<std::int64_t> caches_of(const Record& record) {
  if (!record.environment || record.environment->machines.empty()) return {};
  const Environment::Runner& machine = record.environment->machines.front();
  if (counts_threads(record)) return machine.cache_bytes;
  return machine.gpu_l2_bytes > 0 ? std::vector{machine.gpu_l2_bytes} : std::vector<std::int64_t>();
}

std::string beyond(double bytes, double last_cache) {
  return bytes >= kCachesBehind * last_cache ? "memory" : "";
}

/// Allows for indices and partial lines.
constexpr double kTolerance = 0.05;
constexpr std::size_t kMinPasses = 3;

struct Parts {
  CountedWork work;
  const Record* latency = nullptr;
  const Record* bandwidth = nullptr;
};

void take(Parts& parts, const Record& record) {
  const std::string& metric = record.metric.name;
  if (metric == "latency") parts.latency = &record;
  if (metric == "memory_bandwidth(GB/s)") parts.bandwidth = &record;
  if (metric == kInstructions) parts.work.instructions = &record;
  if (metric == kCycles) parts.work.cycles = &record;
  if (metric == kMissVolume) parts.work.miss_volume = &record;
  if (metric == kDataVolume) parts.work.volume = &record;
  if (metric == kBackground) parts.work.background = &record;
}

bool is_any(const CountedWork& work) {
  return work.instructions != nullptr || work.cycles != nullptr || work.miss_volume != nullptr ||
         work.volume != nullptr;
}

std::string name_of(const CountedWork& work) {
  return case_text(*work.first) + (work.first->model.backend.empty() ? "" : " " + work.first->model.backend);
}

std::string bytes_text(const Record* record) {
  return record == nullptr ? "" : format_bytes(record->metric.value);
}

std::string count_text(const Record* record) {
  return record == nullptr ? "" : format_number(record->metric.value);
}

/// 0 if undecided.
double difference_of(const CountedWork& work) {
  if (work.volume == nullptr || !work.memory_source || !(work.declared_bytes > 0)) return 0;
  if (sample_count(*work.volume) < kMinPasses) return 0;
  const auto [low, high] = counted_range(*work.volume);
  const double others = work.background == nullptr ? 0 : counted_range(*work.background).second;
  const double more = (low - others) / work.declared_bytes - 1, fewer = 1 - high / work.declared_bytes;
  if (more > kTolerance) return more;
  return fewer > kTolerance ? -fewer : 0;
}

std::string finding(const CountedWork& work) {
  const auto [low, high] = counted_range(*work.volume);
  const double counted = work.volume->metric.value;
  std::string text = fmt::format(
      "{} moves {} times its declared bytes: the memory controllers counted {} per iteration ({} to {}, "
      "n={}), declared are {}",
      name_of(work), format_number(counted / work.declared_bytes), format_bytes(counted), format_bytes(low),
      format_bytes(high), sample_count(*work.volume), format_bytes(work.declared_bytes));
  return text + "; its GB/s and share of the limit use the declared bytes";
}

}  // namespace

bool counts_threads(const Record& record) {
  return !record.device.starts_with("cuda");
}

std::string roofline_level(const Record& record, double bytes) {
  if (record.caches == "cold") return "memory";
  const bool on_cpu = counts_threads(record);
  const std::vector<std::int64_t> caches = caches_of(record);
  if (caches.empty()) return fmt::format("{} working set", format_bytes(bytes));
  const auto size = [&](std::size_t level) { return static_cast<double>(caches[level]); };
  if (!on_cpu) return bytes <= size(0) ? "L2" : beyond(bytes, size(0));
  const double threads = std::max(1, record.threads);
  for (std::size_t level = 0; level < caches.size(); ++level) {
    const bool shared = level + 1 == caches.size() && caches.size() > 2;
    if (bytes <= size(level) * (shared ? 1 : threads)) return fmt::format("L{}", level + 1);
  }
  return beyond(bytes, size(caches.size() - 1));
}

std::vector<CountedWork> counted_work(const std::vector<Record>& records) {
  std::map<std::string, std::size_t> places;
  std::vector<Parts> all;
  for (const Record& record : records) {
    if (record.outcome.kind != Outcome::Kind::kMeasured || !std::isfinite(record.metric.value)) continue;
    const std::size_t place = places.try_emplace(row_key(record), all.size()).first->second;
    if (place == all.size()) all.emplace_back().work.first = &record;
    take(all[place], record);
  }
  std::vector<CountedWork> counted;
  for (Parts& parts : all) {
    if (!is_any(parts.work)) continue;
    if (parts.latency != nullptr && parts.bandwidth != nullptr)
      parts.work.declared_bytes = parts.bandwidth->metric.value * parts.latency->metric.value * kNsPerUs;
    parts.work.memory_source = parts.work.declared_bytes > 0 &&
                               roofline_level(*parts.work.first, parts.work.declared_bytes) == "memory";
    counted.push_back(parts.work);
  }
  return counted;
}

std::optional<CountedWork> counted_work_of(const std::vector<CountedWork>& all, const Record& record) {
  const std::string key = row_key(record);
  const auto found =
      std::ranges::find_if(all, [&](const CountedWork& work) { return row_key(*work.first) == key; });
  if (found == all.end()) return std::nullopt;
  return *found;
}

std::pair<double, double> counted_range(const Record& record) {
  if (record.interval) return {record.interval->low, record.interval->high};
  const std::vector<double> values = steady_values(record);
  if (values.empty()) return {record.metric.value, record.metric.value};
  const auto [low, high] = std::ranges::minmax(values);
  return {low, high};
}

Table counted_table(const std::vector<CountedWork>& all) {
  Table table(Columns()
                  .left({"counted, per iteration"})
                  .shared("backend", Align::kLeft, "")
                  .shared("dtype", Align::kLeft, "")
                  .priority(Priority::kLast)
                  .right({"instructions", "cycles"})
                  .priority(Priority::kNormal)
                  .right({"a cycle", "misses x line"})
                  .priority(Priority::kFirst)
                  .right({"from memory", "± 95 %"})
                  .priority(Priority::kNormal)
                  .right({"of others"})
                  .priority(Priority::kFirst)
                  .right({"declared"})
                  .priority(Priority::kLast)
                  .shared("n", Align::kRight, "passes"));
  for (const CountedWork& work : all) {
    const bool has_rate =
        work.instructions != nullptr && work.cycles != nullptr && work.cycles->metric.value > 0;
    const Record& any = work.volume != nullptr         ? *work.volume
                        : work.instructions != nullptr ? *work.instructions
                        : work.cycles != nullptr       ? *work.cycles
                                                       : *work.miss_volume;
    table.row({case_text(*work.first) + (work.first->caches == "hot" ? " hot" : ""),
               work.first->model.backend, work.first->benchmark.dtype, count_text(work.instructions),
               count_text(work.cycles),
               has_rate ? format_number(work.instructions->metric.value / work.cycles->metric.value) : "",
               bytes_text(work.miss_volume), bytes_text(work.volume),
               work.volume == nullptr ? "" : spread_text(*work.volume), bytes_text(work.background),
               work.declared_bytes > 0 ? format_bytes(work.declared_bytes) : "",
               std::to_string(sample_count(any))});
  }
  return table;
}

std::vector<std::string> counted_findings(const std::vector<CountedWork>& all) {
  std::vector<const CountedWork*> different;
  for (const CountedWork& work : all) {
    if (difference_of(work) != 0) different.push_back(&work);
  }
  std::ranges::stable_sort(different, std::greater<>(),
                           [](const CountedWork* work) { return std::fabs(difference_of(*work)); });
  std::vector<std::string> sentences;
  for (const CountedWork* work : different) sentences.push_back(finding(*work));
  return sentences;
}

std::string counted_legend(const std::vector<CountedWork>& all) {
  if (all.empty()) return {};
  std::string text;
  const auto any = [&](const Record* CountedWork::*part) {
    return std::ranges::any_of(all, [&](const CountedWork& work) { return work.*part != nullptr; });
  };
  if (any(&CountedWork::volume)) {
    text +=
        "from memory: bytes moved by the memory controllers for all programs; of others: the same in equal "
        "time without the case\n";
  }
  if (any(&CountedWork::miss_volume)) {
    text +=
        "misses x line: cache misses counted by the processor (last level on Intel, L2 on AMD), often "
        "without prefetches: do not compare with the declared bytes\n";
  }
  return text;
}

}  // namespace headroom
