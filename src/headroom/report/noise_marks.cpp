// SPDX-License-Identifier: Apache-2.0
#include "headroom/report/noise_marks.h"

#include <algorithm>
#include <array>

#include "headroom/record/disturbance.h"
#include "headroom/record/page_share.h"
#include "headroom/record/stop_note.h"
#include "headroom/record/target_verdict.h"

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

}  // namespace headroom
