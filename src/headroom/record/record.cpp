// SPDX-License-Identifier: Apache-2.0
#include "headroom/record/record.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "headroom/base/units.h"
#include "headroom/stats/quantile.h"

namespace headroom {

Record::Record() = default;
Record::Record(const Record& other) = default;
Record::Record(Record&& other) noexcept = default;
Record& Record::operator=(const Record& other) = default;
Record& Record::operator=(Record&& other) noexcept = default;
Record::~Record() = default;

Environment::Environment() = default;
Environment::Environment(const Environment& other) = default;
Environment::Environment(Environment&& other) noexcept = default;
Environment& Environment::operator=(const Environment& other) = default;
Environment& Environment::operator=(Environment&& other) noexcept = default;
Environment::~Environment() = default;

std::string case_name(const Record& record) {
  std::string name = record.model.name;
  for (const auto& [axis, value] : record.axes) name += " " + axis + "=" + value.text();
  return name;
}

std::string limit_name(const Limit& limit) {
  std::string name;
  for (const LimitPart& part : limit.parts) {
    name += (name.empty() ? "" : " + ") + part.kind;
    if (!part.dtype.empty()) name += " " + part.dtype;
    if (part.bytes > 0) name += " " + format_bytes(static_cast<double>(part.bytes));
    if (!part.pattern.empty()) name += " " + part.pattern;
  }
  const int threads = limit.parts.empty() ? 0 : limit.parts.front().threads;
  if (threads > 0) name += fmt::format(", {} thread{}", threads, threads == 1 ? "" : "s");
  return name;
}

const AxisValue* axis(const Record& record, std::string_view name) {
  const auto found = std::ranges::find(record.axes, name, &AxisValues::value_type::first);
  return found == record.axes.end() ? nullptr : &found->second;
}

std::string axis_text(const Record& record, std::string_view name) {
  const AxisValue* value = axis(record, name);
  return value == nullptr ? "" : value->text();
}

std::optional<std::int64_t> whole_axis(const Record& record, std::string_view name) {
  const AxisValue* value = axis(record, name);
  return value == nullptr ? std::nullopt : value->integer();
}

std::span<const double> steady(const ProcessSamples& process) {
  return std::span(process.values).subspan(std::min(process.warmup, process.values.size()));
}

std::vector<double> steady_values(const Record& record, double factor) {
  std::vector<double> values;
  values.reserve(sample_count(record));
  for (const ProcessSamples& process : record.samples) {
    for (const double value : steady(process)) values.push_back(value * factor);
  }
  return values;
}

std::vector<std::size_t> steady_sizes(const Record& record) {
  std::vector<std::size_t> sizes;
  for (const ProcessSamples& process : record.samples) {
    if (const std::size_t size = steady(process).size(); size > 0) sizes.push_back(size);
  }
  return sizes;
}

Series steady(const Record& record, double factor) {
  Series series;
  series.values = steady_values(record, factor);
  series.group_sizes = steady_sizes(record);
  const bool in_rounds = std::ranges::all_of(record.samples, [](const ProcessSamples& process) {
    return process.rounds.size() == process.values.size();
  });
  for (const ProcessSamples& process : record.samples) {
    if (!in_rounds) break;
    series.rounds.insert(series.rounds.end(), process.rounds.end() - std::ssize(steady(process)),
                         process.rounds.end());
  }
  return series;
}

void estimate(Record& record) {
  if (const auto found = estimate(steady(record))) {
    record.metric.value = found->median;
    record.interval = found->interval;
  }
}

std::size_t sample_count(const Record& record) {
  std::size_t count = 0;
  for (const ProcessSamples& process : record.samples) count += steady(process).size();
  return count;
}

std::vector<double> process_medians(const Record& record) {
  std::vector<double> medians;
  for (const ProcessSamples& process : record.samples) {
    const std::span<const double> values = steady(process);
    const bool usable =
        !values.empty() && std::ranges::all_of(values, [](double v) { return std::isfinite(v); });
    medians.push_back(usable ? median(values) : std::numeric_limits<double>::quiet_NaN());
  }
  return medians;
}

bool any_outcome(std::span<const Record> records, Outcome::Kind kind) {
  return std::ranges::any_of(records, [&](const Record& record) { return record.outcome.kind == kind; });
}

}  // namespace headroom
