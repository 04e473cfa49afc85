// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "headroom/base/text.h"
#include "headroom/base/units.h"
#include "headroom/record/disturbance.h"
#include "headroom/record/formats/seed_rows.h"
#include "headroom/record/metrics.h"
#include "headroom/record/noise.h"
#include "headroom/record/record.h"
#include "headroom/record/targets.h"
#include "headroom/report/case_rows.h"
#include "headroom/report/metric_text.h"
#include "headroom/report/run_sheet.h"
#include "headroom/stats/interval.h"

namespace headroom {
namespace {

bool busy(const Record& record) {
  return record.busy_cpus > 0;
}

bool limit_unstable(const Record& record) {
  return record.limit && record.limit->unstable;
}

bool stolen(const Record& record) {
  return disturbance_of(record).stolen >= kDisturbedShare;
}

bool throttled(const Record& record) {
  return disturbance_of(record).throttled >= kDisturbedShare;
}

bool capped(const Record& record) {
  const bool as_asked = std::ranges::find(record.notes, kAsManyAsAsked) != record.notes.end();
  return record.stop == StopReason::kMaxTime || (record.stop == StopReason::kMaxSamples && !as_asked);
}

bool warmed_up(const Record& record) {
  return std::any_of(record.samples.begin(), record.samples.end(),
                     [](const ProcessSamples& process) { return process.warmup > 0; });
}

bool interrupted(const Record& record) {
  return record.stop == StopReason::kInterrupted;
}

bool runner_lost(const Record& record) {
  return record.stop == StopReason::kRunnerLost;
}

bool has_modes(const Record& record) {
  return !record.modes.groups.empty();
}

bool recompiled(const Record& record) {
  return record.model.extra_info.contains("recompiled");
}

bool is_wrong(const Record& record) {
  return record.kept_wrong;
}

bool in_other_pages(const Record& record) {
  return std::ranges::any_of(record.notes,
                             [](const std::string& note) { return note.starts_with(kOtherPages); });
}

struct Mark {
  char letter;
  bool (*applies)(const Record&);
  const char* meaning;
};

constexpr std::array<Mark, 14> kMarks{{
    {'X', is_wrong, "the answer is wrong: timed for --keep-wrong, and neither compared nor counted"},
    {'A', is_above_limit,
     "above its limit, which is no success: the accounting of bytes or FLOPs is wrong or, beside B, S or U, "
     "the limit was held up"},
    {'B', busy, "busy: other programs were at work on these CPUs before or while it was measured"},
    {'Q', is_held_by_quota, "the quota of CPU time of its control group held it up"},
    {'U', limit_unstable, "the limit itself moved by more than 10 % between its quartiles"},
    {'P', in_other_pages,
     "huge or small pages: its inputs and outputs lie in others than those of its limit; the record says how "
     "many"},
    {'S', stolen, "the hypervisor gave time to others during at least 10 % of the samples"},
    {'H', throttled,
     "heat, power or the hardware held the device's clocks down in at least 10 % of the samples"},
    {'T', capped, "stopped by the cap on time or samples before the precision goal"},
    {'W', warmed_up, "the first samples were warm-up; they are kept but not in the estimate"},
    {'M', has_modes, "the times fall into several groups (modes), and the median tells of one at most"},
    {'C', recompiled, "torch.compile compiled anew while it was sampled: the record says why"},
    {'I', interrupted, "interrupted; what had been measured is shown"},
    {'L', runner_lost, "the runner was lost; what it had measured is shown"},
}};

constexpr const char* kGpuLegend =
    "  GPU  time in which GPUs worked in a recorded call, of the time without the recorder\n"
    "  mm+conv  the same of what is named gemm, conv, cutlass or wgrad\n";

std::string metric_text(const Record& record) {
  return value_text(record.metric.value, record.metric.unit, record.metric.name);
}

std::string target_text(const Record& record) {
  const TargetVerdict answer = target_verdict(record);
  if (answer == TargetVerdict::kNone) return "-";
  const std::optional<double>& share = record.metric.target_share;
  const std::string wanted = share ? format_percent(*share) : format_number(*record.metric.target);
  return fmt::format("{} {}", wanted, name_of(answer));
}

Tone target_tone(const Record& record) {
  const TargetVerdict verdict = target_verdict(record);
  if (verdict == TargetVerdict::kReached) return Tone::kGood;
  return verdict == TargetVerdict::kMissed ? Tone::kBad : Tone::kPlain;
}

std::string marks_of(const CaseRow& row) {
  return noise_marks(row.latency != nullptr ? *row.latency : *row.headline);
}

/// Returns the marks of all measured rows, if there are more than two rows. They are explained once.
std::string common_marks(const std::vector<CaseRow>& rows) {
  std::string common;
  std::size_t measured = 0;
  for (const CaseRow& row : rows) {
    if (row.any().outcome.kind != Outcome::Kind::kMeasured) continue;
    const std::string marks = marks_of(row);
    if (measured++ == 0) common = marks;
    std::erase_if(common, [&](char mark) { return marks.find(mark) == std::string::npos; });
  }
  constexpr std::size_t kWorthASentence = 3;
  return measured >= kWorthASentence ? common : "";
}

std::string without(std::string marks, const std::string& common) {
  std::erase_if(marks, [&](char mark) { return common.find(mark) != std::string::npos; });
  return marks;
}

/// Returns the overhead of measuring if it is a large part of the time.
std::string overhead_text(const CaseRow& row) {
  if (row.overhead == nullptr || row.latency == nullptr) return {};
  const double overhead_ns = row.overhead->metric.value, time_ns = row.latency->metric.value * kNsPerUs;
  if (time_ns >= kOverheadFactor * overhead_ns) return {};
  const char* cost =
      row.overhead->metric.name == kPythonOverhead ? "calling it from Python" : "reading the clock";
  const auto taken_off =
      row.latency->environment ? row.latency->environment->extra_info.contains(kOverheadTakenOff) : false;
  return fmt::format("{} costs {} (±{}) {}", cost, format_time_ns(overhead_ns), spread_text(*row.overhead),
                     taken_off ? "more, which were taken off"
                               : "of that, over a twentieth: --subtract-overhead takes it off");
}

std::string share_text(const Record* record) {
  return record == nullptr ? "" : format_percent(record->metric.value);
}

bool any_gpu(const std::vector<CaseRow>& rows) {
  return std::ranges::any_of(rows, [](const CaseRow& row) { return row.gpu != nullptr; });
}

void add_row(Table& table, const CaseRow& row, const CaseDifferences& differ, bool with_gpu,
             const std::string& common) {
  const Record& record = row.any();
  const std::string name = differ.case_text(record), backend = differ.backend_text(record);
  if (record.outcome.kind != Outcome::Kind::kMeasured && !record.kept_wrong) {
    const bool skipped = record.outcome.kind == Outcome::Kind::kSkipped;
    table.row({name, backend, record.benchmark.dtype, skipped ? "skipped" : "failed"})
        .tone(3, skipped ? Tone::kFaint : Tone::kBad);
    table.line("    " + record.outcome.reason);
    return;
  }
  // Without a latency, uses spread and sample count of the headline.
  const Record& timed = row.latency != nullptr ? *row.latency : record;
  std::vector<std::string> cells{name,
                                 backend,
                                 record.benchmark.dtype,
                                 row.latency != nullptr ? metric_text(timed) : "",
                                 spread_text(timed),
                                 std::to_string(sample_count(timed)),
                                 &record == row.latency ? "" : metric_text(record),
                                 limit_text(record),
                                 target_text(record)};
  if (with_gpu) cells.insert(cells.end(), {share_text(row.gpu), share_text(row.mm_conv)});
  cells.push_back(without(marks_of(row), common));
  table.row(std::move(cells)).tone(4, Tone::kFaint).tone(5, Tone::kFaint).tone(8, target_tone(record));
  if (record.kept_wrong) table.line("    WRONG: " + record.outcome.reason).tone(0, Tone::kBad);
  if (record.sums_in && is_below_f32(*record.sums_in)) {
    table.line("    " + sums_text(*record.sums_in, record.max_error, record.error_bound));
  }
  const std::string overhead = overhead_text(row);
  if (!overhead.empty()) table.line("    " + overhead);
  const std::string ratio = ratio_text(timed);
  if (!ratio.empty()) table.line(ratio);
  const std::string modes = modes_text(timed);
  if (!modes.empty()) table.line("    " + modes);
}

}  // namespace

std::string noise_marks(const Record& record) {
  std::string marks;
  if (record.outcome.kind != Outcome::Kind::kMeasured && !record.kept_wrong) return marks;
  for (const Mark& mark : kMarks) {
    if (mark.applies(record)) marks += mark.letter;
  }
  return marks;
}

namespace {

template <typename Lead>
std::string legend_of(std::string_view marks, Lead&& lead) {
  std::string legend;
  for (const Mark& mark : kMarks) {
    if (marks.find(mark.letter) != std::string_view::npos) legend += lead(mark) + mark.meaning + "\n";
  }
  return legend;
}

}  // namespace

std::string marks_legend(std::string_view marks) {
  return legend_of(marks, [](const Mark& mark) { return std::string("  ") + mark.letter + "  "; });
}

std::string all_rows_legend(std::string_view marks) {
  return legend_of(marks, [](const Mark&) { return std::string("  in every row: "); });
}

Table run_table(const std::vector<Record>& records) {
  const std::vector<CaseRow> rows = case_rows(records);
  const bool with_gpu = any_gpu(rows);
  std::vector<Table::Column> columns{{"case"},
                                     {"backend", Align::kLeft, ""},
                                     {"dtype", Align::kLeft, ""},
                                     {"time", Align::kRight},
                                     {"± 95 %", Align::kRight},
                                     {"n", Align::kRight, "samples"},
                                     {"metric", Align::kRight},
                                     {"of limit", Align::kRight},
                                     {"target", Align::kRight}};
  if (with_gpu) columns.insert(columns.end(), {{"GPU", Align::kRight}, {"mm+conv", Align::kRight}});
  columns.push_back({"marks"});
  Table table(std::move(columns), 3);
  const CaseDifferences differ(records);
  const std::string common = common_marks(rows);
  for (const CaseRow& row : rows) add_row(table, row, differ, with_gpu, common);
  const int threads = records.empty() || differ.threads ? 0 : records.front().threads;
  if (threads > 0) table.above(fmt::format("{} thread{}", threads, threads == 1 ? "" : "s"));
  return table;
}

std::string run_legend(const std::vector<Record>& records) {
  const std::vector<CaseRow> rows = case_rows(records);
  const std::string common = common_marks(rows);
  std::string marks;
  for (const CaseRow& row : rows) marks += without(marks_of(row), common);
  return all_rows_legend(common) + marks_legend(marks) + (any_gpu(rows) ? kGpuLegend : "");
}

Table mean_table(const std::vector<Record>& records) {
  Table table({{"mean over shapes"},
               {"backend", Align::kLeft, ""},
               {"dtype", Align::kLeft, ""},
               {"metric"},
               {"mean", Align::kRight},
               {"target", Align::kRight},
               {"shapes", Align::kRight}},
              3);
  const CaseDifferences differ(records);
  for (const SeedRow& row : seed_rows(records)) {
    const double mean = std::get<double>(row.actual);
    std::optional<double> target;
    if (const auto* whole = std::get_if<std::int64_t>(&row.target)) target = static_cast<double>(*whole);
    if (const auto* number = std::get_if<double>(&row.target)) target = *number;
    std::string against = "-";
    if (target) {
      against = format_number(*target) + " " + name_of(mean_target_verdict(row.cases));
    }
    const std::string name = row.experiment + (is_miscounted(*row.cases.front()) ? " (above its limit)" : "");
    const std::string threads =
        differ.threads ? fmt::format(" {} threads", row.cases.front()->threads) : std::string();
    const bool named = differ.runners && !row.runner.empty() && row.runner != row.backend;
    table.row({name + threads, named ? row.backend + " [" + row.runner + "]" : row.backend, row.dtype,
               row.metric, value_text(mean, row.unit, row.metric), against,
               row.left_out == 0 ? std::to_string(row.shapes)
                                 : fmt::format("{} of {}", row.shapes, row.shapes + row.left_out)});
  }
  return table;
}

}  // namespace headroom
