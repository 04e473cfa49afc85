// SPDX-License-Identifier: Apache-2.0
#include "headroom/report/run_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "headroom/base/text.h"
#include "headroom/base/units.h"
#include "headroom/record/disturbance.h"
#include "headroom/record/environment.h"
#include "headroom/record/formats/seed_rows.h"
#include "headroom/record/metrics.h"
#include "headroom/record/noise.h"
#include "headroom/record/targets.h"
#include "headroom/report/case_rows.h"
#include "headroom/report/counted_work.h"
#include "headroom/report/metric_text.h"
#include "headroom/stats/interval.h"

namespace headroom {
namespace {

using Rows = std::vector<const Record*>;  // latency records

bool is_compared_with(const Record& a, const Record& b) {
  return case_text(a) == case_text(b) && a.benchmark.dtype == b.benchmark.dtype && a.device == b.device &&
         a.caches == b.caches && a.threads == b.threads;
}

std::vector<Rows> compared_rows(const std::vector<Record>& records) {
  std::vector<Rows> cases;
  for (const CaseRow& row : case_rows(records)) {
    if (row.latency == nullptr || row.latency->outcome.kind != Outcome::Kind::kMeasured) continue;
    if (is_miscounted(*row.latency)) continue;
    if (cases.empty() || !is_compared_with(*cases.back().front(), *row.latency)) cases.emplace_back();
    cases.back().push_back(row.latency);
  }
  std::erase_if(cases, [](const Rows& rows) { return rows.size() < 2; });
  return cases;
}

std::string backend_label(const Record& record) {
  return record.runner.empty() || record.runner == record.model.backend
             ? record.model.backend
             : record.model.backend + " [" + record.runner + "]";
}

std::string share(const Record& record) {
  return record.limit ? " (" + share_with_interval(record.limit->fraction, record.limit->interval) + ")" : "";
}

std::optional<RatioToOther> ratio_to(const Record& record, const Record& other) {
  const bool is_to_other =
      record.ratio && record.ratio->backend == other.model.backend && record.ratio->runner == other.runner;
  return is_to_other ? record.ratio : std::nullopt;
}

std::optional<RatioToOther> ratio_between(const Record& next, const Record& nearest) {
  if (const auto ratio = ratio_to(next, nearest)) return ratio;
  std::optional<RatioToOther> turned = ratio_to(nearest, next);
  if (!turned || !(turned->ratio > 0)) return std::nullopt;
  turned->ratio = 1 / turned->ratio;
  if (turned->interval) {
    turned->interval->low = 1 / std::exchange(turned->interval->high, 1 / turned->interval->low);
  }
  return turned;
}

std::string slowdown_text(const Record& next, const Record& nearest) {
  const std::optional<RatioToOther> found = ratio_between(next, nearest);
  if (!found) return format_ratio(next.metric.value / nearest.metric.value) + " x the time, by the medians";
  if (!found->interval) return format_ratio(found->ratio) + " x the time, too few pairs for an interval";
  const char* verdict = found->interval->contains(1) ? ": inconclusive" : "";
  return fmt::format("{} x the time ({} to {}){}", format_ratio(found->ratio),
                     format_ratio(found->interval->low), format_ratio(found->interval->high), verdict);
}

constexpr std::size_t kComparedInAnswer = 2;

class MeasuredRows {
 public:
  explicit MeasuredRows(const std::vector<Record>& records) : all_(case_rows(records)) {
    std::set<std::string> dtypes, backends, runners;
    for (const CaseRow& row : all_) {
      const Record& record = row.any();
      dtypes.insert(record.benchmark.dtype);
      backends.insert(record.model.backend);
      runners.insert(record.runner);
      if (record.outcome.kind == Outcome::Kind::kMeasured) rows_.push_back(&row);
    }
    differ_ = {dtypes.size() > 1, backends.size() > 1, runners.size() > 1};
  }

  const std::vector<CaseRow>& all() const { return all_; }
  const std::vector<const CaseRow*>& measured() const { return rows_; }

  std::string name(const Record& record) const {
    std::string text = case_text(record);
    const auto add = [&](bool wanted, const std::string& word) {
      if (wanted && !word.empty()) text += " " + word;
    };
    add(differ_.dtypes, record.benchmark.dtype);
    add(differ_.backends, record.model.backend);
    add(differ_.runners && record.runner != record.model.backend, "[" + record.runner + "]");
    return text;
  }

 private:
  struct {
    bool dtypes = false, backends = false, runners = false;
  } differ_;
  std::vector<CaseRow> all_;
  std::vector<const CaseRow*> rows_;
};

/// Shares of the limit from here on are at the limit.
constexpr double kAtLimitFrom = 0.9;

/// A case against its target; without one, against its limit.
enum class Standing : std::uint8_t {
  kFailed,
  kAboveLimit,
  kMissed,
  kInconclusive,
  kReached,
  kAtLimit,
  kBelowLimit,
  kSkipped,
  kUnlimited
};

/// In the order of the sentence: of one case and of several.
constexpr std::array<std::pair<const char*, const char*>, 9> kStandings{{
    {"failed", "failed"},
    {"above its limit", "above their limit"},
    {"misses its target", "miss their target"},
    {"inconclusive", "inconclusive"},
    {"reaches its target", "reach their target"},
    {"at the limit (90 % or more)", "at the limit (90 % or more)"},
    {"below 90 % of the limit", "below 90 % of the limit"},
    {"skipped", "skipped"},
    {"without target or limit", "without target or limit"},
}};

Standing standing_of(const Record& record) {
  if (record.outcome.kind == Outcome::Kind::kSkipped) return Standing::kSkipped;
  if (record.outcome.kind == Outcome::Kind::kFailed) return Standing::kFailed;
  if (record.limit && is_miscounted(record)) return Standing::kAboveLimit;
  switch (target_verdict(record)) {
    case TargetVerdict::kReached:
      return Standing::kReached;
    case TargetVerdict::kMissed:
      return Standing::kMissed;
    case TargetVerdict::kInconclusive:
      return Standing::kInconclusive;
    case TargetVerdict::kNone:
      break;
  }
  if (!record.limit) return Standing::kUnlimited;
  const std::optional<Interval>& share = record.limit->interval;
  if (share && share->low >= kAtLimitFrom) return Standing::kAtLimit;
  return share && share->high < kAtLimitFrom ? Standing::kBelowLimit : Standing::kInconclusive;
}

/// "3 cases: 1 misses its target, 2 at the limit (90 % or more)". Returns whether there was anything.
bool answer_standings(View& view, const MeasuredRows& rows) {
  std::array<std::size_t, kStandings.size()> counts{};
  for (const CaseRow& row : rows.all()) ++counts[static_cast<std::size_t>(standing_of(row.any()))];
  const auto count = [&](Standing standing) { return counts[static_cast<std::size_t>(standing)]; };
  const std::size_t judged =
      rows.all().size() - count(Standing::kFailed) - count(Standing::kSkipped) - count(Standing::kUnlimited);
  if (judged == 0) return false;
  if (rows.all().size() == 1) {
    const TargetVerdict verdict = target_verdict(rows.all().front().any());
    if (verdict == TargetVerdict::kNone) return false;
  }
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] > 0 && rows.all().size() == 1)
      parts.emplace_back(kStandings[i].first);
    else if (counts[i] > 0)
      parts.push_back(
          fmt::format("{} {}", counts[i], counts[i] == 1 ? kStandings[i].first : kStandings[i].second));
  }
  const bool is_bad = count(Standing::kFailed) + count(Standing::kAboveLimit) + count(Standing::kMissed) > 0;
  const bool is_good = count(Standing::kReached) == rows.all().size();
  view.answer(fmt::format("{}: {}", counted(rows.all().size(), "case"), join(parts, ", ")),
              is_bad    ? Tone::kBad
              : is_good ? Tone::kGood
                        : Tone::kPlain);
  return true;
}

void answer_failures(View& view, const MeasuredRows& rows) {
  const CaseRow* first = nullptr;
  std::size_t failed = 0, skipped = 0;
  for (const CaseRow& row : rows.all()) {
    const Outcome::Kind kind = row.any().outcome.kind;
    skipped += kind == Outcome::Kind::kSkipped ? 1 : 0;
    if (kind != Outcome::Kind::kFailed) continue;
    if (failed++ == 0) first = &row;
  }
  if (first != nullptr) {
    view.answer(fmt::format("{} of {} failed: {}: {}", failed, counted(rows.all().size(), "case"),
                            rows.name(first->any()), first->any().outcome.reason),
                Tone::kBad);
  } else if (skipped == rows.all().size() && skipped > 0) {
    view.answer(fmt::format("nothing was measured: {}", rows.all().front().any().outcome.reason), Tone::kBad);
  }
}

std::size_t count_ties(const std::vector<const Record*>& limited, const Record& furthest) {
  const auto& interval = furthest.limit->interval;
  return static_cast<std::size_t>(std::ranges::count_if(limited, [&](const Record* other) {
    if (other == &furthest) return false;
    return !interval || !other->limit->interval || other->limit->interval->low <= interval->high;
  }));
}

bool answer_limits(View& view, const MeasuredRows& rows) {
  std::vector<const Record*> limited;
  std::size_t above = 0;
  for (const CaseRow* row : rows.measured()) {
    const Record& record = row->any();
    if (!record.limit) continue;
    if (is_miscounted(record)) {
      ++above;
    } else {
      limited.push_back(&record);
    }
  }
  if (above > 0) {
    view.answer(fmt::format("{} {} above {} limit, which is impossible: the declared work is wrong", above,
                            is_or_are(above), above == 1 ? "its" : "their"),
                Tone::kBad);
  }
  if (limited.empty()) return above > 0;
  const Record& furthest =
      **std::ranges::min_element(limited, {}, [](const Record* record) { return record->limit->fraction; });
  const std::string share = limit_text(furthest);
  if (limited.size() == 1) {
    view.answer(fmt::format("{} reaches {} of its limit, {}", rows.name(furthest), share,
                            limit_name(*furthest.limit)));
    return true;
  }
  const std::size_t others = count_ties(limited, furthest);
  view.answer(fmt::format(
      "{} is furthest from its limit: {}{}", rows.name(furthest), share,
      others == 0 ? "" : fmt::format(" ({} more {} not significantly closer)", others, is_or_are(others))));
  return true;
}

void answer_times(View& view, const MeasuredRows& rows) {
  if (rows.measured().empty()) return;
  const CaseRow* longest = rows.measured().front();
  for (const CaseRow* row : rows.measured()) {
    const bool is_longer = row->latency != nullptr && longest->latency != nullptr &&
                           row->latency->metric.value > longest->latency->metric.value;
    if (is_longer) longest = row;
  }
  const Record& record = longest->latency != nullptr ? *longest->latency : longest->any();
  const std::string value = value_text(record.metric.value, record.metric.unit, record.metric.name);
  const std::string spread = spread_suffix(record);
  if (rows.measured().size() == 1) {
    view.answer(fmt::format("{} {} {}{}", rows.name(record),
                            longest->latency != nullptr ? "takes" : "has " + record.metric.name, value,
                            spread));
  } else if (longest->latency != nullptr) {
    view.answer(fmt::format("longest of {} cases is {}: {}{}", rows.measured().size(), rows.name(record),
                            value, spread));
  } else {
    view.answer(fmt::format("{} cases measured, without a target, limit or time to rank them",
                            rows.measured().size()));
  }
}

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
  const bool as_asked = has_note(record.notes, NoteKind::kExactRounds);
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

bool has_page_mismatch(const Record& record) {
  return has_note(record.notes, NoteKind::kOtherPages);
}

bool is_quota_limited(const Record& record) {
  return has_note(record.notes, NoteKind::kQuota);
}

struct FlagForm {
  char letter;
  bool (*applies)(const Record&);
  const char* meaning;
};

/// By Mark.
constexpr std::array<FlagForm, kFlagCount> kFlags{{
    {'X', is_wrong, "the answer is wrong: timed for --keep-wrong, and neither compared nor counted"},
    {'A', is_above_limit,
     "above its limit: the declared bytes or FLOPs are wrong or, with B, S or U, the limit itself was "
     "disturbed"},
    {'B', busy, "busy: other programs used these CPUs before or during the measurement"},
    {'Q', is_quota_limited, "throttled by the CPU quota of its control group"},
    {'U', limit_unstable, "the limit itself moved by more than 10 % between its quartiles"},
    {'P', has_page_mismatch,
     "pages: its inputs and outputs have a different share of huge pages than its limit; the record has "
     "both"},
    {'S', stolen, "the hypervisor gave time to others during at least 10 % of the samples"},
    {'H', throttled,
     "heat, power or the hardware held the device's clocks down in at least 10 % of the "
     "samples"},
    {'T', capped, "stopped by the cap on time or samples before the precision goal"},
    {'W', warmed_up, "the first samples were warm-up; they are kept but not in the estimate"},
    {'M', has_modes, "modes: the times form several groups, and the median describes at most one"},
    {'C', recompiled, "torch.compile recompiled during sampling: the record has the reason"},
    {'I', interrupted, "interrupted: results so far are shown"},
    {'L', runner_lost, "the runner was lost: its results so far are shown"},
}};

constexpr const char* kGpuLegend =
    "  GPU  GPU busy time in a recorded call, as a share of the time without recording\n"
    "  mm+conv  the same for kernels named gemm, conv, cutlass or wgrad\n";

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

CaseFlags flags_of(const CaseRow& row) {
  return doubts_of(row.latency != nullptr ? *row.latency : *row.headline);
}

CaseFlags common_flags(const std::vector<CaseRow>& rows) {
  CaseFlags common;
  common.set();
  std::size_t measured = 0;
  for (const CaseRow& row : rows) {
    if (row.any().outcome.kind != Outcome::Kind::kMeasured) continue;
    common &= flags_of(row);
    ++measured;
  }
  constexpr std::size_t kMinCommonRows = 3;
  return measured >= kMinCommonRows ? common : CaseFlags();
}

std::string overhead_text(const CaseRow& row) {
  if (row.overhead == nullptr || row.latency == nullptr) return {};
  const double overhead_ns = row.overhead->metric.value, time_ns = row.latency->metric.value * kNsPerUs;
  if (time_ns >= kOverheadFactor * overhead_ns) return {};
  const char* cost =
      row.overhead->metric.name == kPythonOverhead ? "calling it from Python" : "reading the clock";
  const auto taken_off =
      row.latency->environment ? row.latency->environment->extra_info.contains(kOverheadTakenOff) : false;
  return fmt::format(
      "{} costs {}{} {}", cost, format_time_ns(overhead_ns), spread_suffix(*row.overhead),
      taken_off ? "more, already subtracted" : "of that, more than 5 %: --subtract-overhead subtracts it");
}

std::string share_text(const Record* record) {
  return record == nullptr ? "" : format_percent(record->metric.value);
}

bool any_gpu(const std::vector<CaseRow>& rows) {
  return std::ranges::any_of(rows, [](const CaseRow& row) { return row.gpu != nullptr; });
}

/// `with_spread`: some row has an interval.
void add_row(Table& table, const CaseRow& row, const CaseDifferences& differ, bool with_gpu, bool with_spread,
             const CaseFlags& common) {
  const Record& record = row.any();
  const std::string name = differ.case_text(record), backend = differ.backend_text(record);
  if (record.outcome.kind != Outcome::Kind::kMeasured && !record.kept_wrong) {
    const bool skipped = record.outcome.kind == Outcome::Kind::kSkipped;
    table.row({name, backend, record.benchmark.dtype, skipped ? "skipped" : "failed"})
        .tone(3, skipped ? Tone::kFaint : Tone::kBad);
    table.line("    " + record.outcome.reason);
    return;
  }
  const Record& timed = row.latency != nullptr ? *row.latency : record;
  std::vector<std::string> cells{name,
                                 backend,
                                 record.benchmark.dtype,
                                 row.latency != nullptr ? metric_text(timed) : "",
                                 with_spread ? spread_text(timed) : "",
                                 std::to_string(sample_count(timed)),
                                 &record == row.latency ? "" : metric_text(record),
                                 limit_cell(record),
                                 target_text(record)};
  if (with_gpu) cells.insert(cells.end(), {share_text(row.gpu), share_text(row.mm_conv)});
  cells.push_back(flag_letters(flags_of(row) & ~common));
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

/// Returns notes that no mark stands for.
std::string unflagged_notes(const std::vector<Record>& records) {
  constexpr std::size_t kNamed = 3;
  std::map<std::string, std::set<std::string>> cases_of;
  for (const Record& record : records) {
    const bool is_imported = record.instrument == Instrument::kImport;
    for (const Note& note : record.notes) {
      if (is_imported || note.kind == NoteKind::kText) cases_of[sentence(note)].insert(case_text(record));
    }
  }
  std::string text;
  for (const auto& [note, cases] : cases_of) {
    if (cases.size() > kNamed) {
      text += fmt::format("  {} cases: {}\n", cases.size(), note);
    } else {
      for (const std::string& name : cases) text += fmt::format("  {}: {}\n", name, note);
    }
  }
  return text;
}

const char* reason_without_interval(const Record& record) {
  constexpr std::size_t kMin = 6;  // series_median_interval()
  const std::size_t samples = sample_count(record);
  if (samples == 0) return "a single value, without samples";
  if (samples < kMin) return "fewer than 6 samples";
  const std::vector<double> values = steady_values(record);
  if (!std::ranges::all_of(values, [](double value) { return std::isfinite(value); }))
    return "not all samples are numbers";
  if (const auto found = estimate(steady(record)); found && found->interval) return "the file gives none";
  const bool is_drift = SeriesLocation(values, steady_sizes(record)).neighbour_correlation() >= 1;
  return is_drift ? "the samples drift" : "n is too small for samples that differ so much";
}

std::string missing_intervals(const std::vector<CaseRow>& rows) {
  std::map<std::string, std::size_t> reasons;
  std::size_t measured = 0;
  for (const CaseRow& row : rows) {
    if (row.any().outcome.kind != Outcome::Kind::kMeasured) continue;
    ++measured;
    const Record& timed = row.latency != nullptr ? *row.latency : row.any();
    if (!timed.interval) ++reasons[reason_without_interval(timed)];
  }
  std::string text;
  for (const auto& [reason, cases] : reasons) {
    text += cases == measured ? fmt::format("  no interval: {}\n", reason)
                              : fmt::format("  ?  no interval of {}: {}\n", counted(cases, "case"), reason);
  }
  return text;
}

std::set<std::string> experiments_with_shapes(const std::vector<Record>& records) {
  std::map<std::string, std::string> first_shape;
  std::set<std::string> found;
  for (const Record& record : records) {
    if (!record.metric.headline || record.instrument == Instrument::kImport) continue;
    const std::string shape = case_text(record);
    if (first_shape.try_emplace(record.model.name, shape).first->second != shape)
      found.insert(record.model.name);
  }
  return found;
}

}  // namespace

std::string nearest_limit_text(const std::vector<Record>& records) {
  std::string text;
  for (Rows& rows : compared_rows(records)) {
    std::ranges::stable_sort(rows, {}, [](const Record* record) { return record->metric.value; });
    const Record& nearest = *rows[0];
    const std::string dtype = nearest.benchmark.dtype.empty() ? "" : " " + nearest.benchmark.dtype;
    const char* what = nearest.limit ? "nearest the limit" : "fastest";
    text +=
        fmt::format("{}: {}{}: {}{}, then {}: {}\n", what, case_text(nearest), dtype, backend_label(nearest),
                    share(nearest), backend_label(*rows[1]), slowdown_text(*rows[1], nearest));
  }
  return text;
}

void answer_doubts(View& view, const std::vector<const Record*>& measured, const char* rows) {
  const auto marked = [&](CaseFlag flag) {
    return static_cast<std::size_t>(std::ranges::count_if(
        measured, [&](const Record* record) { return has_flag(case_flags(*record), flag); }));
  };
  const bool has_limits =
      std::ranges::any_of(measured, [](const Record* record) { return record->limit.has_value(); });
  const std::size_t busy = marked(CaseFlag::kBusy), capped = marked(CaseFlag::kCapped),
                    moved = marked(CaseFlag::kLimitUnstable);
  const char* how = !has_limits                   ? "times include time taken by other programs"
                    : 2 * moved > measured.size() ? "limits moved too, shares are as rough as times"
                                                  : "read shares, not times";
  if (busy > 0 && busy == measured.size()) {
    view.answer(fmt::format("the machine was busy throughout: {}", how));
  } else if (busy > 0) {
    view.answer(fmt::format("the machine was busy in {} of {} {} (B): {}", busy, measured.size(), rows, how));
  }
  if (capped == 0) return;
  view.answer(capped == measured.size()
                  ? std::string("sampling was capped before the precision goal")
                  : fmt::format("sampling was capped before the precision goal in {} of {} {} (T)", capped,
                                measured.size(), rows));
}

View run_view(const std::vector<Record>& records) {
  View view;
  const MeasuredRows rows(records);
  answer_failures(view, rows);
  const bool are_counted = answer_standings(view, rows);
  const bool has_limits = answer_limits(view, rows);
  const std::string nearest = nearest_limit_text(records);
  const bool in_answer = static_cast<std::size_t>(std::ranges::count(nearest, '\n')) <= kComparedInAnswer;
  if (in_answer) view.answer(nearest);
  const bool has_times =
      std::ranges::any_of(rows.measured(), [](const CaseRow* row) { return row->latency != nullptr; });
  if (!has_limits && nearest.empty() && (has_times || !are_counted)) answer_times(view, rows);
  const std::vector<CountedWork> counted = counted_work(records);
  const std::vector<std::string> findings = counted_findings(counted);
  if (!findings.empty()) {
    view.answer(
        findings.front() + (findings.size() == 1 ? "" : fmt::format(" ({} more below)", findings.size() - 1)),
        Tone::kBad);
  }
  std::vector<const Record*> timed;
  for (const CaseRow* row : rows.measured())
    timed.push_back(row->latency != nullptr ? row->latency : &row->any());
  answer_doubts(view, timed, "cases");
  view.table(run_table(records)).notes(run_legend(records)).notes(reference_blas_text(records), Tone::kBad);
  view.notes(unflagged_notes(records), Tone::kBad);
  if (!in_answer) view.notes(nearest, Tone::kPlain);
  if (!counted.empty()) view.table(counted_table(counted)).notes(counted_legend(counted));
  for (std::size_t i = 1; i < findings.size(); ++i) view.notes(findings[i] + "\n", Tone::kBad);
  return view.table(mean_table(records));
}

CaseFlags case_flags(const Record& record) {
  CaseFlags flags;
  if (record.outcome.kind != Outcome::Kind::kMeasured && !record.kept_wrong) return flags;
  for (std::size_t i = 0; i < kFlagCount; ++i) flags[i] = kFlags[i].applies(record);
  return flags;
}

CaseFlags doubts_of(const Record& record) {
  CaseFlags flags = case_flags(record);
  flags.reset(static_cast<std::size_t>(CaseFlag::kWarmedUp));
  return flags;
}

std::string flag_letters(const CaseFlags& flags) {
  std::string text;
  for (std::size_t i = 0; i < kFlagCount; ++i) {
    if (flags[i]) text += kFlags[i].letter;
  }
  return text;
}

std::vector<std::string> flag_meanings(const CaseFlags& flags) {
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < kFlagCount; ++i) {
    if (flags[i]) lines.push_back(fmt::format("{}  {}", kFlags[i].letter, kFlags[i].meaning));
  }
  return lines;
}

std::string flags_legend(const CaseFlags& flags) {
  std::string legend;
  for (const std::string& line : flag_meanings(flags)) legend += "  " + line + "\n";
  return legend;
}

std::string all_rows_legend(const CaseFlags& flags) {
  std::string legend;
  for (std::size_t i = 0; i < kFlagCount; ++i) {
    if (flags[i]) legend += fmt::format("  in every row: {}\n", kFlags[i].meaning);
  }
  return legend;
}

Table run_table(const std::vector<Record>& records) {
  const std::vector<CaseRow> rows = case_rows(records);
  const bool with_gpu = any_gpu(rows);
  Columns columns = Columns()
                        .left({"case"})
                        .shared("backend", Align::kLeft, "")
                        .shared("dtype", Align::kLeft, "")
                        .priority(Priority::kFirst)
                        .right({"time"})
                        .priority(Priority::kNormal)
                        .right({"± 95 %"})
                        .priority(Priority::kLast)
                        .shared("n", Align::kRight, "samples")
                        .priority(Priority::kNormal)
                        .right({"metric"})
                        .priority(Priority::kFirst)
                        .right({"of limit", "target"})
                        .priority(Priority::kLast);
  if (with_gpu) columns.right({"GPU", "mm+conv"});
  columns.priority(Priority::kNormal).left({"flags"});
  Table table(std::move(columns), 3);
  const CaseDifferences differ(records);
  const CaseFlags common = common_flags(rows);
  const bool with_spread = std::ranges::any_of(rows, [](const CaseRow& row) {
    return (row.latency != nullptr ? *row.latency : row.any()).interval.has_value();
  });
  for (const CaseRow& row : rows) add_row(table, row, differ, with_gpu, with_spread, common);
  const int threads = records.empty() || differ.threads ? 0 : records.front().threads;
  if (threads > 0) table.above(counted(static_cast<std::size_t>(threads), "thread"));
  return table;
}

std::string run_legend(const std::vector<Record>& records) {
  const std::vector<CaseRow> rows = case_rows(records);
  const CaseFlags common = common_flags(rows);
  CaseFlags flags;
  for (const CaseRow& row : rows) flags |= flags_of(row) & ~common;
  return missing_intervals(rows) + all_rows_legend(common) + flags_legend(flags) +
         (any_gpu(rows) ? kGpuLegend : "");
}

Table mean_table(const std::vector<Record>& records) {
  Table table(Columns()
                  .left({"mean over shapes"})
                  .shared("backend", Align::kLeft, "")
                  .shared("dtype", Align::kLeft, "")
                  .left({"metric"})
                  .right({"mean", "target"})
                  .priority(Priority::kLast)
                  .right({"shapes"}),
              3);
  const CaseDifferences differ(records);
  const std::set<std::string> with_shapes = experiments_with_shapes(records);
  for (const SeedRow& row : seed_rows(records)) {
    if (!with_shapes.contains(row.experiment)) continue;
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
