// SPDX-License-Identifier: Apache-2.0
#include "headroom/command/command_records.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>

#include "headroom/base/text.h"
#include "headroom/base/units.h"
#include "headroom/command/command_causes.h"
#include "headroom/command/measured_command.h"
#include "headroom/compare/verdict.h"
#include "headroom/record/disturbance.h"
#include "headroom/report/case_rows.h"
#include "headroom/report/metric_text.h"
#include "headroom/report/run_view.h"
#include "headroom/schedule/case_records.h"
#include "headroom/stats/interval.h"
#include "headroom/stats/quantile.h"

namespace headroom {
namespace {

constexpr const char* kLatency = "latency";

struct ColumnMetric {
  const char* name;
  const char* unit;
  CommandColumn column;
  bool only_if_any = false;  ///< omit the record if all samples are zero
};

constexpr std::array<ColumnMetric, 8> kMetrics{{{"user_time", "s", kUserTime},
                                                {"system_time", "s", kSystemTime},
                                                {"peak_memory", "B", kPeakMemory},
                                                {"page_faults", "1", kPageFaults},
                                                {"major_faults", "1", kMajorFaults, true},
                                                {"context_switches", "1", kContextSwitches},
                                                {"involuntary_switches", "1", kInvoluntarySwitches},
                                                {"exit_code", "1", kExitCode, true}}};

constexpr std::size_t kMaxFunctionName = 60;
constexpr double kLeastShownShare = 5e-5;

/// Empty if a reading lacks the column.
std::vector<double> values_of(const Track& track, std::size_t column) {
  std::vector<double> values;
  for (const Reading& reading : track.readings) {
    if (column >= reading.columns.size()) return {};
    values.push_back(reading.columns[column]);
  }
  return values;
}

std::size_t warmup_of(const Track& track) {
  const std::vector<std::size_t> lengths = warmup_by_process(track.readings);
  return lengths.empty() ? 0 : lengths.front();
}

void note_failures(const Track& track, Notes& notes) {
  std::vector<double> codes = values_of(track, kExitCode);
  std::erase(codes, 0.0);
  if (codes.empty()) return;
  notes.push_back(
      {NoteKind::kFailedRuns,
       {static_cast<double>(codes.size()), static_cast<double>(track.readings.size()), codes.front()}});
}

/// The kernel counts this program's memory at the start: such a peak is an upper bound.
bool is_peak_floor(const Track& track) {
  const std::vector<double> peaks = values_of(track, kPeakMemory), floors = values_of(track, kPeakFloor);
  return !floors.empty() && std::ranges::min(peaks) <= std::ranges::max(floors);
}

Notes notes_of(const Track& track, const GroupResult& group) {
  Notes notes = track.notes;
  note_failures(track, notes);
  note_steal(track, notes);
  if (const std::size_t warmup = warmup_of(track); warmup > 0)
    notes.push_back({NoteKind::kWarmUp, {static_cast<double>(warmup)}});
  if (group.stop == StopReason::kMaxTime) notes.push_back({NoteKind::kTimeCap});
  if (group.reached_exact_rounds) notes.push_back({NoteKind::kExactRounds});
  return notes;
}

Record base_record(const Track& track, const GroupResult& group,
                   const std::shared_ptr<const Environment>& environment) {
  Record record;
  record.environment = environment;
  record.model.name = track.planned.spec.experiment;
  record.model.type = "command";
  record.instrument = Instrument::kCommands;
  record.model.extra_info = track.info.notes;
  record.axes.assign(track.planned.spec.axes.begin(), track.planned.spec.axes.end());
  record.device = "cpu";
  record.outcome = track.outcome;
  if (!track.readings.empty()) record.stop = track.alive() ? group.stop : StopReason::kRunnerLost;
  if (track.outcome.kind == Outcome::Kind::kSkipped) record.stop = StopReason::kMaxTime;
  record.notes = notes_of(track, group);
  return record;
}

void append_metric(const Record& base, const Track& track, const char* name, const char* unit,
                   std::vector<double> values, std::vector<Record>& records) {
  Record record = base;
  record.metric.name = name;
  record.metric.unit = unit;
  ProcessSamples samples;
  samples.iterations = 1;
  samples.warmup = warmup_of(track);
  samples.values = std::move(values);
  for (const Reading& reading : track.readings) samples.rounds.push_back(reading.round);
  record.samples.push_back(std::move(samples));
  estimate(record);
  records.push_back(std::move(record));
}

/// `records` begins with those of the baseline.
void append_headline(const Record& base, const Track& track, const GroupResult& group,
                     std::vector<Record>& records) {
  std::vector<double> values;
  NoiseSeries noise;
  for (const Reading& reading : track.readings) {
    values.push_back(reading.ns / kNsPerSecond);
    noise.push_back(reading.noise);
  }
  append_metric(base, track, kLatency, "s", std::move(values), records);
  Record& record = records.back();
  record.metric.headline = true;
  record.modes = find_modes(steady(record).values);
  record.samples.front().noise = std::move(noise);
  const Track& baseline = group.cases.front();
  if (&track == &baseline) return;
  record.look = group.look;
  const auto known = round_ratio(track, baseline, group.look);
  if (!known) return;
  const RatioEstimate ratio = known->estimate();
  record.ratio = RatioToOther{ratio.ratio, ratio.interval, ratio.pairs, title_of(records.front())};
}

void append_columns(const Record& base, const Track& track, std::vector<Record>& records) {
  for (const ColumnMetric& metric : kMetrics) {
    std::vector<double> values = values_of(track, metric.column);
    const bool any = std::ranges::any_of(values, [](double value) { return value != 0; });
    if (values.empty() || (metric.only_if_any && !any)) continue;
    append_metric(base, track, metric.name, metric.unit, std::move(values), records);
    if (metric.column == kPeakMemory && is_peak_floor(track))
      records.back().metric.extra_info["at_most"] = "true";
  }
  // Only events counted in every run, so that samples can be paired.
  for (std::size_t event = 0; event < hardware_events().size(); ++event) {
    std::vector<double> values = values_of(track, kFirstCounter + event);
    if (values.empty() || std::ranges::find(values, kUncounted) != values.end()) continue;
    append_metric(base, track, hardware_events()[event].name, "1", std::move(values), records);
  }
}

Record empty_record(Record record, const Track& track) {
  if (track.alive()) record.outcome = {Outcome::Kind::kSkipped, "interrupted before its first run ended"};
  record.metric.name = kLatency;
  record.metric.unit = "s";
  record.metric.headline = true;
  return record;
}

struct CommandRow {
  const Record* latency = nullptr;
  std::map<std::string, const Record*> metrics;

  std::optional<double> value(const std::string& metric) const {
    const auto found = metrics.find(metric);
    return found == metrics.end() ? std::nullopt : std::optional(found->second->metric.value);
  }
};

std::vector<CommandRow> command_rows(const std::vector<Record>& records) {
  std::vector<CommandRow> rows;
  for (const Record& record : records) {
    if (record.metric.name == "latency") rows.push_back({&record, {}});
    if (!rows.empty()) rows.back().metrics.emplace(record.metric.name, &record);
  }
  return rows;
}

std::string time_text(const CommandRow& row, const char* metric) {
  const auto seconds = row.value(metric);
  return seconds ? format_time_ns(*seconds * 1e9) : "";
}

std::string count_text(const CommandRow& row, const char* metric) {
  const auto count = row.value(metric);
  if (!count) return "";
  // Median of counts: whole or half, so small ones are exact.
  return *count < 1e5 ? fmt::format("{:g}", *count) : format_number(*count);
}

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
      return "inconclusive (too few runs)";
    default:
      break;
  }
  if (!is_significant(comparison)) return "inconclusive";
  return fmt::format("inconclusive ({}, perhaps by less than {})",
                     comparison.ratio->ratio > 1 ? "slower" : "faster", format_percent(comparison.margin));
}

Tone verdict_tone(const Comparison& comparison) {
  if (comparison.verdict == Verdict::kRegression) return Tone::kBad;
  return comparison.verdict == Verdict::kImprovement ? Tone::kGood : Tone::kPlain;
}

std::string ratio_line(const Comparison& comparison) {
  if (!comparison.ratio) return "";
  const RatioEstimate& ratio = *comparison.ratio;
  return fmt::format("{} x the time of {} ({}): {}", format_ratio(ratio.ratio),
                     title_of(*comparison.baseline), interval_phrase(ratio.interval),
                     verdict_text(comparison));
}

std::string function_list(const NumberMap& shares, int digits) {
  std::vector<std::pair<std::string, double>> functions(shares.begin(), shares.end());
  std::ranges::stable_sort(functions, std::greater(), [](const auto& one) { return std::abs(one.second); });
  std::vector<std::string> parts;
  for (const auto& [function, share] : functions) {
    if (std::abs(share) >= kLeastShownShare)
      parts.push_back(
          fmt::format("{} ({:+.{}f} %)", abridged(function, kMaxFunctionName), 100 * share, digits));
  }
  return join(parts, ", ");
}

bool is_by_callgrind(const Record& instructions) {
  return instructions.metric.extra_info.contains(kCountedBy);
}

/// Whether the processor has AVX-512 and the one that counted did not.
bool lacked_avx512(const Record& instructions) {
  const auto counted = instructions.metric.extra_info.find(kCountedIsa);
  if (counted == instructions.metric.extra_info.end() || contains(counted->second, "avx512")) return false;
  if (!instructions.environment || instructions.environment->machines.empty()) return false;
  const auto& machine = instructions.environment->machines.front().extra_info;
  const auto isa = machine.find("isa");
  return isa != machine.end() && contains(isa->second, "avx512");
}

/// Hardware counters always count; their ratio needs --count.
bool is_count_asked(const Record& instructions) {
  return is_by_callgrind(instructions) ||
         (instructions.environment && instructions.environment->extra_info.contains("count"));
}

/// "instructions: +0.52 % (counted once each by callgrind, without AVX-512), most in f (+0.48 %)".
std::string count_line(std::span<const Record> records, const Comparison& comparison) {
  const Record* before = metric_of(records, *comparison.baseline, kInstructions);
  const Record* after = metric_of(records, *comparison.test, kInstructions);
  if (before == nullptr || after == nullptr || !is_count_asked(*after)) return "";
  const auto ratio = count_ratio(*before, *after);
  if (!ratio) return "";
  std::string source = "counted in each run";
  double noise = 0;
  if (is_by_callgrind(*after)) {
    source =
        fmt::format("counted once each by callgrind{}", lacked_avx512(*after) ? ", without AVX-512" : "");
    noise = ratio->interval->high - ratio->ratio;
    if (noise > kLeastCountChange)
      source += fmt::format("; counts of the first command vary by ±{:.2f} %", 100 * noise);
  } else if (ratio->interval) {
    source += fmt::format("; 95 % interval {:+.2f} to {:+.2f} %", 100 * (ratio->interval->low - 1),
                          100 * (ratio->interval->high - 1));
  }
  const double change = ratio->ratio - 1;
  const bool is_undecided =
      comparison.verdict == Verdict::kInconclusive || comparison.verdict == Verdict::kUnderpowered;
  std::string line = is_undecided ? "time: inconclusive; instructions: " : "instructions: ";
  if (std::abs(change) <= std::max(noise, kLeastCountChange))
    return line +
           fmt::format("the same within {:.2f} % ({})", 100 * std::max(noise, kLeastCountChange), source);
  line += fmt::format("{:+.2f} % ({})", 100 * change, source);
  const std::string functions = function_list(after->metric.numbers, 2);
  return functions.empty() ? line : line + ", most in " + functions;
}

/// "CPU time by function, of all of A: f (+3.1 %) (perf, 2040 and 2100 samples)".
std::string why_line(const Comparison& comparison) {
  const auto source = comparison.test->metric.extra_info.find(kSampledBy);
  if (source == comparison.test->metric.extra_info.end()) return "";
  const std::string functions = function_list(comparison.test->metric.numbers, 1);
  if (functions.empty()) return fmt::format("no function stands out in CPU time ({})", source->second);
  return fmt::format("CPU time by function, of that of {}: {} ({})", title_of(*comparison.baseline),
                     functions, source->second);
}

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
  const auto counted = row.metrics.find(kInstructions);
  if (counted != row.metrics.end() && is_by_callgrind(*counted->second)) {
    parts[0] += " (callgrind)";
  } else if (instructions && cycles && *cycles > 0) {
    parts[1] += fmt::format(" ({} instructions per cycle)", format_number(*instructions / *cycles));
  }
  return "    " + join(parts, ", ");
}

void add_row(Table& table, const CommandRow& row, std::span<const Record> records,
             std::span<const Comparison> comparisons) {
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
             count_text(row, "context_switches"), flag_letters(doubts_of(record))});
  const auto compared = std::ranges::find(comparisons, &record, &Comparison::test);
  const std::string modes = modes_text(record);
  if (const std::string ratio = compared == comparisons.end() ? "" : ratio_line(*compared); !ratio.empty()) {
    table.line("    " + ratio).tone(0, verdict_tone(*compared));
    for (const std::string& line : {count_line(records, *compared), why_line(*compared)}) {
      if (!line.empty()) table.line("    " + line);
    }
  }
  for (const std::string& line : {modes.empty() ? "" : "    " + modes, counter_line(row)}) {
    if (!line.empty()) table.line(line);
  }
}

constexpr std::size_t kMaxListedComparisons = 3;

void answer_comparisons(View& view, std::span<const Record> records,
                        std::span<const Comparison> comparisons) {
  if (comparisons.size() <= kMaxListedComparisons) {
    for (const Comparison& one : comparisons) {
      const std::string ratio = ratio_line(one);
      if (!ratio.empty()) view.answer(title_of(*one.test) + ": " + ratio, verdict_tone(one));
      for (const std::string& line : {count_line(records, one), why_line(one)}) {
        if (!line.empty()) view.answer(title_of(*one.test) + ": " + line);
      }
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
  view.answer(
      fmt::format("{} comparisons: {} slower, {} faster, {} the same, {} inconclusive", comparisons.size(),
                  slower, faster, same, comparisons.size() - slower - faster - same),
      slower > 0 ? Tone::kBad : Tone::kPlain);
  if (most != nullptr)
    view.answer("largest difference: " + title_of(*most->test) + ": " + ratio_line(*most),
                verdict_tone(*most));
}

void answer_times(View& view, const std::vector<const Record*>& measured) {
  if (measured.empty()) return;
  const Record& longest =
      **std::ranges::max_element(measured, {}, [](const Record* record) { return record->metric.value; });
  const std::string value = value_text(longest.metric.value, longest.metric.unit, longest.metric.name);
  const std::string spread = longest.interval ? spread_suffix(longest) : ", without an interval";
  const std::string runs = "median of " + counted(sample_count(longest), "run");
  const std::string lead =
      measured.size() == 1 ? title_of(longest) + " takes"
                           : fmt::format("longest of {} commands is {}:", measured.size(), title_of(longest));
  view.answer(fmt::format("{} {}{} ({})", lead, value, spread, runs));
}

}  // namespace

std::string title_of(const Record& command) {
  const auto title = command.model.extra_info.find("title");
  return title == command.model.extra_info.end() ? case_name(command) : title->second;
}

std::vector<Record> command_records(const GroupResult& group,
                                    const std::shared_ptr<const Environment>& environment) {
  std::vector<Record> records;
  for (const Track& track : group.cases) {
    const Record base = base_record(track, group, environment);
    if (track.readings.empty()) {
      records.push_back(empty_record(base, track));
      continue;
    }
    append_headline(base, track, group, records);
    append_columns(base, track, records);
  }
  return records;
}

Table command_table(const std::vector<Record>& records, std::span<const Comparison> comparisons) {
  Table table(Columns()
                  .left({"command"})
                  .priority(Priority::kFirst)
                  .right({"time", "± 95 %"})
                  .priority(Priority::kNormal)
                  .shared("n", Align::kRight, "runs")
                  .right({"user", "system", "peak memory"})
                  .priority(Priority::kLast)
                  .right({"faults", "switches"})
                  .priority(Priority::kNormal)
                  .left({"flags"}));
  for (const CommandRow& row : command_rows(records)) add_row(table, row, records, comparisons);
  return table;
}

std::string command_legend(const std::vector<Record>& records) {
  constexpr std::array kMarked{NoteKind::kSteal, NoteKind::kWarmUp, NoteKind::kTimeCap,
                               NoteKind::kBusy,  NoteKind::kQuota,  NoteKind::kExactRounds};
  CaseFlags marks;
  std::string notes;
  for (const CommandRow& row : command_rows(records)) {
    marks |= doubts_of(*row.latency);
    for (const Note& note : row.latency->notes) {
      const bool is_marked = std::ranges::find(kMarked, note.kind) != kMarked.end();
      if (!is_marked) notes += "  " + title_of(*row.latency) + ": " + sentence(note) + "\n";
    }
  }
  const auto counted = std::ranges::find_if(records, is_by_callgrind);
  if (counted != records.end()) {
    notes += fmt::format("  instructions: callgrind's counts of one run{}; a count is not a time\n",
                         lacked_avx512(*counted)
                             ? " on a processor without AVX-512, where a program may choose other code"
                             : "");
  }
  return flags_legend(marks) + notes;
}

View command_view(const std::vector<Record>& records, std::span<const Comparison> comparisons) {
  View view;
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
    view.answer(fmt::format("{} of {} command{} not measured: {}: {}", commands - measured.size(), commands,
                            commands == 1 ? " was" : "s were", title_of(*failed), failed->outcome.reason),
                Tone::kBad);
  }
  answer_comparisons(view, records, comparisons);
  if (comparisons.empty()) answer_times(view, measured);
  answer_doubts(view, measured, "commands");
  // Ratios in the answer are not repeated.
  const bool is_told = comparisons.size() <= kMaxListedComparisons;
  return view.table(command_table(records, is_told ? std::span<const Comparison>() : comparisons))
      .notes(command_legend(records));
}

}  // namespace headroom
