// SPDX-License-Identifier: Apache-2.0
#include "headroom/schedule/case_records.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>

#include "headroom/base/units.h"
#include "headroom/record/operation_rate.h"
#include "headroom/schedule/case_limit.h"
#include "headroom/schedule/counted_records.h"
#include "headroom/schedule/noise_notes.h"
#include "headroom/schedule/series.h"
#include "headroom/stats/quantile.h"

namespace headroom {
namespace {

/// How a metric follows from a sample.
struct MetricForm {
  std::string name, unit;
  Direction direction = Direction::kLowerIsBetter;
  std::function<double(const Reading&)> value;
  bool follows_time = true;  ///< a limit of the time says nothing about a metric that does not
};

constexpr const char* kLatency = "latency";
constexpr const char* kBandwidth = "memory_bandwidth(GB/s)";
constexpr const char* kFlopsUtilization = "flops_utilization";

/// The form of the metric that the experiment declares, if it has one.
template <typename Forms>
auto declared_form(const Track& track, Forms& forms) {
  return std::ranges::find_if(
      forms, [&](const MetricForm& form) { return is_same_metric(form.name, track.planned.metric); });
}

std::string headline_of(const Track& track, const std::vector<MetricForm>& forms) {
  // flops_utilization needs a peak that was sampled: without one the metric that the work implies stands in.
  const auto declared = declared_form(track, forms);
  if (declared != forms.end()) return declared->name;
  if (track.info.work.bytes > 0) return kBandwidth;
  return track.info.work.flops > 0 ? operation_rate(track.info.work.dtype) : kLatency;
}

/// FLOPs over time over the peak of the same round.
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

/// `column`: its place among the columns, where it is one.
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

/// Whether it is a rank job whose slowest rank counts for all.
bool counts_by_slowest(const Track& track) {
  return !track.planned.each_rank_counts && !track.readings.empty() && !track.readings.front().ranks.empty();
}

/// How much longer the slowest rank took than the fastest.
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
  // Tables show the first one that is marked: the headline before those that stand beside it.
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

/// The samples of each rank as those of a process, of all the jobs that were started one after the other:
/// that these differ is in the ratio to another case, which is of the readings.
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

/// What each process or rank told after its last sample, of the iterations that were samples: those of
/// calibration and warm-up came before.
std::vector<ProcessSamples> samples_told(const Track& track, std::size_t index) {
  const std::vector<RankSample>& ranks = track.readings.front().ranks;
  std::vector<std::uint32_t> rounds;
  for (const Reading& reading : track.readings) {
    if (reading.epoch == track.readings.back().epoch) rounds.push_back(reading.round);
  }
  std::vector<ProcessSamples> all;
  for (std::size_t i = 0; i < track.told.size(); ++i) {
    if (track.told[i].series.size() <= index) continue;
    std::span<const double> values = track.told[i].series[index].values;
    // Not those of iterations that were counted afterwards.
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

/// Which rank was the slowest most often, and in which share of the samples.
void tell_slowest(const Track& track, Record& latency) {
  std::vector<std::size_t> times(track.readings.front().ranks.size());
  for (const Reading& reading : track.readings) {
    const auto slowest = std::ranges::max_element(reading.ranks, {}, &RankSample::elapsed_ns);
    ++times.at(static_cast<std::size_t>(slowest - reading.ranks.begin()));
  }
  const auto most = std::ranges::max_element(times);
  latency.metric.extra_info["slowest rank"] = std::to_string(most - times.begin());
  latency.metric.extra_info["slowest share"] =
      fmt::format("{:.3f}", static_cast<double>(*most) / static_cast<double>(track.readings.size()));
}

StopReason stop_of(const Track& track, const GroupResult& result) {
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
  record.axes.assign(spec.axes.begin(), spec.axes.end());
  for (const auto& [axis, value] : spec.axes) {
    if (axis == "dtype") record.benchmark.dtype = value;
  }
  record.benchmark.mode = "inference";
  record.device = track.planned.device;
  const auto gpu = track.info.notes.find("gpu");
  if (gpu != track.info.notes.end()) record.benchmark.extra_info["arch"] = gpu->second;
  record.runner = labels.at(track.planned.runner);
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

/// How the case stands to the first one of its group.
std::optional<RatioToOther> ratio_to(const Track& baseline, const Track& track,
                                     const std::vector<std::string>& labels) {
  const auto ratio = ratio_of(steady_series(track.readings), steady_series(baseline.readings));
  if (!ratio) return std::nullopt;
  const CaseSpec& other = baseline.planned.spec;
  std::string name = other.backend + "@" + labels.at(baseline.planned.runner);
  for (const auto& axis : other.axes) {
    const AxisTexts& own = track.planned.spec.axes;
    if (std::ranges::find(own, axis) == own.end()) name += fmt::format(" {}={}", axis.first, axis.second);
  }
  return RatioToOther{ratio->ratio, ratio->interval, ratio->pairs, name};
}

/// What the case is held against; how long a wrong answer takes is nothing to compare with.
const Track& baseline_of(const Track& track, const GroupResult& result) {
  const Track& planned = result.cases.at(track.planned.baseline);
  if (planned.info.wrong.empty()) return planned;
  const auto right =
      std::ranges::find_if(result.cases, [](const Track& one) { return one.info.wrong.empty(); });
  return right == result.cases.end() ? result.cases.front() : *right;
}

/// A case that gave no samples: one record that says why.
Record empty_record(Record record, const Track& track) {
  if (track.alive()) record.outcome = {Outcome::Kind::kSkipped, "interrupted before its first sample"};
  record.metric.name = track.planned.metric.empty() ? headline_of(track, {}) : track.planned.metric;
  record.metric.headline = true;
  return record;
}

void append_records(const Track& track, const GroupResult& result, Record base,
                    std::vector<Record>& records) {
  const auto [limit, peak_flops] = case_limit(track, result.limits);
  base.notes = noise_notes(track, limit, result.stop);
  if (limit) {
    if (std::string pages = page_note(track, *limit, result.limits); !pages.empty())
      base.notes.push_back(std::move(pages));
  }
  const std::vector<MetricForm> forms = metric_forms(track, peak_flops);
  const std::string headline = headline_of(track, forms);
  const bool by_slowest = counts_by_slowest(track);
  const bool each_counts = track.planned.each_rank_counts && !track.readings.front().ranks.empty();
  for (const MetricForm& form : forms) {
    Record record = base;
    record.metric.name = form.name;
    record.metric.unit = form.unit;
    record.metric.direction = form.direction;
    record.samples = each_counts ? samples_of_ranks(track, form) : samples_of(track, form);
    // A monotone function of time keeps ranks, so that each metric is estimated on its own values.
    estimate(record);
    if (limit && form.follows_time) {
      record.limit = limit;
      const bool lower = form.direction == Direction::kLowerIsBetter;
      record.limit->value =
          lower ? record.metric.value * limit->fraction : record.metric.value / limit->fraction;
    }
    if (form.name == kLatency) record.modes = find_modes(steady(record).values);
    if (form.name == kLatency && by_slowest) tell_slowest(track, record);
    const std::vector<std::string>& beside = track.planned.also_metrics;
    const bool is_beside =
        std::ranges::any_of(beside, [&](const std::string& name) { return is_same_metric(name, form.name); });
    if (form.name == headline || is_beside) record.metric.headline = true;
    records.push_back(std::move(record));
  }
  for (std::size_t i = 0; !track.told.empty() && i < track.told.front().series.size(); ++i) {
    const ToldSeries& told = track.told.front().series[i];
    Record record = base;
    record.metric.name = told.name;
    record.metric.unit = told.unit;
    record.metric.extra_info = told.info;
    record.samples = samples_told(track, i);
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
  return records;
}

}  // namespace headroom
