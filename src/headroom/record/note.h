// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

namespace headroom {

/// Subject of a note, with its numbers and text.
enum class NoteKind {
  kText,               ///< the text is the sentence
  kSteal,              ///< stolen ms, total ms
  kPreempted,          ///< samples with involuntary switches, all samples
  kPageFaults,         ///< samples with page faults, all samples
  kCpuClock,           ///< lowest and highest MHz
  kDeviceClock,        ///< as kCpuClock
  kDeviceMemoryClock,  ///< as kCpuClock
  kThrottled,          ///< throttled samples, all samples; reasons
  kPlacement,          ///< lowest and highest core-to-core ns
  kWarmUp,
  kProcessesDiffer,
  kLimitUnstable,
  kAboveLimit,          ///< share of a stable limit
  kAboveUnstableLimit,  ///< share of an unstable limit
  kOtherPages,          ///< shares in huge pages of the case and its limit; the limit
  kTimeCap,
  kExactRounds,  ///< kMaxSamples was the goal, not a cap
  kBusy,         ///< busy CPUs, all CPUs; when, and evidence
  kQuota,        ///< s held up by a cgroup quota, total s
  kFailedRuns,   ///< failed runs, all runs, exit code or negative signal
};

struct Note {
  NoteKind kind = NoteKind::kText;
  std::array<double, 3> numbers{};
  std::string text{};

  Note() = default;
  Note(std::string sentence) : text(std::move(sentence)) {}
  Note(const char* sentence) : text(sentence) {}
  Note(NoteKind of, std::array<double, 3> its_numbers = {}, std::string its_text = {})
      : kind(of), numbers(its_numbers), text(std::move(its_text)) {}

  bool operator==(const Note&) const = default;
};

using Notes = std::vector<Note>;

inline bool has_note(const Notes& notes, NoteKind kind) {
  return std::ranges::find(notes, kind, &Note::kind) != notes.end();
}

/// Returns "steal: the hypervisor took 40 ms of 400 ms".
std::string sentence(const Note& note);
std::vector<std::string> sentences(const Notes& notes);

}  // namespace headroom
