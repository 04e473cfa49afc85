// SPDX-License-Identifier: Apache-2.0
#include "headroom/schedule/case_records.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>

#include "headroom/base/units.h"
#include "headroom/machine/cpu_folder.h"
#include "headroom/record/metrics.h"
#include "headroom/record/noise.h"
#include "headroom/schedule/limits.h"
#include "headroom/stats/quantile.h"

namespace headroom {
namespace {

/// Disturbance below these shares is normal.
constexpr double kStealShare = 0.01;
constexpr double kSwitchedShare = 0.20;
constexpr double kFaultedShare = 0.20;
/// Upper over lower decile of a clock.
constexpr double kFrequencyFactor = 1.1;
/// Equal processes widen the interval about twofold (series_median_interval).
constexpr double kProcessFactor = 4;
/// Ratio of core-to-core latencies of two placements.
constexpr double kPlacementFactor = 1.7;

Note share_note(NoteKind kind, std::ptrdiff_t samples, const Track& track, std::string text = {}) {
  return {kind, {static_cast<double>(samples), static_cast<double>(track.readings.size())}, std::move(text)};
}

void note_switches(const Track& track, Notes& notes) {
  const auto switched = std::ranges::count_if(
      track.readings, [](const Reading& reading) { return reading.noise.involuntary_switches > 0; });
  if (static_cast<double>(switched) > kSwitchedShare * static_cast<double>(track.readings.size())) {
    notes.push_back(share_note(NoteKind::kPreempted, switched, track));
  }
}

void note_faults(const Track& track, Notes& notes) {
  const auto faulted = std::ranges::count_if(
      track.readings, [](const Reading& reading) { return reading.noise.page_faults > 0; });
  if (static_cast<double>(faulted) > kFaultedShare * static_cast<double>(track.readings.size())) {
    notes.push_back(share_note(NoteKind::kPageFaults, faulted, track));
  }
}

void note_clock(NoteKind kind, std::vector<double> mhz, Notes& notes) {
  std::erase_if(mhz, [](double value) { return !(value > 0); });
  if (mhz.size() < 4) return;
  const double low = quantile(mhz, 0.1), high = quantile(mhz, 0.9);
  if (high > kFrequencyFactor * low) {
    notes.push_back({kind, {low, high}});
  }
}

void note_clocks(const Track& track, Notes& notes) {
  std::vector<double> cpu, multiprocessors, memory;
  for (const Reading& reading : track.readings) {
    cpu.push_back(reading.noise.frequency_mhz);
    multiprocessors.push_back(reading.device.sm_mhz);
    memory.push_back(reading.device.memory_mhz);
  }
  note_clock(NoteKind::kCpuClock, std::move(cpu), notes);
  note_clock(NoteKind::kDeviceClock, std::move(multiprocessors), notes);
  note_clock(NoteKind::kDeviceMemoryClock, std::move(memory), notes);
}

void note_throttling(const Track& track, Notes& notes) {
  const auto having = [&](auto&& is_so) {
    return std::ranges::count_if(track.readings,
                                 [&](const Reading& reading) { return is_so(reading.device.throttle); });
  };
  const auto throttled = having(is_throttled);
  if (throttled == 0) return;
  std::string reasons;
  for (const ThrottleReason& reason : kThrottleReasons) {
    if (reason.is_chosen) continue;
    const auto count = having([&](std::uint32_t bits) { return (bits & reason.bit) != 0; });
    if (count > 0) reasons += fmt::format("{}{} in {}", reasons.empty() ? "" : ", ", reason.name, count);
  }
  notes.push_back(share_note(NoteKind::kThrottled, throttled, track, std::move(reasons)));
}

void note_processes(const Track& track, Notes& notes) {
  const Series series = steady_series(track.readings);
  if (series.group_sizes.size() < 2) return;
  const auto together = series_median_interval(series.values, series.group_sizes);
  const auto pooled = series_median_interval(series.values);
  if (!together || !pooled) return;
  if (together->high - together->low > kProcessFactor * (pooled->high - pooled->low)) {
    notes.push_back({NoteKind::kProcessesDiffer});
  }
}

void note_placement(const Track& track, Notes& notes) {
  std::vector<double> latencies;
  for (const Reading& reading : track.readings) {
    if (reading.noise.placement_ns > 0) latencies.push_back(reading.noise.placement_ns);
  }
  if (latencies.size() < 4) return;
  const double low = quantile(latencies, 0.1), high = quantile(latencies, 0.9);
  if (high > kPlacementFactor * low) {
    notes.push_back({NoteKind::kPlacement, {low, high}});
  }
}

void note_warmup(const Track& track, Notes& notes) {
  const auto lengths = warmup_by_process(track.readings);
  const std::size_t warmup = std::accumulate(lengths.begin(), lengths.end(), std::size_t{0});
  if (warmup > 0) notes.push_back({NoteKind::kWarmUp, {static_cast<double>(warmup)}});
}

bool is_part(const LimitTrack& limit, const Limit& whole) {
  std::map<std::string, std::string> axes(limit.track.planned.spec.axes.begin(),
                                          limit.track.planned.spec.axes.end());
  return std::ranges::any_of(whole.parts, [&](const LimitPart& part) {
    return limit.track.planned.spec.experiment == "limit." + part.kind && axes["pattern"] == part.pattern &&
           axes["bytes"] == std::to_string(part.bytes);
  });
}

struct Quantity {
  const char* name;
  const char* unit;
  std::function<std::optional<double>(const WorkCounts&)> of;
};

std::vector<Quantity> quantities() {
  return {
      {kInstructions, "1", [](const WorkCounts& counts) { return counts.instructions; }},
      {kCycles, "1", [](const WorkCounts& counts) { return counts.cycles; }},
      {kCacheMisses, "1", [](const WorkCounts& counts) { return counts.cache_misses; }},
      {kMissVolume, "B",
       [line = static_cast<double>(cache_line_bytes())](const WorkCounts& counts) -> std::optional<double> {
         if (!counts.cache_misses) return std::nullopt;
         return *counts.cache_misses * line;
       }},
      {kDataVolume, "B", [](const WorkCounts& counts) { return counts.memory_bytes; }},
      {kDataWritten, "B", [](const WorkCounts& counts) { return counts.memory_bytes_written; }},
      {kBackground, "B",
       [](const WorkCounts& counts) -> std::optional<double> {
         if (!counts.memory_bytes) return std::nullopt;
         return counts.background_bytes;
       }},
  };
}

/// Passes without a value are left out.
std::vector<ProcessSamples> samples_of(const Track& track, const Quantity& quantity) {
  std::vector<ProcessSamples> processes;
  std::optional<std::uint32_t> epoch;
  for (const CountedPass& pass : track.counted) {
    const auto value = quantity.of(pass.counts);
    if (!value) continue;
    if (epoch != pass.epoch) {
      epoch = pass.epoch;
      ProcessSamples& process = processes.emplace_back();
      process.pid = pass.epoch < track.pids.size() ? track.pids[pass.epoch] : 0;
      process.iterations = track.iterations;
    }
    processes.back().values.push_back(*value);
  }
  return processes;
}

struct MetricForm {
  std::string name, unit;
  Direction direction = Direction::kLowerIsBetter;
  std::function<double(const Reading&)> value;
  bool follows_time = true;
};

constexpr const char* kLatency = "latency";
constexpr const char* kBandwidth = "memory_bandwidth(GB/s)";
constexpr const char* kFlopsUtilization = "flops_utilization";

template <typename Forms>
auto declared_form(const Track& track, Forms& forms) {
  return std::ranges::find_if(
      forms, [&](const MetricForm& form) { return is_same_metric(form.name, track.planned.metric); });
}

bool is_compute_bound(const std::optional<Limit>& limit) {
  return limit && !limit->parts.empty() && limit->parts.front().kind == "peak";
}

std::string headline_of(const Track& track, const std::vector<MetricForm>& forms,
                        const std::optional<Limit>& limit = {}) {
  const auto declared = declared_form(track, forms);
  if (declared != forms.end()) return declared->name;
  const Work& work = track.info.work;
  if (work.flops > 0 && (work.bytes <= 0 || is_compute_bound(limit))) return operation_rate(work.dtype);
  return work.bytes > 0 ? kBandwidth : kLatency;
}

/// The peak is that of the same round.
MetricForm flops_utilization(const Work& work, const Series& peak_flops) {
  std::map<std::uint32_t, double> peaks;
  for (std::size_t i = 0; i < peak_flops.rounds.size(); ++i) {
    peaks[peak_flops.rounds[i]] = peak_flops.values[i];
  }
  const double typical = median(peak_flops.values);
  return {kFlopsUtilization, "1", Direction::kHigherIsBetter,
          [peaks, typical, flops = work.flops](const Reading& reading) {
            const auto found = peaks.find(reading.round);
            return flops / (reading.ns * 1e-9) / (found == peaks.end() ? typical : found->second);
          },
          true};
}

/// `column`: index, for Kind::kColumn.
std::function<double(const Reading&)> value_of(const ReportedMetric& metric, std::size_t column) {
  switch (metric.kind) {
    case ReportedMetric::Kind::kRate:
      return [amount = metric.amount](const Reading& reading) { return amount / (reading.ns * 1e-9); };
    case ReportedMetric::Kind::kColumn:
      return [column](const Reading& reading) { return reading.columns.at(column); };
    case ReportedMetric::Kind::kValue:
      break;
  }
  return [amount = metric.amount](const Reading&) { return amount; };
}

bool counts_by_slowest(const Track& track) {
  return !track.planned.each_rank_counts && !track.readings.empty() && !track.readings.front().ranks.empty();
}

double skew_us(const Reading& reading) {
  const auto [fastest, slowest] = std::ranges::minmax(reading.ranks, {}, &RankSample::elapsed_ns);
  return (slowest.elapsed_ns - fastest.elapsed_ns) / kNsPerUs;
}

std::vector<MetricForm> metric_forms(const Track& track, const Series& peak_flops) {
  const Work work = track.info.work;
  std::vector<MetricForm> forms;
  forms.push_back({kLatency, "us", Direction::kLowerIsBetter,
                   [](const Reading& reading) { return reading.ns / kNsPerUs; }, true});
  if (work.bytes > 0) {
    forms.push_back({kBandwidth, "GB/s", Direction::kHigherIsBetter,
                     [work](const Reading& reading) { return work.bytes / reading.ns; }, true});
  }
  if (work.flops > 0) {
    const char* rate = operation_rate(work.dtype);
    forms.push_back({rate, rate, Direction::kHigherIsBetter,
                     [work](const Reading& reading) { return work.flops / reading.ns; }, true});
  }
  if (work.flops > 0 && !peak_flops.values.empty()) forms.push_back(flops_utilization(work, peak_flops));
  std::size_t columns = 0;
  for (const ReportedMetric& metric : track.info.metrics) {
    forms.push_back({metric.name, metric.unit, metric.direction, value_of(metric, columns),
                     metric.kind == ReportedMetric::Kind::kRate});
    if (metric.kind == ReportedMetric::Kind::kColumn) ++columns;
  }
  if (counts_by_slowest(track)) {
    forms.push_back({"skew", "us", Direction::kLowerIsBetter, skew_us, false});
  }
  const auto declared = declared_form(track, forms);
  if (declared != forms.end() && !track.planned.also_metrics.empty())
    std::rotate(forms.begin() + 1, declared, declared + 1);
  return forms;
}

std::vector<ProcessSamples> samples_of(const Track& track, const MetricForm& form) {
  const std::vector<std::size_t> warmups = warmup_by_process(track.readings);
  std::vector<ProcessSamples> processes;
  std::optional<std::uint32_t> epoch;
  for (const Reading& reading : track.readings) {
    if (epoch != reading.epoch) {
      epoch = reading.epoch;
      ProcessSamples process;
      process.pid = track.pids.at(reading.epoch);
      process.iterations = track.iterations;
      process.warmup = warmups[processes.size()];
      processes.push_back(std::move(process));
    }
    processes.back().values.push_back(form.value(reading));
    processes.back().rounds.push_back(reading.round);
    processes.back().noise.push_back(reading.noise);
    processes.back().device.push_back(reading.device);
  }
  for (ProcessSamples& process : processes) {
    const auto says_nothing = [](const DeviceNoise& device) { return device == DeviceNoise{}; };
    if (std::ranges::all_of(process.device, says_nothing)) process.device.clear();
  }
  return processes;
}

void append(ProcessSamples& samples, const ProcessSamples& more) {
  samples.values.insert(samples.values.end(), more.values.begin(), more.values.end());
  samples.rounds.insert(samples.rounds.end(), more.rounds.begin(), more.rounds.end());
  samples.noise.append(more.noise);
  samples.device.insert(samples.device.end(), more.device.begin(), more.device.end());
}

/// One entry per rank; consecutive jobs are joined.
std::vector<ProcessSamples> samples_of_ranks(const Track& track, const MetricForm& form) {
  std::vector<ProcessSamples> all;
  for (std::size_t rank = 0; rank < track.readings.front().ranks.size(); ++rank) {
    MetricForm own = form;
    own.value = [&](const Reading& reading) {
      const RankSample& sample = reading.ranks.at(rank);
      return form.value({.ns = sample.elapsed_ns, .columns = sample.columns});
    };
    std::vector<ProcessSamples> jobs = samples_of(track, own);
    jobs.front().pid = track.readings.front().ranks[rank].pid;
    for (std::size_t job = 1; job < jobs.size(); ++job) append(jobs.front(), jobs[job]);
    all.push_back(std::move(jobs.front()));
  }
  return all;
}

std::vector<ProcessSamples> reported_samples(const Track& track, std::size_t index) {
  const std::vector<RankSample>& ranks = track.readings.front().ranks;
  std::vector<std::uint32_t> rounds;
  for (const Reading& reading : track.readings) {
    if (reading.epoch == track.readings.back().epoch) rounds.push_back(reading.round);
  }
  std::vector<ProcessSamples> all;
  for (std::size_t i = 0; i < track.reported.size(); ++i) {
    if (track.reported[i].series.size() <= index) continue;
    std::span<const double> values = track.reported[i].series[index].values;
    // Iterations counted after the samples.
    if (values.size() >= rounds.size() + track.calls_after)
      values = values.first(values.size() - track.calls_after);
    const std::size_t kept = std::min(values.size(), rounds.size());
    ProcessSamples& samples = all.emplace_back();
    samples.pid = i < ranks.size() ? ranks[i].pid : track.pids.back();
    samples.values.assign(values.end() - static_cast<std::ptrdiff_t>(kept), values.end());
    samples.rounds.assign(rounds.end() - static_cast<std::ptrdiff_t>(kept), rounds.end());
  }
  return all;
}

void set_slowest(const Track& track, Record& latency) {
  std::vector<std::size_t> times(track.readings.front().ranks.size());
  for (const Reading& reading : track.readings) {
    const auto slowest = std::ranges::max_element(reading.ranks, {}, &RankSample::elapsed_ns);
    ++times.at(static_cast<std::size_t>(slowest - reading.ranks.begin()));
  }
  const auto most = std::ranges::max_element(times);
  const double share = static_cast<double>(*most) / static_cast<double>(track.readings.size());
  latency.slowest = Record::Slowest{static_cast<std::size_t>(most - times.begin()), share};
  latency.metric.extra_info["slowest rank"] = std::to_string(most - times.begin());
  latency.metric.extra_info["slowest share"] = fmt::format("{:.3f}", share);
}

StopReason stop_of(const Track& track, const GroupResult& result) {
  if (track.out_of_time) return StopReason::kMaxTime;
  if (track.readings.empty()) return StopReason::kNone;
  return track.alive() ? result.stop : StopReason::kRunnerLost;
}

Record base_record(const Track& track, const GroupResult& result, const std::vector<std::string>& labels,
                   const std::shared_ptr<const Environment>& environment) {
  const CaseSpec& spec = track.planned.spec;
  Record record;
  record.environment = environment;
  record.model.name = spec.experiment;
  record.model.backend = spec.backend;
  if (!track.planned.model.empty()) record.model.type = "OSS model";
  record.model.extra_info = track.info.notes;
  for (const auto& [name, description] : track.info.inputs)
    record.model.extra_info["input " + name] = description;
  if (!track.trace.empty()) record.model.extra_info["trace"] = track.trace;
  if (!track.untraced.empty()) record.model.extra_info["untraced"] = track.untraced;
  if (!track.uncounted.empty()) record.model.extra_info["uncounted"] = track.uncounted;
  for (std::size_t i = 0; i < spec.axes.size(); ++i) {
    const auto& [axis, text] = spec.axes[i];
    record.axes.emplace_back(axis,
                             AxisValue(text, i < spec.types.size() ? spec.types[i] : AxisType::kAsWritten));
    if (axis == "dtype") record.benchmark.dtype = text;
  }
  record.benchmark.mode = "inference";
  record.device = track.planned.device;
  const auto gpu = track.info.notes.find("gpu");
  if (gpu != track.info.notes.end()) record.benchmark.extra_info["arch"] = gpu->second;
  record.runner = labels.at(track.planned.runner);
  record.huge_pages = track.info.huge_pages;
  record.caches = measured_caches(track) == Caches::kCold ? "cold" : "hot";
  record.threads = spec.threads;
  record.outcome = track.outcome;
  record.stop = stop_of(track, result);
  record.verified = track.info.verified;
  record.max_error = track.info.max_error;
  record.error_bound = track.info.tolerance;
  record.sums_in = track.info.sums_in;
  record.kept_wrong = !track.info.wrong.empty() && !track.readings.empty();
  if (record.kept_wrong) {
    const std::string lost = track.alive() ? "" : "; " + track.outcome.reason;
    record.outcome = {Outcome::Kind::kFailed, track.info.wrong + lost};
  }
  return record;
}

std::optional<RatioToOther> ratio_to(const Track& baseline, const Track& track,
                                     const std::vector<std::string>& labels) {
  const auto ratio = ratio_of(steady_series(track.readings), steady_series(baseline.readings));
  if (!ratio) return std::nullopt;
  const CaseSpec& other = baseline.planned.spec;
  const std::string& runner = labels.at(baseline.planned.runner);
  std::string name = other.backend + "@" + runner;
  bool is_same_case = true;
  for (const auto& axis : other.axes) {
    const AxisTexts& own = track.planned.spec.axes;
    if (std::ranges::find(own, axis) != own.end()) continue;
    name += fmt::format(" {}={}", axis.first, axis.second);
    is_same_case = false;
  }
  RatioToOther result{ratio->ratio, ratio->interval, ratio->pairs, name};
  if (is_same_case) {
    result.backend = other.backend;
    result.runner = runner;
  }
  return result;
}

const Track& baseline_of(const Track& track, const GroupResult& result) {
  const Track& planned = result.cases.at(track.planned.baseline);
  if (planned.info.wrong.empty()) return planned;
  const auto right =
      std::ranges::find_if(result.cases, [](const Track& one) { return one.info.wrong.empty(); });
  return right == result.cases.end() ? result.cases.front() : *right;
}

Record empty_record(Record record, const Track& track) {
  if (track.alive()) record.outcome = {Outcome::Kind::kSkipped, "interrupted before its first sample"};
  record.metric.name = track.planned.metric.empty() ? headline_of(track, {}) : track.planned.metric;
  record.metric.headline = true;
  return record;
}

/// See record/metrics.h; one value per pass.
void append_counted(const Track& track, const Record& base, std::vector<Record>& records) {
  if (track.counted.empty()) return;
  const double share = std::ranges::min(track.counted, {}, [](const CountedPass& pass) {
                         return pass.counts.share;
                       }).counts.share;
  for (const Quantity& quantity : quantities()) {
    Record record = base;
    record.samples = samples_of(track, quantity);
    if (record.samples.empty()) continue;
    record.metric.name = quantity.name;
    record.metric.unit = quantity.unit;
    if (share < 1) record.metric.extra_info[kCountedShare] = fmt::format("{:.3f}", share);
    estimate(record);
    records.push_back(std::move(record));
  }
}

void append_records(const Track& track, const GroupResult& result, Record base,
                    std::vector<Record>& records) {
  const auto [limit, peak_flops] = case_limit(track, result.limits);
  base.notes = noise_notes(track, limit, result.stop);
  if (limit) {
    if (std::optional<Note> pages = page_note(track, *limit, result.limits))
      base.notes.push_back(std::move(*pages));
  }
  const std::vector<MetricForm> forms = metric_forms(track, peak_flops);
  const std::string headline = headline_of(track, forms, limit);
  const bool by_slowest = counts_by_slowest(track);
  const bool each_counts = track.planned.each_rank_counts && !track.readings.front().ranks.empty();
  for (const MetricForm& form : forms) {
    Record record = base;
    record.metric.name = form.name;
    record.metric.unit = form.unit;
    record.metric.direction = form.direction;
    record.samples = each_counts ? samples_of_ranks(track, form) : samples_of(track, form);
    // Order statistics survive monotone functions.
    estimate(record);
    if (limit && form.follows_time) {
      record.limit = limit;
      const bool lower = form.direction == Direction::kLowerIsBetter;
      record.limit->value =
          lower ? record.metric.value * limit->fraction : record.metric.value / limit->fraction;
    }
    if (form.name == kLatency) record.modes = find_modes(steady(record).values);
    if (form.name == kLatency && by_slowest) set_slowest(track, record);
    const std::vector<std::string>& beside = track.planned.also_metrics;
    const bool is_beside =
        std::ranges::any_of(beside, [&](const std::string& name) { return is_same_metric(name, form.name); });
    if (form.name == headline || is_beside) record.metric.headline = true;
    records.push_back(std::move(record));
  }
  for (std::size_t i = 0; !track.reported.empty() && i < track.reported.front().series.size(); ++i) {
    const ReportedSeries& reported = track.reported.front().series[i];
    Record record = base;
    record.metric.name = reported.name;
    record.metric.unit = reported.unit;
    record.metric.extra_info = reported.info;
    record.metric.numbers = reported.numbers;
    record.samples = reported_samples(track, i);
    if (record.samples.front().values.empty()) continue;
    estimate(record);
    records.push_back(std::move(record));
  }
  append_counted(track, base, records);
  if (!by_slowest) return;
  base.metric.name = "rank latency";
  base.metric.unit = "us";
  base.samples = samples_of_ranks(track, forms.front());
  estimate(base);
  records.push_back(std::move(base));
}

}  // namespace

std::optional<Note> page_note(const Track& track, const Limit& limit, const std::vector<LimitTrack>& limits) {
  const std::optional<double> own = track.info.huge_pages;
  for (const LimitTrack& other : limits) {
    const std::optional<double> its = other.track.info.huge_pages;
    if (!own || !its || !is_part(other, limit)) continue;
    // Only "none" differs: its TLB misses.
    if (has_huge_pages(*own) == has_huge_pages(*its)) continue;
    return Note(NoteKind::kOtherPages, {*own, *its}, limit_name(limit));
  }
  return std::nullopt;
}

void note_steal(const Track& track, Notes& notes) {
  double steal_ms = 0, total_ms = 0;
  for (const Reading& reading : track.readings) {
    steal_ms += reading.noise.steal_ms;
    total_ms += reading.ns * static_cast<double>(track.iterations) / 1e6;
  }
  if (total_ms > 0 && steal_ms > kStealShare * total_ms) {
    notes.push_back({NoteKind::kSteal, {steal_ms, total_ms}});
  }
}

Notes noise_notes(const Track& track, const std::optional<Limit>& limit, StopReason stop) {
  Notes notes;
  note_steal(track, notes);
  note_switches(track, notes);
  note_faults(track, notes);
  note_clocks(track, notes);
  note_throttling(track, notes);
  note_placement(track, notes);
  note_warmup(track, notes);
  note_processes(track, notes);
  if (limit && limit->unstable) notes.push_back({NoteKind::kLimitUnstable});
  if (limit && limit->interval && limit->interval->low > 1) {
    notes.push_back(
        {limit->unstable ? NoteKind::kAboveUnstableLimit : NoteKind::kAboveLimit, {limit->fraction}});
  }
  if (stop == StopReason::kMaxTime) notes.push_back({NoteKind::kTimeCap});
  for (const std::string& setting : track.changed) {
    notes.push_back(Note(track.planned.spec.backend + " changed " + setting +
                         " of a thread that runs it; headroom restored it"));
  }
  return notes;
}

std::vector<Record> case_records(const GroupResult& result, const std::vector<std::string>& labels,
                                 const std::shared_ptr<const Environment>& environment) {
  std::vector<Record> records;
  for (const Track& track : result.cases) {
    Record base = base_record(track, result, labels, environment);
    if (track.readings.empty()) {
      records.push_back(empty_record(std::move(base), track));
      continue;
    }
    const Track& baseline = baseline_of(track, result);
    if (&track != &baseline) base.ratio = ratio_to(baseline, track, labels);
    append_records(track, result, std::move(base), records);
  }
  // A rate of bounded amounts and times may be beyond.
  for (Record& record : records) fail_if_unbounded(record, [&record] { return record.metric.name + ": "; });
  return records;
}

bool is_unreached(const Record& record) {
  return record.outcome.kind == Outcome::Kind::kSkipped && record.stop == StopReason::kMaxTime;
}

}  // namespace headroom
