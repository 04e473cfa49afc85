// SPDX-License-Identifier: Apache-2.0
// Formats of dashboards, which follow one number of each case from commit to commit: OpenMetrics, Bencher's
// and those of github-action-benchmark. The dashboard knows the commit, so the axis "commit" of `headroom ab
// --git` is no part of a name. Of several results of one name the last counts: the newest commit or run.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <utility>

#include "headroom/base/json.h"
#include "headroom/base/text.h"
#include "headroom/base/units.h"
#include "headroom/record/formats.h"
#include "headroom/record/formats/tool_files.h"

namespace headroom {
namespace {

/// Names are untrusted.
std::string plotted_name(std::string text) {
  std::ranges::replace(text, '\n', ' ');
  std::ranges::replace(text, '\t', ' ');
  return visible(text);
}

using Labels = std::vector<std::pair<const char*, std::string>>;

/// Identifies the result among those of its metric.
Labels series_labels(const Record& record) {
  Record named;
  named.model.name = record.model.name;
  std::ranges::copy_if(record.axes, std::back_inserter(named.axes),
                       [](const auto& axis) { return axis.first != "commit"; });
  Labels labels{{"case", plotted_name(case_name(named))}};
  const auto add = [&](const char* label, const std::string& text, std::string_view usual) {
    if (text != usual) labels.emplace_back(label, plotted_name(text));
  };
  add("backend", record.model.backend, "");
  add("runner", record.runner, record.model.backend);
  add("device", record.device.empty() ? "cpu" : record.device, "cpu");
  add("caches", record.caches, "");
  add("threads", std::to_string(record.threads), "0");
  return labels;
}

/// Returns "gemv D=4096 backend=native threads=8".
std::string series_name(const Record& record) {
  std::string name;
  for (const auto& [label, text] : series_labels(record))
    name += name.empty() ? text : fmt::format(" {}={}", label, text);
  return name;
}

bool is_plotted(const Record& record) {
  return record.outcome.kind == Outcome::Kind::kMeasured && std::isfinite(record.metric.value);
}

constexpr std::string_view kPlottedLatency = "latency", kSeconds = "seconds";

/// What OpenMetrics asks for.
struct BaseUnit {
  std::string_view unit, base;
  double factor;
};
constexpr BaseUnit kBaseUnits[] = {
    {"s", kSeconds, 1},
    {"ms", kSeconds, 1e-3},
    {"us", kSeconds, 1e-6},
    {"µs", kSeconds, 1e-6},
    {"ns", kSeconds, 1e-9},
    {"B", "bytes", 1},
    {"1", "", 1},
    {"", "", 1},
    {"GB/s", "bytes_per_second", 1e9},
};

/// nullptr: another.
const BaseUnit* base_unit(const Record& record) {
  const auto* known = std::ranges::find(kBaseUnits, record.metric.unit, &BaseUnit::unit);
  return known == std::end(kBaseUnits) ? nullptr : known;
}

/// Returns only letters, digits and single underscores.
std::string gauge_word(std::string_view text) {
  std::string word;
  for (const char c : text) {
    const bool fits = is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (fits) {
      word += c;
    } else if (!word.empty() && word.back() != '_') {
      word += '_';
    }
  }
  while (word.ends_with('_')) word.pop_back();
  return word;
}

std::string label_text(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\' || c == '"') out += '\\';
    out += c;
  }
  return out;
}

/// Text format 1.0 of OpenMetrics: a family of gauges for each metric.
std::string write_openmetrics(const std::vector<Record>& records, std::string_view, const std::string&) {
  struct Family {
    std::string unit, help;
    std::map<std::string, double> samples;  ///< by labels
  };
  std::map<std::string, Family> families;
  for (const Record& record : records) {
    if (!is_plotted(record)) continue;
    const BaseUnit* known = base_unit(record);
    const std::string unit = known != nullptr ? std::string(known->base) : gauge_word(record.metric.unit);
    std::string name = "headroom_" + gauge_word(record.metric.name);
    if (!unit.empty() && !name.ends_with("_" + unit)) name += "_" + unit;  // required
    std::string labels;
    for (const auto& [label, text] : series_labels(record))
      labels += fmt::format("{}{}=\"{}\"", labels.empty() ? "" : ",", label, label_text(text));
    Family& family =
        families.try_emplace(name, Family{unit, plotted_name(record.metric.name), {}}).first->second;
    family.samples[labels] = record.metric.value * (known != nullptr ? known->factor : 1);
  }
  std::string out;
  for (const auto& [name, family] : families) {
    out += fmt::format("# TYPE {} gauge\n", name);
    if (!family.unit.empty()) out += fmt::format("# UNIT {} {}\n", name, family.unit);
    out += fmt::format("# HELP {} Median of {} by case.\n", name, label_text(family.help));
    for (const auto& [labels, value] : family.samples)
      out += fmt::format("{}{{{}}} {}\n", name, labels, value);
  }
  return out + "# EOF\n";
}

/// Latencies and headlines only, as that action alerts on every worse number of its file.
template <Direction kDirection>
std::string write_action_benchmark(const std::vector<Record>& records, std::string_view, const std::string&) {
  std::map<std::string, Json> charts;
  for (const Record& record : records) {
    const bool is_latency = record.metric.name == kPlottedLatency;
    const bool is_shown = is_latency || record.metric.headline;
    if (!is_plotted(record) || record.metric.direction != kDirection || !is_shown) continue;
    const std::string name = series_name(record) + (is_latency ? "" : " " + plotted_name(record.metric.name));
    Json chart{{"name", name}, {"unit", plotted_name(record.metric.unit)}, {"value", record.metric.value}};
    if (record.interval)
      chart["range"] = fmt::format("± {:.3g}", (record.interval->high - record.interval->low) / 2);
    if (!record.samples.empty())
      chart["extra"] = fmt::format("median of {}", counted(sample_count(record), "sample"));
    charts[name] = std::move(chart);
  }
  Json list = Json::array();
  for (auto& [name, chart] : charts) list.push_back(std::move(chart));
  return dump_json_pretty(list) + "\n";
}

}  // namespace

/// "latency" is in ns; other measures have their unit in the name. Bencher refuses
/// longer names.
std::string write_bmf(const std::vector<Record>& records, std::string_view, const std::string&) {
  constexpr std::size_t kMaxName = 1024, kMaxMeasure = 64;
  std::map<std::string, std::map<std::string, Json>> benchmarks;
  for (const Record& record : records) {
    if (!is_plotted(record)) continue;
    const std::string &name = record.metric.name, &unit = record.metric.unit;
    const BaseUnit* known = base_unit(record);
    const bool is_latency = name == kPlottedLatency && known != nullptr && known->base == kSeconds;
    const double factor = is_latency ? known->factor * kNsPerSecond : 1;
    const bool names_unit =
        is_latency || unit.empty() || unit == "1" || name == unit || name.ends_with("(" + unit + ")");
    Json metric{{"value", record.metric.value * factor}};
    if (record.interval) {
      metric["lower_value"] = record.interval->low * factor;
      metric["upper_value"] = record.interval->high * factor;
    }
    const std::string measure = plotted_name(names_unit ? name : fmt::format("{} ({})", name, unit));
    benchmarks[abridged(series_name(record), kMaxName)][abridged(measure, kMaxMeasure)] = std::move(metric);
  }
  return dump_json_pretty(benchmarks) + "\n";
}

Format openmetrics_format() {
  return {.name = "openmetrics",
          .summary = "OpenMetrics text, for Prometheus and GitLab",
          .write = write_openmetrics};
}

/// Named as the action's `tool`, which says what is better.
Format smaller_is_better_format() {
  return {.name = "customSmallerIsBetter",
          .summary = "JSON for github-action-benchmark",
          .write = write_action_benchmark<Direction::kLowerIsBetter>};
}

Format bigger_is_better_format() {
  return {.name = "customBiggerIsBetter",
          .summary = "JSON for github-action-benchmark",
          .write = write_action_benchmark<Direction::kHigherIsBetter>};
}

}  // namespace headroom
