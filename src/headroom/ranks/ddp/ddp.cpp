// SPDX-License-Identifier: Apache-2.0
#include "headroom/ranks/ddp/ddp.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "headroom/base/error.h"
#include "headroom/base/json.h"
#include "headroom/base/text.h"
#include "headroom/base/units.h"
#include "headroom/ranks/collectives/collectives.h"
#include "headroom/record/older_schemas.h"
#include "headroom/report/case_rows.h"
#include "headroom/report/metric_text.h"
#include "headroom/report/run_view.h"
#include "headroom/stats/quantile.h"

namespace headroom {
namespace {

std::string ddp_step_label(const Record& record) {
  const auto found = record.model.extra_info.find("step");
  if (found != record.model.extra_info.end() && !found->second.empty()) return found->second;
  const std::string ranks = axis_text(record, "ranks");
  return ranks.empty() ? "" : ranks + (ranks == "1" ? " rank" : " ranks");
}

struct DdpStepRecords : MeasuredCase {
  int ranks() const;
  std::string label() const { return ddp_step_label(*first); }
};

/// Steps of a model at one bucket size, after the shared step without DDP.
struct DdpSeries {
  std::string model, batch_size, image_size, bucket, runner;
  std::vector<DdpStepRecords> steps;

  bool has_images() const { return !image_size.empty(); }
  /// The step with the most ranks; it has all axes.
  const Record& record() const { return *steps.back().first; }
  const DdpStepRecords* without_ddp() const;
};

/// libtorch's reducer; needs two ranks.
constexpr const char* kNeedsTwo = "c10d";

struct RankCount {
  std::string label;
  int ranks;
};

std::vector<RankCount> rank_counts(const DdpSweep& sweep) {
  std::vector<RankCount> counts;
  for (const int ranks : sweep.ranks) {
    if (ranks < 1 || ranks > sweep.world) {
      throw Error(
          fmt::format("{} ranks in a world of {}: lower --ranks, or start more ranks", ranks, sweep.world));
    }
    counts.push_back({ranks == 1 ? "1 rank" : fmt::format("{} ranks", ranks), ranks});
  }
  if (!counts.empty()) return counts;
  for (const int ranks : {1, 2, 4}) {
    if (ranks <= sweep.world) counts.push_back({fmt::format("1M/{}G", ranks), ranks});
  }
  for (int machines = 1; machines * 8 <= sweep.world; ++machines) {
    counts.push_back({fmt::format("{}M/8G", machines), machines * 8});
  }
  return counts;
}

std::string trace_folder(const DdpSweep& sweep, const std::string& model, std::int64_t bucket_bytes) {
  if (sweep.trace.empty()) return {};
  const bool is_one = sweep.models.size() * sweep.bucket_bytes.size() == 1;
  if (is_one) return sweep.trace;
  const double mebibytes = static_cast<double>(bucket_bytes) / (1 << 20);
  return fmt::format("{}/{}-{:g}MiB", sweep.trace, model, mebibytes);
}

constexpr double kMebibyte = 1 << 20;

/// MiB, with the fewest digits that give the same bytes.
std::string bucket_mebibytes(std::int64_t bytes) {
  constexpr int kAllDigits = 17;
  std::string text;
  for (int digits = 1; digits <= kAllDigits; ++digits) {
    const double mebibytes =
        std::stod(fmt::format("{:.{}g}", static_cast<double>(bytes) / kMebibyte, digits));
    text = fmt::format("{}", mebibytes);
    if (static_cast<std::int64_t>(mebibytes * kMebibyte) == bytes) break;
  }
  return text;
}

/// PyTorch's benchmark reports seconds.
void convert_to_seconds(Record& latency) {
  latency.metric.unit = "s";
  for (ProcessSamples& rank : latency.samples) {
    for (double& value : rank.values) value *= kNsPerUs / kNsPerSecond;
  }
  estimate(latency);
  if (latency.limit) latency.limit->value *= kNsPerUs / kNsPerSecond;
  latency.modes = find_modes(steady(latency).values);
}

AxisValues axes_in_order(const Record& record, bool ddp) {
  AxisValues axes;
  for (const char* name : {"batch_size", "ranks", "ddp", "image_size"}) {
    if (const std::string text = axis_text(record, name); !text.empty()) axes.emplace_back(name, text);
  }
  const auto bytes = whole_axis(record, "bucket_size");
  if (ddp && bytes) axes.emplace_back("bucket_size", bucket_mebibytes(*bytes));
  return axes;
}

std::string label_of(const Record& record, bool ddp, const std::vector<DdpStep>& steps) {
  const auto step = std::ranges::find_if(steps, [&](const DdpStep& known) {
    return known.ddp == ddp && known.ranks == whole_axis(record, "ranks");
  });
  return step == steps.end() ? "" : step->label;
}

void add_model_notes(Record& record) {
  StringMap& info = record.model.extra_info;
  if (const auto unused = info.find("unused parameters"); unused != info.end())
    record.notes.push_back("no rank used the parameters " + unused->second);
  if (const auto untraced = info.find("untraced"); untraced != info.end())
    record.notes.push_back("no trace: " + untraced->second);
}

bool is_without_ddp(const DdpStepRecords& step) {
  return axis_text(*step.first, "ddp") == "no";
}

bool is_of(const DdpSeries& series, const Record& record) {
  return series.model == record.model.name && series.batch_size == axis_text(record, "batch_size") &&
         series.image_size == axis_text(record, "image_size") && series.runner == record.runner;
}

DdpSeries series_for(const Record& record) {
  return {record.model.name,
          axis_text(record, "batch_size"),
          axis_text(record, "image_size"),
          axis_text(record, "bucket_size"),
          record.runner,
          {}};
}

constexpr int kPercentiles[] = {50, 75, 90, 95};

/// Pools all ranks like PyTorch's benchmark.
std::vector<double> pooled(const Record& record) {
  std::vector<double> values;
  for (const ProcessSamples& rank : record.samples)
    values.insert(values.end(), rank.values.begin(), rank.values.end());
  return values;
}

Table percentile_table(const DdpSeries& series) {
  Columns columns = Columns().left({"step"}).right({"ranks"});
  for (const int p : kPercentiles) {
    columns.priority(p == kPercentiles[0] ? Priority::kFirst : Priority::kLast);
    columns.right({fmt::format("p{} sec/iter", p), fmt::format("p{} ex/sec", p)});
  }
  columns.priority(Priority::kNormal).right({"samples"});
  Table table(std::move(columns));
  const double batch = static_cast<double>(whole_axis(series.record(), "batch_size").value_or(0));
  for (const DdpStepRecords& step : series.steps) {
    const Record* latency = step.find("latency");
    if (latency == nullptr) continue;
    const std::vector<double> seconds = pooled(*latency);
    std::vector<std::string> cells{step.label(), std::to_string(step.ranks())};
    for (const int p : kPercentiles) {
      const double value = quantile(seconds, p / 100.0);
      cells.push_back(fmt::format("{:.3f}s", value));
      cells.push_back(fmt::format("{:.0f}/s", batch / value));
    }
    cells.push_back(std::to_string(seconds.size()));
    table.row(std::move(cells));
  }
  return table;
}

struct Efficiency {
  double share = 0;
  std::optional<Interval> interval;
};

/// 100 % is perfect, as each rank does the same work.
std::optional<Efficiency> efficiency(const DdpSeries& series, const DdpStepRecords& step) {
  const DdpStepRecords* base = series.without_ddp();
  const std::optional<RatioToOther>& ratio = step.find("latency")->ratio;
  if (base == nullptr || base == &step || !ratio) return std::nullopt;
  Efficiency found{1 / ratio->ratio, ratio->interval};
  if (found.interval) {
    found.interval->low = 1 / ratio->interval->high;
    found.interval->high = 1 / ratio->interval->low;
  }
  return found;
}

std::string efficiency_text(const std::optional<Efficiency>& found) {
  if (!found) return "";
  const std::string text = format_percent(found->share);
  if (!found->interval) return text + " [too few]";
  return fmt::format("{} [{}, {}]", text, format_percent(found->interval->low),
                     format_percent(found->interval->high));
}

/// Reduction makes all ranks as slow as the slowest.
std::string rank_skew(const DdpStepRecords& step) {
  const Record* record = step.find("without reduction");
  if (record == nullptr || record->samples.size() < 2) return "";
  std::vector<double> medians;
  for (const ProcessSamples& rank : record->samples) medians.push_back(median(rank.values));
  const auto [fastest, slowest] = std::ranges::minmax_element(medians);
  return fmt::format("{} (rank {})", format_percent(*slowest / *fastest - 1), slowest - medians.begin());
}

/// `is_compared`: ratios refer to another program.
Table scaling_table_of(const DdpSeries& series, bool is_compared) {
  Table table(Columns()
                  .left({"step"})
                  .right({"all ranks ex/s ±95 %"})
                  .priority(Priority::kFirst)
                  .right({"efficiency", "iteration ±95 %"})
                  .priority(Priority::kNormal)
                  .right({"of limit"})
                  .priority(Priority::kLast)
                  .right({"without reduction ±95 %"})
                  .priority(Priority::kFirst)
                  .right({"exposed ±95 %"})
                  .priority(Priority::kLast)
                  .right({"communication", "overlap", "rank skew"}));
  for (const DdpStepRecords& step : series.steps) {
    const Record* latency = step.find("latency");
    if (latency == nullptr) continue;
    const Record* overlap = step.find("overlap");
    const std::optional<Efficiency> share = is_compared ? std::nullopt : efficiency(series, step);
    table.row({step.label(), metric_number_cell(step.find("throughput")),
               share ? share_cell(share->share, share->interval) : "", metric_time_cell(latency),
               limit_cell(*latency), metric_time_cell(step.find("without reduction")),
               metric_time_cell(step.find("exposed communication")), metric_time(step.find("communication")),
               overlap == nullptr ? "" : format_percent(overlap->metric.value), rank_skew(step)});
    if (const std::string ratio = ratio_text(*latency); is_compared && !ratio.empty()) table.line(ratio);
  }
  return table;
}

Table part_table(const DdpSeries& series) {
  Table table(Columns()
                  .left({"parts of an iteration"})
                  .right({"forward", "backward", "wait for buckets", "optimizer"}),
              3);
  for (const DdpStepRecords& step : series.steps) {
    if (step.find("latency") == nullptr || step.find("forward") == nullptr) continue;
    table.row({step.label(), metric_time(step.find("forward")), metric_time(step.find("backward")),
               metric_time(step.find("wait")), metric_time(step.find("step"))});
  }
  return table;
}

std::string bandwidth_text(double bytes, double us) {
  return us > 0 ? format_number(bytes / us / 1e3) + " GB/s" : "";
}

Table bucket_table(const DdpStepRecords& step) {
  Table table(Columns()
                  .left({fmt::format("bucket, {}", step.label())})
                  .right({"size", "gradients", "launched", "completed", "takes", "size / takes"}));
  for (int i = 0;; ++i) {
    const Record *launched = step.find(fmt::format("bucket {} launched", i)),
                 *completed = step.find(fmt::format("bucket {} completed", i));
    if (launched == nullptr || completed == nullptr) break;
    const NumberMap& numbers = launched->metric.numbers;
    if (!numbers.contains("bytes") || !numbers.contains("tensors")) break;
    const double bytes = numbers.at("bytes");
    const double takes = completed->metric.value - launched->metric.value;
    table.row({std::to_string(i), format_bytes(bytes), fmt::format("{:.0f}", numbers.at("tensors")),
               metric_time(launched), metric_time(completed), signed_time(takes * kNsPerUs),
               bandwidth_text(bytes, takes)});
  }
  return table;
}

std::string title(const DdpSeries& series, bool compares) {
  const Record& record = series.record();
  std::string text = fmt::format("Benchmark: {} with batch size {}", series.model, series.batch_size);
  if (series.has_images()) text += fmt::format(", {0}x{0} pixels", series.image_size);
  if (!series.bucket.empty()) text += ", buckets of " + series.bucket + " MiB";
  if (record.model.backend == "c10d") text += ", reduced by c10d";
  if (compares) text += ", by " + series.runner;
  if (record.threads == 0) return text;
  return text + fmt::format(", {} a rank", counted(record.threads, "thread"));
}

/// `first`: the runner compared with, or empty.
void add_series(View& view, const DdpSeries& series, const std::string& first) {
  Table percentiles = percentile_table(series);
  if (percentiles.size() == 0) return;
  view.title(title(series, !first.empty()))
      .table(std::move(percentiles))
      .table(scaling_table_of(series, !first.empty() && series.runner != first))
      .table(part_table(series))
      .table(bucket_table(series.steps.back()));
}

void answer_series(View& view, const DdpSeries& series, const std::string& first) {
  const DdpStepRecords& step = series.steps.back();
  const Record* latency = step.find("latency");
  if (latency == nullptr) return;
  const bool is_compared = !first.empty() && series.runner != first;
  std::string text = series.model;
  if (!series.bucket.empty()) text += " with buckets of " + series.bucket + " MiB";
  if (!first.empty()) text += ", by " + series.runner;
  text +=
      fmt::format(": an iteration of {} takes {}", counted(static_cast<std::size_t>(step.ranks()), "rank"),
                  metric_time_with_interval(latency));
  const std::string share = is_compared ? "" : efficiency_text(efficiency(series, step));
  if (!share.empty()) text += fmt::format(", {} of the speed without DDP", share);
  if (const Record* exposed = step.find("exposed communication"))
    text += fmt::format("; exposed communication: {}", metric_time_with_interval(exposed));
  if (share.empty() && latency->limit) text += fmt::format("; {} of its limit", limit_text(*latency));
  view.answer(text);
  if (const std::string ratio = ratio_text(*latency); is_compared && !ratio.empty())
    view.answer(series.runner + ": " + std::string(trimmed(ratio)));
}

constexpr const char* kReading =
    "  times are medians over the iterations of all ranks; ex/sec next to a percentile is per rank; exposed: "
    "an iteration minus the same without reduction; efficiency: time without DDP / time with DDP\n";
constexpr const char* kLimits =
    "  limit: the time of this machine for an iteration's FLOPs, its parameters or the exchange between "
    "ranks, whichever is longest, in the same rounds\n";

/// Returns the case without its rank count.
std::string series_of(const Comparison& comparison) {
  const Record& record = *comparison.baseline;
  std::string text = record.model.name;
  for (const auto& [axis, value] : record.axes) {
    if (axis != "ranks") text += " " + axis + "=" + value.text();
  }
  if (!record.model.backend.empty()) text += " " + record.model.backend;
  return text;
}

std::string skew_text(const Record& record, std::int64_t ranks) {
  if (ranks < 2 || record.samples.size() != static_cast<std::size_t>(ranks)) return "-";
  const std::vector<double> medians = process_medians(record);
  if (std::ranges::any_of(medians, [](double median) { return std::isnan(median); })) return "-";
  const auto [fastest, slowest] = std::ranges::minmax(medians);
  return format_percent(slowest / fastest - 1);
}

using RanksSeries = std::map<std::int64_t, const Comparison*>;

void append_series(Table& table, const std::string& name, const RanksSeries& series) {
  if (series.size() < 2) return;
  const Comparison& base = *series.begin()->second;
  for (const auto& [ranks, comparison] : series) {
    const double before = base.baseline_value / comparison->baseline_value;
    const double after = base.test_value / comparison->test_value;
    table.row({name, std::to_string(ranks), format_percent(before), format_percent(after),
               fmt::format("{:+.1f}", (after - before) * 100), skew_text(*comparison->baseline, ranks),
               skew_text(*comparison->test, ranks)});
  }
}

/// PyTorch's benchmark does not report it.
constexpr const char* kDefaultImage = "224";

Json axis_json(const DdpSeries& series, const char* name) {
  const AxisValue* value = axis(series.record(), name);
  if (value == nullptr) return nullptr;
  if (const auto whole = value->integer()) return *whole;
  const auto number = value->number();
  return number ? Json(*number) : Json(value->text());
}

Json round_of(const DdpStepRecords& step) {
  Json ranks = Json::array(), measurements = Json::array();
  for (int rank = 0; rank < step.ranks(); ++rank) ranks.push_back(rank);
  for (const ProcessSamples& rank : step.find("latency")->samples) {
    for (const double seconds : rank.values) measurements.push_back(seconds);
  }
  return {{"ranks", std::move(ranks)}, {"measurements", std::move(measurements)}};
}

/// Adds members that differ between series (`buckets`, `runners`).
Json result_of(const DdpSeries& series, const std::set<std::string>& buckets,
               const std::set<std::string>& runners) {
  Json result = {{"model", series.model}, {"batch_size", axis_json(series, "batch_size")}};
  if (series.has_images() && series.image_size != kDefaultImage) {
    result["image_size"] = axis_json(series, "image_size");
  }
  if (runners.size() > 1) result["runner"] = series.runner;
  if (buckets.size() > 1 && !series.bucket.empty()) result["bucket_size"] = axis_json(series, "bucket_size");
  Json rounds = Json::array();
  for (const DdpStepRecords& step : series.steps) {
    if (step.find("latency") != nullptr) rounds.push_back(round_of(step));
  }
  result["result"] = std::move(rounds);
  return result;
}

std::vector<MeasuredCase> ddp_cases(const std::vector<Record>& records) {
  std::vector<MeasuredCase> cases = measured_cases(records);
  std::erase_if(cases, [](const MeasuredCase& one) { return one.first->benchmark.name != "ddp"; });
  return cases;
}

int DdpStepRecords::ranks() const {
  return static_cast<int>(whole_axis(*first, "ranks").value_or(0));
}

const DdpStepRecords* DdpSeries::without_ddp() const {
  if (steps.empty() || !is_without_ddp(steps.front()) || steps.front().find("latency") == nullptr)
    return nullptr;
  return &steps.front();
}

/// A model with only the step without DDP gives a series without a bucket size.
std::vector<DdpSeries> ddp_series(const std::vector<Record>& records) {
  std::vector<DdpSeries> all;
  std::vector<DdpStepRecords> alone;
  for (MeasuredCase& one : ddp_cases(records)) {
    const DdpStepRecords step{std::move(one)};
    const Record& record = *step.first;
    if (is_without_ddp(step)) {
      alone.push_back(step);
      all.push_back(series_for(record));
      all.back().steps.push_back(step);
      continue;
    }
    const std::string bucket = axis_text(record, "bucket_size");
    auto series = std::ranges::find_if(all, [&](const DdpSeries& known) {
      return is_of(known, record) && (known.bucket == bucket || known.bucket.empty());
    });
    if (series == all.end()) {
      all.push_back(series_for(record));
      series = all.end() - 1;
      for (const DdpStepRecords& shared : alone) {
        if (is_of(*series, *shared.first)) series->steps.push_back(shared);
      }
    }
    series->bucket = bucket;
    series->steps.push_back(step);
  }
  return all;
}

}  // namespace

std::vector<DdpStep> ddp_steps(const DdpSweep& sweep, const std::string& model) {
  std::vector<RankCount> counts = rank_counts(sweep);
  std::ranges::stable_sort(counts, {}, &RankCount::ranks);
  if (sweep.reducer == kNeedsTwo) {
    std::erase_if(counts, [](const RankCount& count) { return count.ranks == 1; });
    if (counts.empty()) throw Error("c10d's reducer needs at least 2 ranks: raise --ranks");
  }
  std::vector<DdpStep> steps{{"no ddp", 1, false, sweep.bucket_bytes.front()}};
  for (const std::int64_t bytes : sweep.bucket_bytes) {
    for (const RankCount& count : counts) steps.push_back({count.label, count.ranks, true, bytes});
    steps.back().trace = trace_folder(sweep, model, bytes);
  }
  return steps;
}

std::vector<Record> ddp_records(std::vector<Record> records, const std::vector<DdpStep>& steps) {
  for (Record& record : records) {
    const bool ddp = axis_text(record, "ddp") == "yes";
    record.benchmark.name = "ddp";
    record.instrument = Instrument::kDdp;
    record_json::take_numbers_from_texts(record);  // from ranks of older builds
    record.benchmark.mode = "training";
    record.benchmark.dtype = "f32";
    if (record.model.name.starts_with(kDdpPrefix))
      record.model.name.erase(0, std::string_view(kDdpPrefix).size());
    record.model.type = "OSS model";
    if (!ddp) record.model.backend.clear();
    record.model.extra_info["step"] = label_of(record, ddp, steps);
    record.device = axis_text(record, "transport") == "nccl" ? "cuda" : "cpu";
    record.axes = axes_in_order(record, ddp);
    record.caches.clear();
    if (record.metric.name == "latency") convert_to_seconds(record);
    if (record.metric.headline) {
      add_model_notes(record);
    } else {
      record.notes.clear();
    }
  }
  return records;
}

View ddp_view(const std::vector<Record>& records) {
  View view;
  const std::vector<DdpSeries> all = ddp_series(records);
  const std::vector<MeasuredCase> cases = ddp_cases(records);
  const bool compares =
      std::ranges::any_of(all, [&](const DdpSeries& series) { return series.runner != all.front().runner; });
  const std::string first = compares ? all.front().runner : "";
  answer_unmeasured(view, cases, case_name);
  for (const DdpSeries& series : all) answer_series(view, series, first);
  std::vector<const Record*> timed;
  for (const MeasuredCase& one : cases) {
    if (const Record* latency = one.find("latency")) timed.push_back(latency);
  }
  answer_doubts(view, timed, "steps");
  for (const DdpSeries& series : all) add_series(view, series, first);
  view.notes(collective_lines_text(records), Tone::kPlain);
  if (view.has_tables()) {
    view.notes(kReading);
    if (std::ranges::any_of(records, [](const Record& one) { return one.limit.has_value(); }))
      view.notes(kLimits);
  }
  for (const MeasuredCase& one : cases) {
    for (const Note& note : one.first->notes)
      view.notes(fmt::format("  {}: {}\n", case_name(*one.first), sentence(note)), Tone::kPlain);
  }
  return view.notes(text_of_unmeasured(cases, case_name), Tone::kBad);
}

Table ddp_rank_table(const std::vector<Record>& records) {
  return rank_table(ddp_cases(records), records, "model", {{"step", ddp_step_label}},
                    {{"iteration", "latency"},
                     {"without reduction", "without reduction"},
                     {"forward", "forward"},
                     {"backward", "backward"},
                     {"wait for buckets", "wait"},
                     {"optimizer", "step"}});
}

Table scaling_table(const DiffReport& report) {
  Table table(Columns()
                  .left({"scaling"})
                  .right({"ranks", "efficiency, baseline", "candidate", "points", "rank skew, baseline",
                          "candidate"}),
              2);
  std::vector<std::string> order;
  std::map<std::string, RanksSeries> all;
  for (const Comparison& comparison : report.comparisons) {
    const auto ranks = whole_axis(*comparison.baseline, "ranks");
    if (!ranks || !comparison.ratio || comparison.baseline->metric.direction != Direction::kLowerIsBetter)
      continue;
    std::string name = series_of(comparison);
    if (report.tests.size() > 1) name += " against " + report.tests[comparison.test_index].label;
    const auto [entry, is_new] = all.try_emplace(name);
    if (is_new) order.push_back(name);
    entry->second.emplace(*ranks, &comparison);
  }
  for (const std::string& name : order) append_series(table, name, all[name]);
  return table;
}

std::string ddp_seed_report(const std::vector<Record>& records, const std::string& pytorch_version,
                            const std::string& backend) {
  const std::vector<DdpSeries> all = ddp_series(records);
  std::set<std::string> buckets, runners;
  for (const DdpSeries& series : all) {
    runners.insert(series.runner);
    if (!series.bucket.empty()) buckets.insert(series.bucket);
  }
  Json results = Json::array();
  for (const DdpSeries& series : all) {
    if (series.without_ddp() != nullptr) results.push_back(result_of(series, buckets, runners));
  }
  Json report = {
      {"pytorch_version", pytorch_version}, {"cuda_version", nullptr}, {"distributed_backend", backend}};
  if (buckets.size() == 1) {
    report["bucket_size"] = axis_json(
        *std::ranges::find_if(all, [](const DdpSeries& one) { return !one.bucket.empty(); }), "bucket_size");
  }
  report["benchmark_results"] = std::move(results);
  return dump_json(report) + "\n";
}

}  // namespace headroom
