// SPDX-License-Identifier: Apache-2.0
#include "headroom/ranks/ddp/ddp_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "headroom/base/text.h"
#include "headroom/base/units.h"
#include "headroom/ranks/collectives/collectives_table.h"
#include "headroom/ranks/ddp/ddp_series.h"
#include "headroom/report/case_rows.h"
#include "headroom/report/metric_text.h"
#include "headroom/report/run_sheet.h"
#include "headroom/stats/quantile.h"

namespace headroom {
namespace {

constexpr int kPercentiles[] = {50, 75, 90, 95};

/// Every iteration of every rank, as PyTorch's benchmark pools them.
std::vector<double> pooled(const Record& record) {
  std::vector<double> values;
  for (const ProcessSamples& rank : record.samples)
    values.insert(values.end(), rank.values.begin(), rank.values.end());
  return values;
}

Table percentile_table(const DdpSeries& series) {
  std::vector<Table::Column> columns{{"step"}, {"ranks", Align::kRight}};
  for (const int p : kPercentiles) {
    columns.push_back({fmt::format("p{} sec/iter", p), Align::kRight});
    columns.push_back({"ex/sec", Align::kRight});
  }
  columns.push_back({"samples", Align::kRight});
  Table table(std::move(columns));
  const double batch = to_number(series.batch_size).value_or(0);
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

/// Time without DDP over time with it, in the same rounds: each rank does the same work, so that 100 % is
/// perfect.
std::string efficiency(const DdpSeries& series, const DdpStepRecords& step) {
  const DdpStepRecords* base = series.without_ddp();
  const std::optional<RatioToOther>& ratio = step.find("latency")->ratio;
  if (base == nullptr || base == &step || !ratio) return "";
  const std::string text = format_percent(1 / ratio->ratio);
  if (!ratio->interval) return text + " [too few]";
  return fmt::format("{} [{}, {}]", text, format_percent(1 / ratio->interval->high),
                     format_percent(1 / ratio->interval->low));
}

/// By the iterations without reduction where there are any: reduction makes all ranks as slow as the slowest.
std::string rank_skew(const DdpStepRecords& step) {
  const Record* record = step.find("without reduction");
  if (record == nullptr || record->samples.size() < 2) return "";
  std::vector<double> medians;
  for (const ProcessSamples& rank : record->samples) medians.push_back(median(rank.values));
  const auto [fastest, slowest] = std::ranges::minmax_element(medians);
  return fmt::format("{} (rank {})", format_percent(*slowest / *fastest - 1), slowest - medians.begin());
}

/// `is_compared`: the ratio of a step is to that of another program, not to the step without DDP.
Table scaling_table_of(const DdpSeries& series, bool is_compared) {
  Table table({{"step"},
               {"all ranks ex/s ±95 %", Align::kRight},
               {"efficiency", Align::kRight},
               {"iteration ±95 %", Align::kRight},
               {"of limit", Align::kRight},
               {"without reduction ±95 %", Align::kRight},
               {"exposed ±95 %", Align::kRight},
               {"communication", Align::kRight},
               {"overlap", Align::kRight},
               {"rank skew", Align::kRight}});
  for (const DdpStepRecords& step : series.steps) {
    const Record* latency = step.find("latency");
    if (latency == nullptr) continue;
    const Record* overlap = step.find("overlap");
    table.row({step.label(), metric_number_with_interval(step.find("throughput")),
               is_compared ? "" : efficiency(series, step), metric_time_with_interval(latency),
               limit_text(*latency), metric_time_with_interval(step.find("without reduction")),
               metric_time_with_interval(step.find("exposed communication")),
               metric_time(step.find("communication")),
               overlap == nullptr ? "" : format_percent(overlap->metric.value), rank_skew(step)});
    if (const std::string ratio = ratio_text(*latency); is_compared && !ratio.empty()) table.line(ratio);
  }
  return table;
}

Table part_table(const DdpSeries& series) {
  Table table({{"parts of an iteration"},
               {"forward", Align::kRight},
               {"backward", Align::kRight},
               {"wait for buckets", Align::kRight},
               {"optimizer", Align::kRight}},
              3);
  for (const DdpStepRecords& step : series.steps) {
    if (step.find("latency") == nullptr) continue;
    table.row({step.label(), metric_time(step.find("forward")), metric_time(step.find("backward")),
               metric_time(step.find("wait")), metric_time(step.find("step"))});
  }
  return table;
}

/// "1.20 GB/s".
std::string bandwidth_text(double bytes, double us) {
  return us > 0 ? format_number(bytes / us / 1e3) + " GB/s" : "";
}

Table bucket_table(const DdpStepRecords& step) {
  Table table({{fmt::format("bucket, {}", step.label())},
               {"size", Align::kRight},
               {"gradients", Align::kRight},
               {"launched", Align::kRight},
               {"completed", Align::kRight},
               {"takes", Align::kRight},
               {"size / takes", Align::kRight}});
  for (int i = 0;; ++i) {
    const Record *launched = step.find(fmt::format("bucket {} launched", i)),
                 *completed = step.find(fmt::format("bucket {} completed", i));
    if (launched == nullptr || completed == nullptr) break;
    const double bytes = to_number(launched->metric.extra_info.at("bytes")).value_or(0);
    const double takes = completed->metric.value - launched->metric.value;
    table.row({std::to_string(i), format_bytes(bytes), launched->metric.extra_info.at("tensors"),
               metric_time(launched), metric_time(completed), signed_time(takes * kNsPerUs),
               bandwidth_text(bytes, takes)});
  }
  return table;
}

std::string title(const DdpSeries& series, bool compares) {
  const Record& record = *series.steps.back().first;
  std::string text = fmt::format("Benchmark: {} with batch size {}", series.model, series.batch_size);
  if (series.has_images()) text += fmt::format(", {0}x{0} pixels", series.image_size);
  if (!series.bucket.empty()) text += ", buckets of " + series.bucket + " MiB";
  if (record.model.backend == "c10d") text += ", reduced by c10d";
  if (compares) text += ", by " + series.runner;
  return text + fmt::format(", {} thread{} a rank", record.threads, record.threads == 1 ? "" : "s");
}

/// `first`: the runner that others are compared with; empty where there are none.
void add_series(Sheet& sheet, const DdpSeries& series, const std::string& first) {
  Table percentiles = percentile_table(series);
  if (percentiles.size() == 0) return;
  sheet.title(title(series, !first.empty()))
      .table(std::move(percentiles))
      .table(scaling_table_of(series, !first.empty() && series.runner != first))
      .table(part_table(series))
      .table(bucket_table(series.steps.back()));
}

/// How the step of the most ranks stands to training without DDP.
void answer_series(Sheet& sheet, const DdpSeries& series, const std::string& first) {
  const DdpStepRecords& step = series.steps.back();
  const Record* latency = step.find("latency");
  if (latency == nullptr) return;
  const bool is_compared = !first.empty() && series.runner != first;
  std::string text = series.model;
  if (!series.bucket.empty()) text += " with buckets of " + series.bucket + " MiB";
  if (!first.empty()) text += ", by " + series.runner;
  text += fmt::format(": an iteration of {} rank{} takes {}", step.ranks(), step.ranks() == 1 ? "" : "s",
                      metric_time_with_interval(latency));
  const std::string share = is_compared ? "" : efficiency(series, step);
  if (!share.empty()) text += fmt::format(", {} of the speed without DDP", share);
  if (const Record* exposed = step.find("exposed communication"))
    text += fmt::format("; communication that nothing hides: {}", metric_time_with_interval(exposed));
  if (share.empty() && latency->limit) text += fmt::format("; {} of its limit", limit_text(*latency));
  sheet.answer(text);
  if (const std::string ratio = ratio_text(*latency); is_compared && !ratio.empty())
    sheet.answer(series.runner + ": " + std::string(trimmed(ratio)));
}

constexpr const char* kReading =
    "  times are medians over the iterations of all ranks; ex/sec beside a percentile is of one rank; "
    "exposed "
    "is an iteration less the same without reduction; efficiency is the time without DDP over the time with "
    "it\n";
constexpr const char* kLimits =
    "  limit: what this machine needs for the FLOPs of an iteration, its parameters or what its ranks "
    "exchange, in the same rounds, whichever takes longest\n";

}  // namespace

Sheet ddp_sheet(const std::vector<Record>& records) {
  Sheet sheet;
  const std::vector<DdpSeries> all = ddp_series(records);
  const std::vector<MeasuredCase> cases = ddp_cases(records);
  const bool compares =
      std::ranges::any_of(all, [&](const DdpSeries& series) { return series.runner != all.front().runner; });
  const std::string first = compares ? all.front().runner : "";
  answer_unmeasured(sheet, cases, case_name);
  for (const DdpSeries& series : all) answer_series(sheet, series, first);
  std::vector<const Record*> timed;
  for (const MeasuredCase& one : cases) {
    if (const Record* latency = one.find("latency")) timed.push_back(latency);
  }
  answer_doubts(sheet, timed, "steps");
  for (const DdpSeries& series : all) add_series(sheet, series, first);
  sheet.notes(collective_lines_text(records), Tone::kPlain);
  if (sheet.has_tables()) {
    sheet.notes(kReading);
    if (std::ranges::any_of(records, [](const Record& one) { return one.limit.has_value(); }))
      sheet.notes(kLimits);
  }
  for (const MeasuredCase& one : cases) {
    for (const std::string& note : one.first->notes)
      sheet.notes(fmt::format("  {}: {}\n", case_name(*one.first), note), Tone::kPlain);
  }
  return sheet.notes(text_of_unmeasured(cases, case_name), Tone::kBad);
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

}  // namespace headroom
