// SPDX-License-Identifier: Apache-2.0
#include "headroom/ranks/ddp/ddp_scaling.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <vector>

#include "headroom/base/text.h"
#include "headroom/base/units.h"

namespace headroom {
namespace {

/// The case without its rank count, and what else tells series apart.
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

/// The comparisons of one series, by rank count.
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

}  // namespace

Table scaling_table(const DiffReport& report) {
  Table table({{"scaling"},
               {"ranks", Align::kRight},
               {"efficiency, baseline", Align::kRight},
               {"test", Align::kRight},
               {"points", Align::kRight},
               {"rank skew, baseline", Align::kRight},
               {"test", Align::kRight}},
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

}  // namespace headroom
