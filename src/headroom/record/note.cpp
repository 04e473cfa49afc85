// SPDX-License-Identifier: Apache-2.0
#include "headroom/record/record.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "headroom/base/units.h"

namespace headroom {
namespace {

/// Of the numbers {0}, {1}, {2} and the text {3}.
constexpr std::pair<NoteKind, const char*> kSentences[] = {
    {NoteKind::kText, "{3}"},
    {NoteKind::kSteal, "steal: the hypervisor took {0:.0f} ms of {1:.0f} ms"},
    {NoteKind::kPreempted, "preempted: {0:.0f} of {1:.0f} samples had involuntary switches"},
    {NoteKind::kPageFaults, "page faults: in {0:.0f} of {1:.0f} samples"},
    {NoteKind::kCpuClock, "frequency: between {0:.0f} and {1:.0f} MHz"},
    {NoteKind::kDeviceClock, "device clock: between {0:.0f} and {1:.0f} MHz"},
    {NoteKind::kDeviceMemoryClock, "device memory clock: between {0:.0f} and {1:.0f} MHz"},
    {NoteKind::kThrottled,
     "throttled: the device's clocks were held down in {0:.0f} of {1:.0f} samples ({3})"},
    {NoteKind::kPlacement, "placement: the threads moved, core to core {0:.0f} to {1:.0f} ns"},
    {NoteKind::kWarmUp, "warm-up: {0:.0f} leading samples are kept but not counted"},
    {NoteKind::kProcessesDiffer,
     "processes differ: more of them would narrow the interval, more samples would not"},
    {NoteKind::kLimitUnstable, "limit unstable: it moved by more than 10 % between its quartiles"},
    {NoteKind::kTimeCap, "time cap: stopped before the precision goal"},
    {NoteKind::kExactRounds, "as many runs as were asked for"},
    {NoteKind::kBusy, "busy: {0:.1f} of {1:.0f} CPUs were at work for other programs {3}"},
    {NoteKind::kQuota, "quota: the control group's quota of CPU time held it up for {0:.2g} s of {1:.2g} s"},
};

std::string above_limit(const Note& note, const char* doubt) {
  return fmt::format("above its limit ({}): {}its bytes or FLOPs are counted wrong",
                     format_percent(note.numbers[0]), doubt);
}

}  // namespace

std::string sentence(const Note& note) {
  const auto& [first, second, third] = note.numbers;
  if (note.kind == NoteKind::kAboveLimit) return above_limit(note, "");
  if (note.kind == NoteKind::kAboveUnstableLimit) return above_limit(note, "the limit was held up, or ");
  if (note.kind == NoteKind::kOtherPages) {
    return fmt::format(
        "pages: {:.0f} % of its inputs and outputs lies in huge pages, {:.0f} % of those of its limit ({})",
        100 * first, 100 * second, note.text);
  }
  if (note.kind == NoteKind::kFailedRuns) {
    return fmt::format("failed: {:g} of {:g} runs ({} {:g}), measured all the same", first, second,
                       third < 0 ? "signal" : "exit code", third < 0 ? -third : third);
  }
  const auto* form = std::ranges::find(kSentences, note.kind, &std::pair<NoteKind, const char*>::first);
  return fmt::format(fmt::runtime(form->second), first, second, third, note.text);
}

std::vector<std::string> sentences(const Notes& notes) {
  std::vector<std::string> all;
  all.reserve(notes.size());
  for (const Note& note : notes) all.push_back(sentence(note));
  return all;
}

}  // namespace headroom
