// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

namespace headroom {

/// What a note of a record is about, and its numbers and text.
enum class NoteKind {
  kText,                ///< anything else: the text is the sentence
  kSteal,               ///< ms that the hypervisor took, of ms
  kPreempted,           ///< samples with involuntary switches, of samples
  kPageFaults,          ///< samples with page faults, of samples
  kCpuClock,            ///< lowest and highest MHz
  kDeviceClock,         ///< as kCpuClock
  kDeviceMemoryClock,   ///< as kCpuClock
  kThrottled,           ///< samples with lowered clocks, of samples; the reasons
  kPlacement,           ///< lowest and highest ns from core to core
  kWarmUp,              ///< leading samples that do not count
  kProcessesDiffer,     ///< processes disagree more than their samples
  kLimitUnstable,       ///< the quartiles of the limit are far apart
  kAboveLimit,          ///< share of a limit that held still
  kAboveUnstableLimit,  ///< share of a limit that did not
  kOtherPages,          ///< shares in huge pages of its memory and of its limit's; the limit
  kTimeCap,             ///< stopped before the precision goal
  kAsManyAsAsked,       ///< StopReason::kMaxSamples does not mean that sampling was capped
  kBusy,                ///< CPUs at work for other programs, of CPUs; when, and what else shows it
  kQuota,               ///< s for which a control group's quota held it up, of s
  kFailedRuns,          ///< runs of a command that failed, of runs; exit code, or negative signal
};

/// A noise mark or a warning of a record.
struct Note {
  NoteKind kind = NoteKind::kText;
  std::array<double, 3> numbers{};  ///< as NoteKind says; otherwise 0
  std::string text{};

  Note() = default;
  Note(std::string sentence) : text(std::move(sentence)) {}
  Note(const char* sentence) : text(sentence) {}
  Note(NoteKind of, std::array<double, 3> its_numbers = {}, std::string its_text = {})
      : kind(of), numbers(its_numbers), text(std::move(its_text)) {}

  bool operator==(const Note&) const = default;
};

using Notes = std::vector<Note>;

/// Whether any note is of this kind.
inline bool has_note(const Notes& notes, NoteKind kind) {
  return std::ranges::find(notes, kind, &Note::kind) != notes.end();
}

/// Returns the note for a reader: "steal: the hypervisor took 40 ms of 400 ms".
std::string sentence(const Note& note);
std::vector<std::string> sentences(const Notes& notes);

}  // namespace headroom
