// SPDX-License-Identifier: Apache-2.0
#include "headroom/command/command_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>

#include "headroom/base/text.h"
#include "headroom/base/units.h"
#include "headroom/compare/verdict.h"
#include "headroom/record/disturbance.h"
#include "headroom/report/case_rows.h"
#include "headroom/report/metric_text.h"
#include "headroom/report/run_sheet.h"
#include "headroom/stats/interval.h"

namespace headroom {
namespace {

/// The records of one command, by metric.
struct CommandRow {
  const Record* latency = nullptr;
  std::map<std::string, const Record*> metrics;

  std::optional<double> value(const std::string& metric) const {
    const auto found = metrics.find(metric);
    return found == metrics.end() ? std::nullopt : std::optional(found->second->metric.value);
  }
};

/// Each command's records begin with its latency.
std::vector<CommandRow> command_rows(const std::vector<Record>& records) {
  std::vector<CommandRow> rows;
  for (const Record& record : records) {
    if (record.metric.name == "latency") rows.push_back({&record, {}});
    if (!rows.empty()) rows.back().metrics.emplace(record.metric.name, &record);
  }
  return rows;
}

std::string title_of(const Record& record) {
  const auto title = record.model.extra_info.find("title");
  return title == record.model.extra_info.end() ? case_name(record) : title->second;
}

std::string time_text(const CommandRow& row, const char* metric) {
  const auto seconds = row.value(metric);
  return seconds ? format_time_ns(*seconds * 1e9) : "";
}

std::string count_text(const CommandRow& row, const char* metric) {
  const auto count = row.value(metric);
  if (!count) return "";
  // A median of counts is whole or a half, and three digits of a small one are all of it.
  return *count < 1e5 ? fmt::format("{:g}", *count) : format_number(*count);
}

/// "≤ 8 MiB" where the kernel counted what headroom occupied, and the command took no more.
std::string peak_text(const CommandRow& row) {
  const auto found = row.metrics.find("peak_memory");
  if (found == row.metrics.end()) return "";
  const Record& record = *found->second;
  return (record.metric.extra_info.contains("at_most") ? "≤ " : "") + format_bytes(record.metric.value);
}

std::string faults_text(const CommandRow& row) {
  const auto major = row.value("major_faults");
  return count_text(row, "page_faults") + (major && *major > 0 ? fmt::format(" ({} major)", *major) : "");
}

std::string verdict_text(const Comparison& comparison) {
  switch (comparison.verdict) {
    case Verdict::kRegression:
      return "slower";
    case Verdict::kImprovement:
      return "faster";
    case Verdict::kSame:
      return "the same within " + format_percent(comparison.margin);
    case Verdict::kUnderpowered:
      return "too few runs to tell";
    default:
      break;
  }
  if (!told_apart(comparison)) return "not told apart";
  return fmt::format("{}, perhaps by less than {}", comparison.ratio->ratio > 1 ? "slower" : "faster",
                     format_percent(comparison.margin));
}

Tone verdict_tone(const Comparison& comparison) {
  if (comparison.verdict == Verdict::kRegression) return Tone::kBad;
  return comparison.verdict == Verdict::kImprovement ? Tone::kGood : Tone::kPlain;
}

/// "1.031 x the time of sort a (95 % interval 1.025 to 1.037): slower".
std::string ratio_line(const Comparison& comparison) {
  if (!comparison.ratio) return "";
  const RatioEstimate& ratio = *comparison.ratio;
  const std::string interval = ratio.interval ? fmt::format("95 % interval {:.3f} to {:.3f}",
                                                            ratio.interval->low, ratio.interval->high)
                                              : "too few pairs for an interval";
  return fmt::format("{:.3f} x the time of {} ({}): {}", ratio.ratio, title_of(*comparison.baseline),
                     interval, verdict_text(comparison));
}

/// "1.20e+09 instructions, 9.01e+08 cycles (1.33 a cycle), …"; empty where nothing was counted.
std::string counter_line(const CommandRow& row) {
  constexpr std::array<std::pair<const char*, const char*>, 4> kCounters{
      {{"instructions", "instructions"},
       {"cycles", "cycles"},
       {"cache_misses", "cache misses"},
       {"branch_misses", "branch misses"}}};
  std::vector<std::string> parts;
  for (const auto& [metric, name] : kCounters) {
    if (const auto count = row.value(metric)) parts.push_back(format_number(*count) + " " + name);
  }
  if (parts.empty()) return "";
  const auto instructions = row.value("instructions"), cycles = row.value("cycles");
  if (instructions && cycles && *cycles > 0) {
    parts[1] += fmt::format(" ({} instructions a cycle)", format_number(*instructions / *cycles));
  }
  return "    " + join(parts, ", ");
}

void add_row(Table& table, const CommandRow& row, std::span<const Comparison> comparisons) {
  const Record& record = *row.latency;
  if (record.outcome.kind != Outcome::Kind::kMeasured) {
    table.row({title_of(record), record.outcome.kind == Outcome::Kind::kSkipped ? "skipped" : "failed"})
        .tone(1, Tone::kBad);
    table.line("    " + record.outcome.reason);
    return;
  }
  table.row({title_of(record), value_text(record.metric.value, record.metric.unit, record.metric.name),
             spread_text(record), std::to_string(sample_count(record)), time_text(row, "user_time"),
             time_text(row, "system_time"), peak_text(row), faults_text(row),
             count_text(row, "context_switches"), noise_marks(record)});
  const auto compared = std::ranges::find(comparisons, &record, &Comparison::test);
  const std::string modes = modes_text(record);
  if (const std::string ratio = compared == comparisons.end() ? "" : ratio_line(*compared); !ratio.empty()) {
    table.line("    " + ratio).tone(0, verdict_tone(*compared));
  }
  for (const std::string& line : {modes.empty() ? "" : "    " + modes, counter_line(row)}) {
    if (!line.empty()) table.line(line);
  }
}

/// Comparisons that are told one by one in the answer.
constexpr std::size_t kToldOneByOne = 3;

void answer_comparisons(Sheet& sheet, std::span<const Comparison> comparisons) {
  if (comparisons.size() <= kToldOneByOne) {
    for (const Comparison& one : comparisons) {
      const std::string ratio = ratio_line(one);
      if (!ratio.empty()) sheet.answer(title_of(*one.test) + ": " + ratio, verdict_tone(one));
    }
    return;
  }
  std::size_t slower = 0, faster = 0, same = 0;
  const Comparison* most = nullptr;
  for (const Comparison& one : comparisons) {
    slower += one.verdict == Verdict::kRegression ? 1 : 0;
    faster += one.verdict == Verdict::kImprovement ? 1 : 0;
    same += one.verdict == Verdict::kSame ? 1 : 0;
    const bool decided = one.verdict == Verdict::kRegression || one.verdict == Verdict::kImprovement;
    const auto distance = [](const Comparison& c) { return std::abs(std::log(c.ratio->ratio)); };
    if (decided && one.ratio && (most == nullptr || distance(one) > distance(*most))) most = &one;
  }
  sheet.answer(
      fmt::format("of {} comparisons {} are slower, {} faster, {} the same, {} undecided", comparisons.size(),
                  slower, faster, same, comparisons.size() - slower - faster - same),
      slower > 0 ? Tone::kBad : Tone::kPlain);
  if (most != nullptr)
    sheet.answer("furthest apart: " + title_of(*most->test) + ": " + ratio_line(*most), verdict_tone(*most));
}

/// Of commands that are compared with nothing: the one, or the one that takes longest.
void answer_times(Sheet& sheet, const std::vector<const Record*>& measured) {
  if (measured.empty()) return;
  const Record& longest =
      **std::ranges::max_element(measured, {}, [](const Record* record) { return record->metric.value; });
  const std::string value = value_text(longest.metric.value, longest.metric.unit, longest.metric.name);
  const std::string spread = longest.interval ? " ±" + spread_text(longest) : ", without an interval";
  const std::string runs =
      fmt::format("median of {} run{}", sample_count(longest), sample_count(longest) == 1 ? "" : "s");
  const std::string lead = measured.size() == 1 ? "" : fmt::format("of {} commands ", measured.size());
  sheet.answer(fmt::format("{}{} takes {}{}{} ({})", lead, title_of(longest),
                           measured.size() == 1 ? "" : "longest: ", value, spread, runs));
}

}  // namespace

Table command_table(const std::vector<Record>& records, std::span<const Comparison> comparisons) {
  Table table({{"command"},
               {"time", Align::kRight},
               {"± 95 %", Align::kRight},
               {"n", Align::kRight, "runs"},
               {"user", Align::kRight},
               {"system", Align::kRight},
               {"peak memory", Align::kRight},
               {"faults", Align::kRight},
               {"switches", Align::kRight},
               {"marks"}});
  for (const CommandRow& row : command_rows(records)) add_row(table, row, comparisons);
  return table;
}

std::string command_legend(const std::vector<Record>& records) {
  // What the table says already.
  constexpr std::array<std::string_view, 6> kMarked{
      "steal:", "warm-up:", "time cap:", "busy:", kQuotaNote, kAsManyAsAsked};
  std::string marks, notes;
  for (const CommandRow& row : command_rows(records)) {
    marks += noise_marks(*row.latency);
    for (const std::string& note : row.latency->notes) {
      const bool marked =
          std::ranges::any_of(kMarked, [&](std::string_view word) { return note.starts_with(word); });
      if (!marked) notes += "  " + title_of(*row.latency) + ": " + note + "\n";
    }
  }
  return marks_legend(marks) + notes;
}

Sheet command_sheet(const std::vector<Record>& records, std::span<const Comparison> comparisons) {
  Sheet sheet;
  std::vector<const Record*> measured;
  std::size_t commands = 0;
  const Record* failed = nullptr;
  for (const CommandRow& row : command_rows(records)) {
    ++commands;
    if (row.latency->outcome.kind == Outcome::Kind::kMeasured) {
      measured.push_back(row.latency);
    } else if (failed == nullptr) {
      failed = row.latency;
    }
  }
  if (failed != nullptr) {
    sheet.answer(fmt::format("{} of {} command{} not measured: {}: {}", commands - measured.size(), commands,
                             commands == 1 ? " was" : "s were", title_of(*failed), failed->outcome.reason),
                 Tone::kBad);
  }
  answer_comparisons(sheet, comparisons);
  if (comparisons.empty()) answer_times(sheet, measured);
  answer_doubts(sheet, measured, "commands");
  // What the answer tells of each command the rows need not tell again.
  const bool is_told = comparisons.size() <= kToldOneByOne;
  return sheet.table(command_table(records, is_told ? std::span<const Comparison>() : comparisons))
      .notes(command_legend(records));
}

}  // namespace headroom
