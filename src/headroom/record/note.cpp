// SPDX-License-Identifier: Apache-2.0
#include "headroom/record/record.h"

#include <fmt/format.h>

#include "headroom/base/units.h"

namespace headroom {
namespace {

std::string failed_runs(const Note& note) {
  const auto& [failed, runs, code] = note.numbers;
  return fmt::format("failed: {:g} of {:g} runs ({} {:g}), measured all the same", failed, runs,
                     code < 0 ? "signal" : "exit code", code < 0 ? -code : code);
}

std::string above_limit(const Note& note, const char* doubt) {
  return fmt::format("above its limit ({}): {}its bytes or FLOPs are counted wrong",
                     format_percent(note.numbers[0]), doubt);
}

}  // namespace

std::string sentence(const Note& note) {
  const auto& [first, second, third] = note.numbers;
  switch (note.kind) {
    case NoteKind::kText:
      return note.text;
    case NoteKind::kSteal:
      return fmt::format("steal: the hypervisor took {:.0f} ms of {:.0f} ms", first, second);
    case NoteKind::kPreempted:
      return fmt::format("preempted: {:.0f} of {:.0f} samples had involuntary switches", first, second);
    case NoteKind::kPageFaults:
      return fmt::format("page faults: in {:.0f} of {:.0f} samples", first, second);
    case NoteKind::kCpuClock:
      return fmt::format("frequency: between {:.0f} and {:.0f} MHz", first, second);
    case NoteKind::kDeviceClock:
      return fmt::format("device clock: between {:.0f} and {:.0f} MHz", first, second);
    case NoteKind::kDeviceMemoryClock:
      return fmt::format("device memory clock: between {:.0f} and {:.0f} MHz", first, second);
    case NoteKind::kThrottled:
      return fmt::format("throttled: the device's clocks were held down in {:.0f} of {:.0f} samples ({})",
                         first, second, note.text);
    case NoteKind::kPlacement:
      return fmt::format("placement: the threads moved, core to core {:.0f} to {:.0f} ns", first, second);
    case NoteKind::kWarmUp:
      return fmt::format("warm-up: {:.0f} leading samples are kept but not counted", first);
    case NoteKind::kProcessesDiffer:
      return "processes differ: more of them would narrow the interval, more samples would not";
    case NoteKind::kLimitUnstable:
      return "limit unstable: it moved by more than 10 % between its quartiles";
    case NoteKind::kAboveLimit:
      return above_limit(note, "");
    case NoteKind::kAboveUnstableLimit:
      return above_limit(note, "the limit was held up, or ");
    case NoteKind::kOtherPages:
      return fmt::format(
          "pages: {:.0f} % of its inputs and outputs lies in huge pages, {:.0f} % of those of its limit ({})",
          100 * first, 100 * second, note.text);
    case NoteKind::kTimeCap:
      return "time cap: stopped before the precision goal";
    case NoteKind::kExactRounds:
      return "as many runs as were asked for";
    case NoteKind::kBusy:
      return fmt::format("busy: {:.1f} of {:.0f} CPUs were at work for other programs {}", first, second,
                         note.text);
    case NoteKind::kQuota:
      return fmt::format("quota: the control group's quota of CPU time held it up for {:.2g} s of {:.2g} s",
                         first, second);
    case NoteKind::kFailedRuns:
      return failed_runs(note);
  }
  return note.text;
}

std::vector<std::string> sentences(const Notes& notes) {
  std::vector<std::string> all;
  all.reserve(notes.size());
  for (const Note& note : notes) all.push_back(sentence(note));
  return all;
}

}  // namespace headroom
