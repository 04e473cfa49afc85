// SPDX-License-Identifier: Apache-2.0
#include "headroom/record/formats.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "headroom/base/error.h"
#include "headroom/base/json_codec.h"
#include "headroom/record/formats/file_outline.h"
#include "headroom/record/formats/tool_files.h"
#include "headroom/record/metric_direction.h"

namespace headroom {
namespace {

constexpr std::array<std::string_view, 3> kMetricKeys{"value", "lower_value", "upper_value"};

/// Units of Bencher's built-in measures, by their slugs.
std::string unit_of_measure(std::string_view measure) {
  constexpr std::array<std::pair<std::string_view, const char*>, 4> kUnits{
      {{"latency", "ns"}, {"throughput", "ops/s"}, {"build-time", "s"}, {"file-size", "B"}}};
  const auto found = std::ranges::find(kUnits, measure, [](const auto& entry) { return entry.first; });
  return found == kUnits.end() ? "" : found->second;
}

/// {"benchmark": {"measure": {"value": 1}}} has no other mark.
bool is_bencher(const FileOutline& outline) {
  return outline.starts_with_object() && outline.deepest().contains("value") &&
         std::ranges::all_of(outline.deepest(), [](const std::string& key) {
           return std::ranges::find(kMetricKeys, key) != kMetricKeys.end();
         });
}

std::vector<Record> read_bencher(const PaddedText& text, const std::string& source) {
  const Json document = parse_tool_json(text.view(), source);
  std::vector<Record> records;
  for (const auto& [benchmark, measures] : require_object(document, source).items()) {
    const std::string where = fmt::format("{}: /{}", source, benchmark);
    require_object(measures, where);
    const bool has_latency = measures.contains("latency");
    for (const auto& [measure, metric] : measures.items()) {
      const std::string unit = unit_of_measure(measure);
      Record record = tool_record("Bencher", benchmark, measure, unit, guessed_direction(measure, unit));
      record.metric.headline =
          has_latency ? measure == "latency" : &metric == &measures.items().front().second;
      set_value(record, finite_number(metric, "value", where + "/" + measure));
      records.push_back(std::move(record));
    }
  }
  if (records.empty()) throw Error(source + ": has no measures; there is nothing to read");
  return records;
}

}  // namespace

/// Bencher Metric Format. Bounds are not read: it does not say what they are.
Format bmf_format() {
  return {.name = "bmf",
          .summary = "Bencher Metric Format, JSON",
          .write = write_bmf,
          .recognises = is_bencher,
          .read = read_bencher,
          .one_run = true};
}

}  // namespace headroom
