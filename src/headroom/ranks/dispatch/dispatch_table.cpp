// SPDX-License-Identifier: Apache-2.0
#include "headroom/ranks/dispatch/dispatch_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "headroom/base/text.h"
#include "headroom/base/units.h"
#include "headroom/report/measured_case.h"
#include "headroom/report/metric_text.h"
#include "headroom/report/run_sheet.h"

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
               {"cycles", Align::kRight, "cycles"},
               {"ranks", Align::kRight, "ranks"}});
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

Tone verdict_tone(ExpectationVerdict::Kind kind) {
  if (kind == ExpectationVerdict::Kind::kOutside) return Tone::kBad;
  const bool is_good = kind == ExpectationVerdict::Kind::kWithin || kind == ExpectationVerdict::Kind::kFaster;
  return is_good ? Tone::kGood : Tone::kPlain;
}

Table expectation_table(const std::vector<ExpectationVerdict>& verdicts) {
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
    table.tone(6, verdict_tone(verdict.kind));
  }
  return table;
}

void answer_expectations(Sheet& sheet, const std::vector<ExpectationVerdict>& verdicts) {
  if (verdicts.empty()) return;
  std::size_t met = 0, unclear = 0, unmeasured = 0;
  std::vector<std::string> slow;
  for (const ExpectationVerdict& verdict : verdicts) {
    using Kind = ExpectationVerdict::Kind;
    met += verdict.kind == Kind::kWithin || verdict.kind == Kind::kFaster ? 1 : 0;
    unclear += verdict.kind == Kind::kUnclear ? 1 : 0;
    unmeasured += verdict.kind == Kind::kUnmeasured ? 1 : 0;
    if (verdict.kind == Kind::kOutside)
      slow.push_back(verdict.expectation.op + " " + verdict.expectation.metric);
  }
  std::string text =
      fmt::format("{} of {} expectation{} met", met, verdicts.size(), verdicts.size() == 1 ? " is" : "s are");
  if (!slow.empty()) text += ", too slow: " + join(slow, ", ");
  if (unclear > 0) text += fmt::format(", {} unclear", unclear);
  if (unmeasured > 0) text += fmt::format(", {} not measured", unmeasured);
  sheet.answer(text, !slow.empty() ? Tone::kBad : met == verdicts.size() ? Tone::kGood : Tone::kPlain);
}

/// What distribution adds to a call: of the one operator, or of that to which it adds most.
void answer_extra(Sheet& sheet, const std::vector<MeasuredCase>& ops, const std::vector<Record>& records) {
  const MeasuredCase* most = nullptr;
  std::size_t count = 0;
  std::vector<const Record*> hits;
  for (const MeasuredCase& op : ops) {
    if (const Record* hit = op.find("hit")) hits.push_back(hit);
    const Record* extra = op.find("hit over local");
    if (extra == nullptr) continue;
    ++count;
    if (most == nullptr || extra->metric.value > most->find("hit over local")->metric.value) most = &op;
  }
  if (most != nullptr) {
    const std::string name = name_with_runner(*most->first, records);
    const std::string hit = metric_time_with_interval(most->find("hit over local"));
    std::string text =
        count == 1 ? fmt::format("distribution adds {} to a call of {}", hit, name)
                   : fmt::format("of {} operators distribution adds most to {}: {} a call", count, name, hit);
    text += " whose layout is cached";
    if (const Record* miss = most->find("miss over local"))
      text += fmt::format(", {} to one whose is not", metric_time_with_interval(miss));
    sheet.answer(text);
  }
  answer_doubts(sheet, hits, "operators");
}

}  // namespace

Sheet dispatch_sheet(const std::vector<Record>& records, const std::vector<ExpectationVerdict>& verdicts) {
  const std::vector<MeasuredCase> ops = measured_cases(records);
  Sheet sheet;
  answer_expectations(sheet, verdicts);
  answer_unmeasured(sheet, ops, [](const Record& one) { return one.model.name; });
  answer_extra(sheet, ops, records);
  for (const Table& table : {time_table(ops, records), extra_table(ops, records), step_table(ops, records),
                             instruction_table(ops, records)})
    sheet.table(table);
  if (sheet.has_tables()) {
    sheet.notes(
        "  times are of one call: medians over the cycles of all ranks; steps of a miss have the propagation "
        "in look-up\n");
  }
  for (const Record& record : records) {
    const auto why = record.model.extra_info.find(kNoInstructionsKey);
    if (why == record.model.extra_info.end()) continue;
    sheet.notes("  no instructions: " + why->second + "\n");
    break;
  }
  sheet.notes(text_of_unmeasured(ops, [](const Record& one) { return one.model.name; }), Tone::kBad);
  return sheet.table(expectation_table(verdicts));
}

Table dispatch_rank_table(const std::vector<Record>& records) {
  return rank_table(measured_cases(records), records, "operator", {},
                    {{"hit", "hit"}, {"miss", "miss"}, {"local", "local"}, {"plain", "plain"}});
}

}  // namespace headroom
