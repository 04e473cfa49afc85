// SPDX-License-Identifier: Apache-2.0
#include "headroom_pages/case_columns.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstdlib>
#include <set>

#include "headroom/base/text.h"
#include "headroom/record/environment.h"
#include "headroom/record/noise.h"
#include "headroom/record/record_json.h"
#include "headroom/record/targets.h"
#include "headroom/report/run_view.h"
#include "headroom/stats/quantile.h"

namespace headroom {
namespace {

Json text_or_null(const std::string& text) {
  return text.empty() ? Json(nullptr) : Json(text);
}

const char* outcome_of(const Record& record) {
  if (record.kept_wrong) return "wrong";
  if (record.outcome.kind == Outcome::Kind::kMeasured) return "measured";
  return record.outcome.kind == Outcome::Kind::kSkipped ? "skipped" : "failed";
}

Json verdict_of(const Record& record) {
  const TargetVerdict verdict = target_verdict(record);
  return verdict == TargetVerdict::kNone ? Json(nullptr) : Json(name_of(verdict));
}

void set_ratio(CaseColumns& columns, const Record& timed) {
  if (!timed.ratio) return;
  columns.set("ratio", timed.ratio->ratio);
  columns.set("ratio_low", low_of(timed.ratio->interval));
  columns.set("ratio_high", high_of(timed.ratio->interval));
  columns.set("ratio_to", timed.ratio->other);
}

void set_metric(CaseColumns& columns, const Record& record) {
  columns.set("metric", record.metric.name);
  columns.set("unit", record.metric.unit);
  columns.set("value", record.metric.value);
  columns.set("low", low_of(record.interval));
  columns.set("high", high_of(record.interval));
}

void set_limit(CaseColumns& columns, const Record& record) {
  if (!record.limit) return;
  columns.set("limit", limit_name(*record.limit));
  columns.set("share", record.limit->fraction);
  columns.set("share_low", low_of(record.limit->interval));
  columns.set("share_high", high_of(record.limit->interval));
}

/// On the scale of `timed`'s samples; null if it cannot be converted.
Json target_on_scale_of(const Record& timed, const Record& headline) {
  const Record::Metric& metric = headline.metric;
  if (metric.target_share && timed.limit && *metric.target_share > 0) {
    const bool is_lower = timed.metric.direction == Direction::kLowerIsBetter;
    return is_lower ? timed.limit->value / *metric.target_share : timed.limit->value * *metric.target_share;
  }
  if (!metric.target || !(*metric.target > 0)) return nullptr;
  if (&timed == &headline) return *metric.target;
  // A rate is inverse to time.
  const bool is_rate = metric.direction == Direction::kHigherIsBetter;
  return is_rate ? Json(timed.metric.value * metric.value / *metric.target) : Json(nullptr);
}

void set_modes(CaseColumns& columns, const Record& timed) {
  if (timed.modes.groups.empty()) return;
  Json modes = Json::array();
  for (const Mode& mode : timed.modes.groups)
    modes.push_back(Json::array({Json(mode.median), Json(mode.share)}));
  columns.set("modes", std::move(modes));
}

void set_measurement(CaseColumns& columns, const CaseRow& row) {
  const Record& record = row.any();
  const Record& timed = row.latency != nullptr ? *row.latency : record;
  if (row.latency != nullptr) {
    columns.set("time", timed.metric.value);
    columns.set("time_low", low_of(timed.interval));
    columns.set("time_high", high_of(timed.interval));
    columns.set("time_unit", timed.metric.unit);
  }
  columns.set("n", sample_count(timed));
  if (&record != row.latency) set_metric(columns, record);
  set_limit(columns, record);
  if (timed.limit) columns.set("limit_at", timed.limit->value);
  if (record.metric.target) columns.set("target", *record.metric.target);
  if (record.metric.target_share) columns.set("target_share", *record.metric.target_share);
  columns.set("target_at", target_on_scale_of(timed, record));
  columns.set("verdict", verdict_of(record));
  columns.set("marks", text_or_null(flag_letters(case_flags(timed))));
  set_ratio(columns, timed);
  set_modes(columns, timed);
}

std::vector<std::string> about(const Record& record) {
  std::vector<std::string> lines;
  for (const auto& [key, value] : record.model.extra_info) lines.push_back(key + ": " + value);
  if (record.verified && record.error_bound > 0)
    lines.push_back(fmt::format("answer: verified, error {:.2g} of {:.2g} allowed", record.max_error,
                                record.error_bound));
  if (!record.caches.empty()) lines.push_back("caches: " + record.caches);
  if (record.threads > 0) lines.push_back(fmt::format("threads: {}", record.threads));
  return lines;
}

Json numbers_of(const std::vector<std::string>& lines, TextIndex& texts) {
  if (lines.empty()) return nullptr;
  Json numbers = Json::array();
  for (const std::string& line : lines) numbers.push_back(texts.of(line));
  return numbers;
}

Json place_of(const std::vector<const Environment*>& environments, const Record& record) {
  if (environments.size() < 2) return nullptr;
  const auto found = std::ranges::find(environments, record.environment.get());
  return found == environments.end() ? Json(nullptr) : Json(found - environments.begin());
}

/// Longer values belong to an instrument's section.
constexpr std::size_t kLongest = 2'000;

class Facts {
 public:
  void add(const std::string& name, const std::string& value) {
    if (!value.empty() && value.size() <= kLongest) list_.push_back(Json::array({Json(name), Json(value)}));
  }
  void add(const std::string& name, std::uint32_t count) {
    if (count > 0) add(name, std::to_string(count));
  }
  Json json() && { return std::move(list_); }

 private:
  Json list_ = Json::array();
};

void add_machine(Facts& facts, const Environment::Runner& machine) {
  facts.add("processor", machine.cpu_info);
  facts.add("CPUs", machine.cpu_count);
  facts.add("memory", machine.mem_info);
  facts.add("GPU", machine.gpu_info);
  facts.add("GPUs", machine.gpu_count);
  facts.add("GPU memory", machine.gpu_mem_info);
  for (const auto& [key, value] : machine.extra_info) facts.add(key, value);
}

/// Enough for a chart, at half the size.
Json seven_digits(double value) {
  return std::strtod(fmt::format("{:.7g}", value).c_str(), nullptr);
}

/// Consecutive samples [from, to) of a process, drawn as one mark.
struct Stretch {
  std::size_t from = 0, to = 0;
};

/// No stretch mixes warm-up with later samples.
std::vector<Stretch> stretches_of(const ProcessSamples& process, std::size_t each) {
  std::vector<Stretch> all;
  const std::size_t count = process.values.size(), warmup = std::min(process.warmup, count);
  for (std::size_t from = 0; from < count;) {
    const std::size_t end = from < warmup ? warmup : count;
    all.push_back({from, std::min(from + each, end)});
    from = all.back().to;
  }
  return all;
}

/// The disturbance of most samples, or nullptr.
const char* disturbance_in(const ProcessSamples& process, const Stretch& stretch) {
  std::size_t stolen = 0, preempted = 0, throttled = 0;
  for (std::size_t i = stretch.from; i < stretch.to; ++i) {
    if (i < process.noise.size()) {
      stolen += process.noise.value(i, &SampleNoise::steal_ms) > 0 ? 1 : 0;
      preempted += process.noise.value(i, &SampleNoise::involuntary_switches) > 0 ? 1 : 0;
    }
    if (i < process.device.size()) throttled += is_throttled(process.device[i].throttle) ? 1 : 0;
  }
  const std::size_t most = (stretch.to - stretch.from) / 2 + 1;
  if (throttled >= most) return "throttled";
  if (stolen >= most) return "stolen";
  return preempted >= most ? "preempted" : nullptr;
}

void take_finite(const ProcessSamples& process, const Stretch& stretch, std::vector<double>& values) {
  values.clear();
  for (std::size_t i = stretch.from; i < stretch.to; ++i) {
    if (std::isfinite(process.values[i])) values.push_back(process.values[i]);
  }
}

class Marks {
 public:
  Marks(const ProcessSamples& process, std::size_t each) : process_(process), each_(each) {
    columns_.fill(Json::array());
    for (const Stretch& stretch : stretches_of(process, each)) add(stretch);
  }

  Json json() && {
    Json json{{"pid", process_.pid}, {"warmup", warmup_}, {"round", first_round_}};
    if (each_ > 1) json["warmup_samples"] = std::min(process_.warmup, process_.values.size());
    if (!counts_up_) json["rounds"] = std::move(rounds_);
    for (std::size_t q = 0; q < kQuantiles.size(); ++q) {
      if (!columns_[q].empty()) json[kQuantiles[q].first] = std::move(columns_[q]);
    }
    if (!disturbed_.empty()) json["disturbed"] = std::move(disturbed_);
    return json;
  }

 private:
  static constexpr std::array<std::pair<const char*, double>, 5> kQuantiles{
      {{"low", 0}, {"quarter", .25}, {"values", .5}, {"upper", .75}, {"high", 1}}};

  void add(const Stretch& stretch) {
    take_finite(process_, stretch, finite_);
    for (std::size_t q = 0; q < kQuantiles.size(); ++q) {
      const double p = kQuantiles[q].second;
      if (each_ == 1 && p != .5) continue;
      columns_[q].push_back(finite_.empty() ? Json(nullptr) : seven_digits(quantile_in_place(finite_, p)));
    }
    const std::size_t round =
        stretch.from < process_.rounds.size() ? process_.rounds[stretch.from] : stretch.from;
    if (count_ == 0) first_round_ = round;
    counts_up_ = counts_up_ && round == first_round_ + stretch.from;
    rounds_.push_back(round);
    if (const char* what = disturbance_in(process_, stretch))
      disturbed_.push_back(Json::array({Json(count_), Json(what)}));
    warmup_ += stretch.from < process_.warmup ? 1 : 0;
    ++count_;
  }

  const ProcessSamples& process_;
  std::size_t each_, count_ = 0, warmup_ = 0, first_round_ = 0;
  bool counts_up_ = true;
  std::array<Json, kQuantiles.size()> columns_;
  Json rounds_ = Json::array(), disturbed_ = Json::array();
  std::vector<double> finite_;
};

/// Excludes warm-up and 0.5 % at each end, which could squeeze the rest into one bar.
Json histogram_of(const Record& record) {
  constexpr std::size_t kLeast = 8, kMostBars = 50;
  constexpr double kTail = .005;
  std::vector<double> values;
  std::size_t all = 0;
  for (const ProcessSamples& process : record.samples) {
    for (const double value : steady(process)) {
      ++all;
      if (std::isfinite(value)) values.push_back(value);
    }
  }
  if (values.size() < kLeast) return nullptr;
  const double from = quantile_in_place(values, kTail), to = quantile_in_place(values, 1 - kTail);
  const double box = quantile_in_place(values, .75) - quantile_in_place(values, .25);
  if (!(to > from)) return nullptr;
  // Freedman and Diaconis 1981.
  const double width = 2 * box / std::cbrt(static_cast<double>(values.size()));
  const double bars = width > 0 ? std::ceil((to - from) / width) : 1;
  const auto count = static_cast<std::size_t>(std::clamp(bars, 8.0, static_cast<double>(kMostBars)));
  std::vector<std::size_t> counts(count);
  std::size_t below = 0, above = all - values.size();
  for (const double value : values) {
    if (value < from) {
      ++below;
    } else if (value > to) {
      ++above;
    } else {
      ++counts[std::min(count - 1,
                        static_cast<std::size_t>((value - from) / (to - from) * static_cast<double>(count)))];
    }
  }
  return {{"from", seven_digits(from)},
          {"to", seven_digits(to)},
          {"below", below},
          {"above", above},
          {"counts", counts}};
}

}  // namespace

Json case_columns(const std::vector<Record>& records, const std::vector<CaseRow>& rows,
                  const std::vector<const Environment*>& environments, TextIndex& texts) {
  const CaseDifferences differ(records);
  const std::size_t numbers = limited_numbers(rows.size());
  CaseColumns columns;
  for (const CaseRow& row : rows) {
    const Record& record = row.any();
    columns.set("case", differ.case_text(record));
    columns.set("backend", text_or_null(differ.backend_text(record)));
    columns.set("dtype", text_or_null(record.benchmark.dtype));
    columns.set("outcome", outcome_of(record));
    columns.set("reason", text_or_null(record.outcome.reason));
    if (record.outcome.kind == Outcome::Kind::kMeasured || record.kept_wrong) set_measurement(columns, row);
    const Record& timed = row.latency != nullptr ? *row.latency : record;
    columns.set("samples", sample_summary(timed, numbers));
    columns.set("notes", numbers_of(sentences(timed.notes), texts));
    columns.set("about", numbers_of(about(timed), texts));
    columns.set("environment", place_of(environments, record));
    columns.next();
  }
  return std::move(columns).json();
}

Json environment_facts(const Environment& environment) {
  Facts facts;
  facts.add("machine", environment.fingerprint);
  for (const Environment::Runner& machine : environment.machines) add_machine(facts, machine);
  facts.add("governor", environment.governor);
  facts.add("headroom", environment.headroom_version);
  add_sources(facts, environment);
  for (const auto& [key, value] : environment.extra_info) facts.add(key, value);
  return std::move(facts).json();
}

std::vector<const Environment*> environments_of(const std::vector<Record>& records) {
  std::vector<const Environment*> all;
  for (const Record& record : records) {
    const bool is_new = record.environment && std::ranges::find(all, record.environment.get()) == all.end();
    if (is_new) all.push_back(record.environment.get());
  }
  return all;
}

Json run_json(const std::vector<Record>& records) {
  std::set<std::string> machines;
  const Environment* first = nullptr;
  for (const Record& record : records) {
    if (!record.environment) continue;
    if (first == nullptr) first = record.environment.get();
    machines.insert(record.environment->fingerprint);
  }
  if (first == nullptr) return {{"machines", 0}};
  const std::string processor = first->machines.empty() ? "" : first->machines.front().cpu_info;
  return {{"when", first->timestamp > 0 ? Json(first->timestamp) : Json(nullptr)},
          {"machine", first->fingerprint},
          {"processor", processor},
          {"command", join(first->command, " ")},
          {"revision", first->git_sha},
          {"version", first->headroom_version},
          {"machines", machines.size()}};
}

Json sample_summary(const Record& record, std::size_t most) {
  std::size_t count = 0, warmup = 0;
  for (const ProcessSamples& process : record.samples) {
    count += process.values.size();
    warmup += std::min(process.warmup, process.values.size());
  }
  if (count == 0) return nullptr;
  // More marks would touch on most screens.
  constexpr std::size_t kNumbersOfMark = 6, kMostMarks = 240;
  const std::size_t marks = std::clamp<std::size_t>(most / kNumbersOfMark, 1, kMostMarks);
  const std::size_t each = count <= most ? 1 : (count + marks - 1) / marks;
  Json processes = Json::array();
  for (const ProcessSamples& process : record.samples) {
    if (!process.values.empty()) processes.push_back(Marks(process, each).json());
  }
  Json summary{{"n", count}, {"warmup", warmup}, {"each", each}, {"processes", std::move(processes)}};
  Json histogram = histogram_of(record);
  if (!histogram.is_null()) summary["histogram"] = std::move(histogram);
  return summary;
}

std::size_t limited_numbers(std::size_t records) {
  constexpr std::size_t kOfPage = 60'000, kLeast = 12, kMost = 3'000;
  return std::clamp(kOfPage / std::max<std::size_t>(1, records), kLeast, kMost);
}

}  // namespace headroom
