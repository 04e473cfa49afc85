// SPDX-License-Identifier: Apache-2.0
#include "headroom/ranks/dispatch/dispatch.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <numeric>

#include "headroom/base/error.h"
#include "headroom/base/json.h"
#include "headroom/base/text.h"
#include "headroom/base/units.h"
#include "headroom/report/case_rows.h"
#include "headroom/report/metric_text.h"
#include "headroom/report/run_view.h"

namespace headroom {
namespace {

constexpr int kMaxDims = 8;

std::string placements_text(const std::vector<PlacementText>& placements) {
  std::vector<std::string> texts;
  for (const PlacementText& placement : placements) texts.push_back(placement_text(placement));
  return join(texts, ",");
}

bool matches_record(const DispatchExpectation& expectation, const Record& record) {
  const auto is = [&](const std::string& wanted, const char* axis) {
    return wanted.empty() || wanted == axis_text(record, axis);
  };
  return record.model.name == expectation.op && record.metric.name == expectation.metric &&
         !record.samples.empty() && is(expectation.mesh, "mesh") &&
         is(expectation.placements, "placements") && is(expectation.shape, "shape") &&
         is(expectation.dtype, "dtype");
}

ExpectationVerdict::Kind kind_of(const DispatchExpectation& expectation, const Record& record) {
  using Kind = ExpectationVerdict::Kind;
  if (!record.interval) return Kind::kInconclusive;
  const double most = expectation.value_us * (1 + expectation.tolerance);
  if (record.interval->low > most) return Kind::kOutside;
  if (record.interval->high > most) return Kind::kInconclusive;
  const bool faster = record.interval->high < expectation.value_us * (1 - expectation.tolerance);
  return faster ? Kind::kFaster : Kind::kWithin;
}

std::string plain_number(const Record* record) {
  return record == nullptr ? "" : fmt::format("{:.0f}", record->metric.value);
}

std::string worst_rank_text(const Record* record) {
  if (record == nullptr || record->samples.size() < 2) return "";
  const std::vector<double> medians = process_medians(*record);
  const auto worst = std::ranges::max_element(medians);
  return fmt::format("rank {}: {}", worst - medians.begin(), signed_time(*worst * kNsPerUs));
}

Table time_table(const std::vector<MeasuredCase>& ops, const std::vector<Record>& records) {
  Table table(Columns()
                  .left({"operator"})
                  .right({"plain ±95 %", "local ±95 %"})
                  .priority(Priority::kFirst)
                  .right({"hit ±95 %", "miss ±95 %"})
                  .priority(Priority::kLast)
                  .shared("cycles", Align::kRight, "cycles")
                  .shared("ranks", Align::kRight, "ranks"));
  for (const MeasuredCase& op : ops) {
    const Record* hit = op.find("hit");
    if (hit == nullptr) continue;
    const std::size_t ranks = hit->samples.size();
    table.row({name_with_runner(*hit, records), metric_time_cell(op.find("plain")),
               metric_time_cell(op.find("local")), metric_time_cell(hit), metric_time_cell(op.find("miss")),
               std::to_string(sample_count(*hit) / ranks), std::to_string(ranks)});
    if (const std::string ratio = ratio_text(*hit); !ratio.empty()) table.line(ratio);
  }
  return table;
}

Table extra_table(const std::vector<MeasuredCase>& ops, const std::vector<Record>& records) {
  Table table(Columns()
                  .left({"distribution adds"})
                  .priority(Priority::kFirst)
                  .right({"hit - local ±95 %", "miss - local ±95 %"})
                  .priority(Priority::kNormal)
                  .right({"miss - hit ±95 %", "worst hit", "worst miss"})
                  .priority(Priority::kLast)
                  .left({"cache of a cycle"}));
  for (const MeasuredCase& op : ops) {
    const Record* hit = op.find("hit");
    if (hit == nullptr) continue;
    const auto cache = hit->model.extra_info.find("cache");
    table.row({name_with_runner(*hit, records), metric_time_cell(op.find("hit over local")),
               metric_time_cell(op.find("miss over local")), metric_time_cell(op.find("propagation")),
               worst_rank_text(hit), worst_rank_text(op.find("miss")),
               cache == hit->model.extra_info.end() ? "" : cache->second});
  }
  return table;
}

Table step_table(const std::vector<MeasuredCase>& ops, const std::vector<Record>& records) {
  Table table(
      Columns().left({"steps, hit / miss"}).right({"key", "look-up", "redistribute", "local", "wrap"}));
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
  Table table(Columns().left({"instructions of a call"}).right({"plain", "local", "hit", "miss"}));
  for (const MeasuredCase& op : ops) {
    if (op.find("instructions hit") == nullptr) continue;
    table.row({name_with_runner(*op.first, records), plain_number(op.find("instructions plain")),
               plain_number(op.find("instructions local")), plain_number(op.find("instructions hit")),
               plain_number(op.find("instructions miss"))});
  }
  return table;
}

std::string verdict_text(ExpectationVerdict::Kind kind) {
  static constexpr const char* kNames[] = {"ok", "faster", "TOO SLOW", "inconclusive", "not measured"};
  return kNames[static_cast<std::size_t>(kind)];
}

Tone verdict_tone(ExpectationVerdict::Kind kind) {
  if (kind == ExpectationVerdict::Kind::kOutside) return Tone::kBad;
  const bool is_good = kind == ExpectationVerdict::Kind::kWithin || kind == ExpectationVerdict::Kind::kFaster;
  return is_good ? Tone::kGood : Tone::kPlain;
}

Table expectation_table(const std::vector<ExpectationVerdict>& verdicts) {
  Table table(Columns()
                  .left({"operator", "metric"})
                  .right({"expected", "at most", "measured ±95 %", "expected / measured"})
                  .left({"verdict"}),
              2);
  for (const ExpectationVerdict& verdict : verdicts) {
    const DispatchExpectation& expected = verdict.expectation;
    const Record* record = verdict.record ? &*verdict.record : nullptr;
    const bool has_ratio = record != nullptr && record->metric.value > 0;
    table.row({expected.op, expected.metric, signed_time(expected.value_us * kNsPerUs),
               signed_time(expected.value_us * (1 + expected.tolerance) * kNsPerUs), metric_time_cell(record),
               has_ratio ? format_number(expected.value_us / record->metric.value) + "x" : "",
               verdict_text(verdict.kind)});
    table.tone(6, verdict_tone(verdict.kind));
  }
  return table;
}

void answer_expectations(View& view, const std::vector<ExpectationVerdict>& verdicts) {
  if (verdicts.empty()) return;
  std::size_t met = 0, inconclusive = 0, unmeasured = 0;
  std::vector<std::string> slow;
  for (const ExpectationVerdict& verdict : verdicts) {
    using Kind = ExpectationVerdict::Kind;
    met += verdict.kind == Kind::kWithin || verdict.kind == Kind::kFaster ? 1 : 0;
    inconclusive += verdict.kind == Kind::kInconclusive ? 1 : 0;
    unmeasured += verdict.kind == Kind::kUnmeasured ? 1 : 0;
    if (verdict.kind == Kind::kOutside)
      slow.push_back(verdict.expectation.op + " " + verdict.expectation.metric);
  }
  std::string text =
      fmt::format("{} of {} expectation{} met", met, verdicts.size(), verdicts.size() == 1 ? " is" : "s are");
  if (!slow.empty()) text += ", too slow: " + join(slow, ", ");
  if (inconclusive > 0) text += fmt::format(", {} inconclusive", inconclusive);
  if (unmeasured > 0) text += fmt::format(", {} not measured", unmeasured);
  view.answer(text, !slow.empty() ? Tone::kBad : met == verdicts.size() ? Tone::kGood : Tone::kPlain);
}

void answer_extra(View& view, const std::vector<MeasuredCase>& ops, const std::vector<Record>& records) {
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
    std::string text = count == 1 ? fmt::format("distribution adds {} to a call of {}", hit, name)
                                  : fmt::format("of {} operators, distribution adds most to {}: {} per call",
                                                count, name, hit);
    text += " on a cache hit";
    if (const Record* miss = most->find("miss over local"))
      text += fmt::format(", {} on a miss", metric_time_with_interval(miss));
    view.answer(text);
  }
  answer_doubts(view, hits, "operators");
}

}  // namespace

PlacementText parse_placement(std::string_view text) {
  std::string lower(trimmed(text));
  std::ranges::transform(lower, lower.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (lower == "r" || lower == "replicate") return {PlacementText::Kind::kReplicate};
  if (lower == "p" || lower == "partial") return {PlacementText::Kind::kPartial};
  for (const std::string_view name : {"shard", "s"}) {
    if (!lower.starts_with(name)) continue;
    std::string_view dim = std::string_view(lower).substr(name.size());
    if (dim.starts_with('(') && dim.ends_with(')')) dim = dim.substr(1, dim.size() - 2);
    const auto number = to_integer(dim);
    if (number && *number >= 0 && *number < kMaxDims) {
      return {PlacementText::Kind::kShard, static_cast<int>(*number)};
    }
  }
  throw Error("a placement is S(dim), R or P, not " + quote(text) +
              "; S(0) shards the rows of a tensor over the ranks, R replicates the tensor");
}

std::string placement_text(const PlacementText& placement) {
  if (placement.kind == PlacementText::Kind::kReplicate) return "R";
  if (placement.kind == PlacementText::Kind::kPartial) return "P";
  return fmt::format("S({})", placement.dim);
}

void require_fit(const DispatchSetup& setup, int ranks) {
  const auto product = std::accumulate(setup.mesh.begin(), setup.mesh.end(), 1LL, std::multiplies<>());
  if (product != ranks) {
    throw Error(fmt::format("a mesh of {} has {} ranks, but there {} {}: change --mesh or --ranks",
                            fmt::join(setup.mesh, "x"), product, is_or_are(static_cast<std::size_t>(ranks)),
                            ranks));
  }
  if (setup.placements.size() != setup.mesh.size()) {
    throw Error(fmt::format("{} placement(s) ({}) for a mesh of {} dimension(s): give one for each",
                            setup.placements.size(), placements_text(setup.placements), setup.mesh.size()));
  }
  for (const PlacementText& placement : setup.placements) {
    if (placement.kind != PlacementText::Kind::kShard) continue;
    if (placement.dim < static_cast<int>(setup.shape.size())) continue;
    throw Error(fmt::format(
        "the placement S({}) shards dimension {} of a tensor of shape {}, which has dimensions 0 to {}",
        placement.dim, placement.dim, fmt::join(setup.shape, "x"), setup.shape.size() - 1));
  }
}

AxisTexts axes_of(const DispatchSetup& setup) {
  return {{"mesh", fmt::format("{}", fmt::join(setup.mesh, "x"))},
          {"placements", placements_text(setup.placements)},
          {"shape", fmt::format("{}", fmt::join(setup.shape, "x"))},
          {"dtype", setup.dtype},
          {"repeats", std::to_string(setup.repeats)}};
}

DispatchSetup dispatch_setup_of(const std::function<std::string(const char* axis)>& axis) {
  DispatchSetup setup;
  setup.mesh.clear();
  for (const std::int64_t size : parse_grid(axis("mesh"), "mesh", 1))
    setup.mesh.push_back(static_cast<int>(size));
  setup.placements.clear();
  // In an axis request, commas separate values.
  std::string placements = axis("placements");
  std::ranges::replace(placements, 'x', ',');
  for (const std::string& text : split(placements, ',')) setup.placements.push_back(parse_placement(text));
  setup.shape = parse_grid(axis("shape"), "shape", 1);
  setup.dtype = axis("dtype");
  constexpr std::int64_t kMaxRepeats = 100'000;
  const auto repeats = to_integer(axis("repeats"));
  if (!repeats || *repeats < 1 || *repeats > kMaxRepeats)
    throw Error("repeats " + quote(axis("repeats")) + ": expected a number from 1 to 100000");
  setup.repeats = static_cast<int>(*repeats);
  return setup;
}

std::vector<std::int64_t> parse_grid(std::string_view text, std::string_view what, std::int64_t least) {
  std::vector<std::int64_t> sizes;
  for (const std::string& part : split(std::string(text), 'x')) {
    const auto size = to_integer(trimmed(part));
    if (!size || *size < least || *size > 1'000'000'000) {
      throw Error(fmt::format("{} {}: expected sizes of at least {}, joined by x, such as 2x2", what,
                              quote(text), least));
    }
    sizes.push_back(*size);
  }
  return sizes;
}

std::vector<Record> dispatch_records(std::vector<Record> records) {
  for (Record& record : records) {
    if (record.model.name.starts_with(kDispatchPrefix))
      record.model.name.erase(0, std::string_view(kDispatchPrefix).size());
    record.model.type = "operator dispatch";
    record.instrument = Instrument::kDispatch;
    record.device = record.model.backend == "nccl" ? "cuda" : "cpu";
    record.model.backend = "dtensor";
    if (record.metric.name == "latency") record.metric.name = "hit";
    std::erase_if(record.axes, [](const auto& axis) { return axis.first == "repeats"; });
  }
  return records;
}

std::vector<DispatchExpectation> pytorch_dispatch_expectations() {
  return parse_dispatch_expectations(kShippedDispatchExpectations, "data/dispatch_pytorch.toml");
}

std::vector<ExpectationVerdict> judge_expectations(const std::vector<DispatchExpectation>& expectations,
                                                   const std::vector<Record>& records) {
  std::vector<ExpectationVerdict> verdicts;
  for (const DispatchExpectation& expectation : expectations) {
    ExpectationVerdict verdict;
    verdict.expectation = expectation;
    const auto found = std::ranges::find_if(
        records, [&](const Record& record) { return matches_record(expectation, record); });
    if (found != records.end()) {
      verdict.kind = kind_of(expectation, *found);
      verdict.record = *found;
      verdict.record->samples.clear();
    }
    verdicts.push_back(std::move(verdict));
  }
  return verdicts;
}

std::vector<DispatchExpectation> updated_expectations(std::vector<DispatchExpectation> expectations,
                                                      const std::vector<Record>& records) {
  for (const Record& record : records) {
    if (record.samples.empty() || record.metric.value <= 0) continue;
    const auto known = std::ranges::find_if(
        expectations, [&](const DispatchExpectation& e) { return matches_record(e, record); });
    if (known != expectations.end()) {
      known->value_us = record.metric.value;
    } else if (record.metric.name == "hit" || record.metric.name == "propagation") {
      DispatchExpectation expectation;
      expectation.op = record.model.name;
      expectation.metric = record.metric.name;
      expectation.mesh = axis_text(record, "mesh");
      expectation.placements = axis_text(record, "placements");
      expectation.shape = axis_text(record, "shape");
      expectation.dtype = axis_text(record, "dtype");
      expectation.value_us = record.metric.value;
      expectations.push_back(std::move(expectation));
    }
  }
  return expectations;
}

View dispatch_view(const std::vector<Record>& records, const std::vector<ExpectationVerdict>& verdicts) {
  const std::vector<MeasuredCase> ops = measured_cases(records);
  View view;
  answer_expectations(view, verdicts);
  answer_unmeasured(view, ops, [](const Record& one) { return one.model.name; });
  answer_extra(view, ops, records);
  for (const Table& table : {time_table(ops, records), extra_table(ops, records), step_table(ops, records),
                             instruction_table(ops, records)})
    view.table(table);
  if (view.has_tables()) {
    view.notes(
        "  times are per call: medians over the cycles of all ranks; on a miss, look-up includes "
        "propagation\n");
  }
  for (const Record& record : records) {
    const auto why = record.model.extra_info.find(kNoInstructionsKey);
    if (why == record.model.extra_info.end()) continue;
    view.notes("  no instructions: " + why->second + "\n");
    break;
  }
  view.notes(text_of_unmeasured(ops, [](const Record& one) { return one.model.name; }), Tone::kBad);
  return view.table(expectation_table(verdicts));
}

Table dispatch_rank_table(const std::vector<Record>& records) {
  return rank_table(measured_cases(records), records, "operator", {},
                    {{"hit", "hit"}, {"miss", "miss"}, {"local", "local"}, {"plain", "plain"}});
}

}  // namespace headroom
