// SPDX-License-Identifier: Apache-2.0
#include "headroom/ranks/collectives/collectives_records.h"

#include <fmt/format.h>

#include <map>
#include <optional>
#include <tuple>

#include "headroom/base/units.h"
#include "headroom/stats/interval.h"
#include "headroom/stats/line_fit.h"
#include "headroom/stats/quantile.h"

namespace headroom {
namespace {

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

/// Times by size, of a collective or of its limit.
struct Points {
  std::vector<double> mebibytes, us;

  std::optional<LineFit> line() const { return fit_line(mebibytes, us); }
};

/// The sizes of one collective by one runner on so many ranks.
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

  /// One of the two numbers of the line.
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

}  // namespace

std::vector<Record> collective_records(std::vector<Record> records) {
  std::vector<Record> all;
  for (Record& record : records) {
    record.model.type = "collective";
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

}  // namespace headroom
