// SPDX-License-Identifier: Apache-2.0
#include "headroom/ranks/dispatch/dispatch_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "headroom/base/table.h"
#include "headroom/base/text.h"
#include "headroom/base/units.h"
#include "headroom/report/measured_case.h"
#include "headroom/report/metric_text.h"

namespace headroom {
namespace {

std::string plain_number(const Record* record) {
  return record == nullptr ? "" : fmt::format("{:.0f}", record->metric.value);
}

/// "rank 2: 6.10 µs".
std::string worst_rank(const Record* record) {
  if (record == nullptr || record->samples.size() < 2) return "";
  const std::vector<double> medians = process_medians(*record);
  const auto worst = std::ranges::max_element(medians);
  return fmt::format("rank {}: {}", worst - medians.begin(), signed_time(*worst * kNsPerUs));
}

Table time_table(const std::vector<MeasuredCase>& ops, const std::vector<Record>& records) {
  Table table({{"operator"},
               {"plain ±95 %", Align::kRight},
               {"local ±95 %", Align::kRight},
               {"hit ±95 %", Align::kRight},
               {"miss ±95 %", Align::kRight},
               {"cycles", Align::kRight},
               {"ranks", Align::kRight}});
  for (const MeasuredCase& op : ops) {
    const Record* hit = op.find("hit");
    if (hit == nullptr) continue;
    const std::size_t ranks = hit->samples.size();
    table.row({name_with_runner(*hit, records), metric_time_with_interval(op.find("plain")),
               metric_time_with_interval(op.find("local")), metric_time_with_interval(hit),
               metric_time_with_interval(op.find("miss")), std::to_string(sample_count(*hit) / ranks),
               std::to_string(ranks)});
    if (const std::string ratio = ratio_text(*hit); !ratio.empty()) table.line(ratio);
  }
  return table;
}

Table extra_table(const std::vector<MeasuredCase>& ops, const std::vector<Record>& records) {
  Table table({{"distribution adds"},
               {"hit - local ±95 %", Align::kRight},
               {"miss - local ±95 %", Align::kRight},
               {"miss - hit ±95 %", Align::kRight},
               {"worst hit", Align::kRight},
               {"worst miss", Align::kRight},
               {"cache of a cycle"}});
  for (const MeasuredCase& op : ops) {
    const Record* hit = op.find("hit");
    if (hit == nullptr) continue;
    const auto cache = hit->model.extra_info.find("cache");
    table.row({name_with_runner(*hit, records), metric_time_with_interval(op.find("hit over local")),
               metric_time_with_interval(op.find("miss over local")),
               metric_time_with_interval(op.find("propagation")), worst_rank(hit),
               worst_rank(op.find("miss")), cache == hit->model.extra_info.end() ? "" : cache->second});
  }
  return table;
}

Table step_table(const std::vector<MeasuredCase>& ops, const std::vector<Record>& records) {
  Table table({{"steps, hit / miss"},
               {"key", Align::kRight},
               {"look-up", Align::kRight},
               {"redistribute", Align::kRight},
               {"local", Align::kRight},
               {"wrap", Align::kRight}});
  for (const MeasuredCase& op : ops) {
    if (op.find("hit key") == nullptr) continue;
    std::vector<std::string> cells{name_with_runner(*op.first, records)};
    for (const char* step : {"key", "look-up", "redistribute", "local", "wrap"}) {
      const Record *hit = op.find(std::string("hit ") + step), *miss = op.find(std::string("miss ") + step);
      cells.push_back(hit == nullptr || miss == nullptr ? "" : metric_time(hit) + " / " + metric_time(miss));
    }
    table.row(std::move(cells));
  }
  return table;
}

Table instruction_table(const std::vector<MeasuredCase>& ops, const std::vector<Record>& records) {
  Table table({{"instructions of a call"},
               {"plain", Align::kRight},
               {"local", Align::kRight},
               {"hit", Align::kRight},
               {"miss", Align::kRight}});
  for (const MeasuredCase& op : ops) {
    if (op.find("instructions hit") == nullptr) continue;
    table.row({name_with_runner(*op.first, records), plain_number(op.find("instructions plain")),
               plain_number(op.find("instructions local")), plain_number(op.find("instructions hit")),
               plain_number(op.find("instructions miss"))});
  }
  return table;
}

std::string verdict_text(ExpectationVerdict::Kind kind) {
  switch (kind) {
    case ExpectationVerdict::Kind::kWithin:
      return "ok";
    case ExpectationVerdict::Kind::kFaster:
      return "faster";
    case ExpectationVerdict::Kind::kOutside:
      return "TOO SLOW";
    case ExpectationVerdict::Kind::kUnclear:
      return "unclear";
    case ExpectationVerdict::Kind::kUnmeasured:
      break;
  }
  return "not measured";
}

}  // namespace

std::string dispatch_report(const std::vector<Record>& records, std::size_t width) {
  const std::vector<MeasuredCase> ops = measured_cases(records);
  std::string text;
  for (const Table& table : {time_table(ops, records), extra_table(ops, records), step_table(ops, records),
                             instruction_table(ops, records)}) {
    if (table.size() > 0) text += (text.empty() ? "" : "\n") + table.text(width);
  }
  if (!text.empty()) {
    text +=
        "  times are of one call: medians over the cycles of all ranks; steps of a miss have the propagation "
        "in "
        "look-up\n";
  }
  return text + text_of_unmeasured(ops, [](const Record& one) { return one.model.name; });
}

std::string dispatch_rank_report(const std::vector<Record>& records, std::size_t width) {
  return rank_table_text(measured_cases(records), records, "operator", {},
                         {{"hit", "hit"}, {"miss", "miss"}, {"local", "local"}, {"plain", "plain"}}, width);
}

std::string expectation_report(const std::vector<ExpectationVerdict>& verdicts, std::size_t width) {
  Table table({{"operator"},
               {"metric"},
               {"expected", Align::kRight},
               {"at most", Align::kRight},
               {"measured ±95 %", Align::kRight},
               {"expected / measured", Align::kRight},
               {"verdict"}},
              2);
  for (const ExpectationVerdict& verdict : verdicts) {
    const DispatchExpectation& expected = verdict.expectation;
    const Record* record = verdict.record ? &*verdict.record : nullptr;
    const bool has_ratio = record != nullptr && record->metric.value > 0;
    table.row({expected.op, expected.metric, signed_time(expected.value_us * kNsPerUs),
               signed_time(expected.value_us * (1 + expected.tolerance) * kNsPerUs),
               metric_time_with_interval(record),
               has_ratio ? format_number(expected.value_us / record->metric.value) + "x" : "",
               verdict_text(verdict.kind)});
  }
  return table.text(width);
}

}  // namespace headroom
