// SPDX-License-Identifier: Apache-2.0
#include "headroom/ranks/collectives/collectives.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "headroom/base/error.h"
#include "headroom/base/text.h"
#include "headroom/base/units.h"
#include "headroom/report/case_rows.h"
#include "headroom/report/metric_text.h"
#include "headroom/report/run_view.h"
#include "headroom/stats/changepoint.h"
#include "headroom/stats/interval.h"
#include "headroom/stats/quantile.h"

namespace headroom {
namespace {

std::int64_t bytes_of_element(const std::string& dtype) {
  if (dtype == "f16") return 2;
  if (dtype == "f32" || dtype == "i32") return 4;
  if (dtype == "f64" || dtype == "i64") return 8;
  throw Error("no collectives for dtype " + quote(dtype) + ": expected f32, f64, f16, i32 or i64");
}

void add_percentiles(const Record& latency, std::vector<Record>& records) {
  const Series series = steady(latency);
  for (const int percent : kLatencyPercentiles) {
    Record record = latency;
    record.samples.clear();
    record.modes = {};
    record.metric.headline = false;
    record.metric.extra_info.clear();
    record.metric.name = fmt::format("latency p{}", percent);
    record.metric.value = quantile(series.values, percent / 100.0);
    record.interval = series_quantile_interval(series.values, percent / 100.0, series.group_sizes);
    records.push_back(std::move(record));
  }
}

struct Points {
  std::vector<double> mebibytes, us;

  std::optional<LineFit> line() const { return fit_line(mebibytes, us); }
};

struct Sweep {
  const Record* first = nullptr;
  Points measured, limits;

  void add(const Record& latency, double bytes) {
    constexpr double kMebibyte = 1 << 20;
    if (first == nullptr) first = &latency;
    measured.mebibytes.push_back(bytes / kMebibyte);
    measured.us.push_back(latency.metric.value);
    if (!latency.limit) return;
    limits.mebibytes.push_back(bytes / kMebibyte);
    limits.us.push_back(latency.limit->value);
  }

  Record record(const char* name, const char* unit, double LineFit::*number) const {
    const LineFit line = *measured.line();
    Record record = *first;
    record.samples.clear();
    record.modes = {};
    record.interval.reset();
    record.ratio.reset();
    record.limit.reset();
    record.notes.clear();
    std::erase_if(record.axes, [](const auto& axis) { return axis.first == "bytes"; });
    record.metric = {};
    record.metric.name = name;
    record.metric.unit = unit;
    record.metric.value = line.*number;
    record.metric.extra_info = {{"worst error of the line", format_percent(line.worst_error)},
                                {"sizes", std::to_string(measured.us.size())}};
    const auto limit = limits.us.size() == measured.us.size() ? limits.line() : std::nullopt;
    const double least = limit ? (*limit).*number : 0, own = line.*number;
    if (!(least > 0) || !(own > 0)) return record;
    record.limit.emplace().value = least;
    record.limit->fraction = least / own;
    record.limit->parts = {{.kind = "exchange", .pattern = {}, .dtype = {}}};
    return record;
  }
};

std::string message_size(const Record& record) {
  return format_bytes(static_cast<double>(whole_axis(record, "bytes").value_or(0)));
}

std::string info(const Record& record, const std::string& key) {
  const auto found = record.metric.extra_info.find(key);
  return found == record.metric.extra_info.end() ? "" : found->second;
}

std::string us_text(double us) {
  return format_time_ns(us * kNsPerUs);
}

/// "1.20 ms [1.10 ms, 1.40 ms]": intervals of percentiles are asymmetric.
std::string time_in_interval(const Record* record) {
  if (record == nullptr) return "";
  if (!record->interval) return us_text(record->metric.value) + " [too few]";
  return fmt::format("{} [{}, {}]", us_text(record->metric.value), us_text(record->interval->low),
                     us_text(record->interval->high));
}

std::string slowest_text(const Record& latency) {
  const std::optional<Record::Slowest>& slowest = latency.slowest;
  return slowest ? fmt::format("rank {} in {}", slowest->rank, format_percent(slowest->share)) : "";
}

std::string name_of(const Record& record, const std::vector<Record>& records) {
  return name_with_runner(record, records) + (record.model.extra_info.contains("composed of") ? " *" : "");
}

Table collective_time_table(const std::vector<MeasuredCase>& rows, const std::vector<Record>& records) {
  Table table(Columns()
                  .left({"collective"})
                  .right({"size", "ranks"})
                  .priority(Priority::kFirst)
                  .right({"p50 ±95 %"})
                  .priority(Priority::kLast)
                  .right({"algbw GB/s"})
                  .priority(Priority::kFirst)
                  .right({"busbw GB/s ±95 %", "of limit"})
                  .priority(Priority::kNormal)
                  .right({"skew p50"})
                  .left({"slowest"})
                  .priority(Priority::kLast)
                  .shared("calls", Align::kRight, "calls")
                  .shared("data", Align::kLeft, "data"),
              3);
  for (const MeasuredCase& row : rows) {
    const Record* latency = row.find("latency");
    if (latency == nullptr || latency->samples.empty()) continue;
    const Record *algbw = row.find("algbw"), *skew = row.find("skew");
    table.row({name_of(*latency, records), message_size(*latency), axis_text(*latency, "ranks"),
               metric_time_cell(latency), algbw == nullptr ? "" : format_number(algbw->metric.value),
               metric_number_cell(row.find("busbw")), limit_cell(*latency), metric_time(skew),
               slowest_text(*latency), std::to_string(sample_count(*latency)),
               latency->verified ? "right" : ""});
    if (const std::string ratio = ratio_text(*latency); !ratio.empty()) table.line(ratio);
  }
  return table;
}

Table percentile_table(const std::vector<MeasuredCase>& rows, const std::vector<Record>& records) {
  Table table(Columns()
                  .left({"latency [95 %]"})
                  .right({"size", "ranks", "p75", "p90", "p95"})
                  .priority(Priority::kFirst)
                  .right({"p99"}),
              3);
  for (const MeasuredCase& row : rows) {
    const Record* latency = row.find("latency");
    if (latency == nullptr || latency->samples.empty()) continue;
    std::vector<std::string> cells{name_with_runner(*latency, records), message_size(*latency),
                                   axis_text(*latency, "ranks")};
    for (const char* percentile : {"latency p75", "latency p90", "latency p95", "latency p99"})
      cells.push_back(time_in_interval(row.find(percentile)));
    table.row(std::move(cells));
  }
  return table;
}

std::string notes_of(const std::vector<MeasuredCase>& rows) {
  std::set<std::string> composed;
  std::string text;
  for (const MeasuredCase& row : rows) {
    const auto how = row.first->model.extra_info.find("composed of");
    if (how == row.first->model.extra_info.end()) continue;
    if (composed.insert(row.first->model.name).second) {
      text += fmt::format("  * {} has no {}: measured as {}\n", row.first->model.backend,
                          row.first->model.name, how->second);
    }
  }
  return text;
}

void answer_bandwidth(View& view, const std::vector<MeasuredCase>& rows) {
  const Record *furthest = nullptr, *fastest = nullptr;
  std::vector<const Record*> timed;
  for (const MeasuredCase& row : rows) {
    const Record *latency = row.find("latency"), *busbw = row.find("busbw");
    if (latency == nullptr) continue;
    timed.push_back(latency);
    const bool is_further =
        latency->limit && (furthest == nullptr || latency->limit->fraction < furthest->limit->fraction);
    if (is_further) furthest = latency;
    if (busbw != nullptr && (fastest == nullptr || busbw->metric.value > fastest->metric.value))
      fastest = busbw;
  }
  const auto name = [](const Record& record) {
    return fmt::format("{} of {} on {} ranks", record.model.name, message_size(record),
                       axis_text(record, "ranks"));
  };
  if (furthest != nullptr) {
    const std::string share = limit_text(*furthest);
    view.answer(timed.size() == 1 ? fmt::format("{} reaches {} of its limit", name(*furthest), share)
                                  : fmt::format("{} is furthest from its limit: {}", name(*furthest), share));
  }
  if (fastest != nullptr) {
    view.answer(fmt::format("{} is fastest: {} GB/s of bus bandwidth", name(*fastest),
                            metric_number_with_interval(fastest)));
  }
  answer_doubts(view, timed, "cases");
}

}  // namespace

std::int64_t collective_bytes(std::string_view op, std::int64_t bytes, const std::string& dtype, int ranks) {
  const bool has_parts = op != "all_reduce" && op != "broadcast";
  const std::int64_t unit = bytes_of_element(dtype) * (has_parts ? ranks : 1);
  return std::max<std::int64_t>(bytes / unit, 1) * unit;
}

double exchanged_bytes(std::string_view op, std::int64_t bytes, int ranks) {
  // reduce-scatter, then all-gather.
  const double passes = op == "all_reduce" ? 2 : 1;
  return passes * static_cast<double>(bytes) * (ranks - 1) / ranks;
}

std::int64_t collective_footprint(std::int64_t bytes) {
  // Source, input, output and gloo's buffers.
  return 4 * bytes;
}

std::vector<Record> collective_records(std::vector<Record> records) {
  std::vector<Record> all;
  for (Record& record : records) {
    record.model.type = "collective";
    record.instrument = Instrument::kCollectives;
    all.push_back(std::move(record));
    const Record latency = all.back();
    if (latency.metric.name == "latency" && sample_count(latency) > 0) add_percentiles(latency, all);
  }
  return all;
}

std::vector<Record> collective_lines(const std::vector<Record>& collectives) {
  std::map<std::tuple<std::string, std::string, std::int64_t>, Sweep> sweeps;
  for (const Record& record : collectives) {
    const auto bytes = whole_axis(record, "bytes"), ranks = whole_axis(record, "ranks");
    if (record.metric.name != "latency" || sample_count(record) == 0 || !bytes || !ranks) continue;
    sweeps[{record.model.name, record.runner, *ranks}].add(record, static_cast<double>(*bytes));
  }
  std::vector<Record> lines;
  for (const auto& [key, sweep] : sweeps) {
    if (!sweep.measured.line()) continue;
    lines.push_back(sweep.record("alpha", "us", &LineFit::intercept));
    lines.push_back(sweep.record("beta", "us/MiB", &LineFit::slope));
  }
  return lines;
}

std::string collective_lines_text(const std::vector<Record>& records) {
  const auto time = [](double us) { return signed_time(us * kNsPerUs); };
  std::string text;
  const Record* alpha = nullptr;
  for (const Record& record : records) {
    if (record.metric.name == "alpha") alpha = &record;
    if (record.metric.name != "beta" || alpha == nullptr) continue;
    text += fmt::format("  {} ranks: {} alone takes {} + {} per MiB (medians of {} sizes, within {})",
                        axis_text(record, "ranks"), name_with_runner(record, records),
                        time(alpha->metric.value), time(record.metric.value), info(record, "sizes"),
                        info(record, "worst error of the line"));
    if (alpha->limit && record.limit)
      text += fmt::format("; its limit {} + {}", time(alpha->limit->value), time(record.limit->value));
    text += "\n";
  }
  return text;
}

View collectives_view(const std::vector<Record>& records) {
  const std::vector<MeasuredCase> rows = measured_cases(records);
  View view;
  answer_unmeasured(view, rows,
                    [](const Record& one) { return one.model.name + " of " + message_size(one); });
  answer_bandwidth(view, rows);
  view.table(collective_time_table(rows, records)).table(percentile_table(rows, records));
  if (view.has_tables()) {
    view.notes(notes_of(rows), Tone::kPlain).notes(collective_lines_text(records), Tone::kPlain);
    view.notes(
        "  time: one call, from a barrier until the slowest rank ends; bandwidths use nccl-tests' "
        "formulas\n");
    if (std::ranges::any_of(records, [](const Record& one) { return one.limit.has_value(); })) {
      view.notes(
          "  limit: sending a rank's bytes to the next rank without a library, over shared memory or "
          "loopback (the faster), in the same rounds\n");
    }
  }
  return view.notes(
      text_of_unmeasured(rows, [](const Record& one) { return one.model.name + " of " + message_size(one); }),
      Tone::kBad);
}

Table collectives_rank_table(const std::vector<Record>& records) {
  return rank_table(measured_cases(records), records, "collective", {{"size", message_size}},
                    {{"p50 of the rank", "rank latency"}});
}

}  // namespace headroom
