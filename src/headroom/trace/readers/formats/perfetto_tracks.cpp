// SPDX-License-Identifier: Apache-2.0
#include "headroom/trace/readers/formats/perfetto_tracks.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>

#include "headroom/trace/readers/wire.h"

namespace headroom::trace::readers {
namespace {

// TrackDescriptor.
constexpr std::uint32_t kUuid = 1, kName = 2, kProcess = 3, kThread = 4, kParent = 5, kStaticName = 10;
// ProcessDescriptor, ThreadDescriptor.
constexpr std::uint32_t kPid = 1, kProcessName = 6, kProcessLabels = 8, kTid = 2, kThreadName = 5;

/// Deeper than this they go round in a circle.
constexpr int kMostParents = 32;

/// The number in brackets behind `word`: "COMPUTE AGENT [4] STREAM [1] (GPU)".
std::int64_t number_in_brackets(std::string_view text, std::string_view word) {
  std::size_t at = text.find(word);
  if (at == text.npos) return -1;
  at = text.find('[', at);
  std::int64_t number = -1;
  if (at != text.npos) std::from_chars(text.data() + at + 1, text.data() + text.size(), number);
  return number;
}

}  // namespace

std::size_t PerfettoTracks::slot_of(std::uint64_t uuid) const {
  std::size_t slot = static_cast<std::size_t>(uuid * 0x9e3779b97f4a7c15U >> 20) & (slots_.size() - 1);
  while (slots_[slot] != kNone && descriptions_[slots_[slot]].uuid != uuid)
    slot = (slot + 1) & (slots_.size() - 1);
  return slot;
}

const PerfettoTracks::Description* PerfettoTracks::description_of(std::uint64_t uuid) const {
  if (slots_.empty()) return nullptr;
  const std::uint32_t row = slots_[slot_of(uuid)];
  return row == kNone ? nullptr : &descriptions_[row];
}

PerfettoTracks::Description& PerfettoTracks::description(std::uint64_t uuid) {
  constexpr std::size_t kFew = 64;
  if (2 * descriptions_.size() >= slots_.size()) {
    slots_.assign(std::max(kFew, 4 * descriptions_.size()), kNone);
    slots_.resize(std::bit_ceil(slots_.size()), kNone);
    for (std::uint32_t row = 0; row < descriptions_.size(); ++row)
      slots_[slot_of(descriptions_[row].uuid)] = row;
  }
  std::uint32_t& row = slots_[slot_of(uuid)];
  if (row == kNone) {
    row = static_cast<std::uint32_t>(descriptions_.size());
    descriptions_.push_back({.uuid = uuid});
  }
  return descriptions_[row];
}

void PerfettoTracks::read_process(std::string_view bytes, std::string_view track_name, Owner& owner) {
  WireMessage message(bytes);
  owner.is_process = true;
  for (WireField field; message.next(field);) {
    if (field.is_varint(kPid)) owner.pid = field.whole();
    if (field.is_bytes(kProcessName)) owner.process_name = field.bytes;
    if (field.is_bytes(kProcessLabels)) {
      if (!owner.process_labels.empty()) owner.process_labels += ", ";
      owner.process_labels += field.bytes;
    }
  }
  // Kineto names the track of a process "python [GPU 0]" and the process "python".
  const std::string_view process = owner.process_name;
  if (owner.process_labels.empty() && !process.empty() && track_name.starts_with(process) &&
      track_name.substr(process.size()).starts_with(" [") && track_name.ends_with("]"))
    owner.process_labels = track_name.substr(process.size() + 2, track_name.size() - process.size() - 3);
  if (owner.process_name.empty()) owner.process_name = track_name;
}

void PerfettoTracks::read_thread(std::string_view bytes, Owner& owner) {
  WireMessage message(bytes);
  owner.is_thread = true;
  for (WireField field; message.next(field);) {
    if (field.is_varint(kPid)) owner.pid = field.whole();
    if (field.is_varint(kTid)) owner.tid = field.whole();
    if (field.is_bytes(kThreadName)) owner.thread_name = field.bytes;
  }
}

void PerfettoTracks::describe(std::string_view descriptor) {
  std::uint64_t uuid = 0;
  std::string_view process, thread, name;
  std::uint64_t parent = 0;
  bool has_parent = false;
  WireMessage fields(descriptor);
  for (WireField field; fields.next(field);) {
    if (field.is_varint(kUuid)) uuid = field.value;
    if (field.is_bytes(kName) || field.is_bytes(kStaticName)) name = field.bytes;
    if (field.is_bytes(kProcess)) process = field.bytes;
    if (field.is_bytes(kThread)) thread = field.bytes;
    if (field.is_varint(kParent)) {
      parent = field.value;
      has_parent = true;
    }
  }
  Description& one = description(uuid);
  one.found = kNone;
  if (!name.empty()) one.name = names_.intern(name);
  if (has_parent) {
    one.parent = parent;
    one.has_parent = true;
  }
  if (process.empty() && thread.empty()) return;
  if (one.owner == kNone) {
    one.owner = static_cast<std::uint32_t>(owners_.size());
    owners_.emplace_back();
  }
  Owner& owner = owners_[one.owner];
  if (!thread.empty()) read_thread(thread, owner);
  if (!process.empty()) {
    read_process(process, name_of(one), owner);
    processes_[owner.pid] = one.owner;
  }
}

std::string_view PerfettoTracks::name_of(const Description& one) const {
  if (one.name != kNoName || one.owner == kNone) return names_[one.name];
  return owners_[one.owner].thread_name;
}

/// The nearest track above that is one of a process or a thread. A track below a thread's of the same name is
/// a part of it; one of another name runs beside it.
const PerfettoTracks::Description* PerfettoTracks::owner_of(const Description* own,
                                                            bool& is_of_thread) const {
  const auto is_thread = [&](const Description& one) {
    return one.owner != kNone && owners_[one.owner].is_thread;
  };
  const Description* at = own;
  is_of_thread = own != nullptr && is_thread(*own);
  for (int i = 0; at != nullptr && at->owner == kNone && at->has_parent && i < kMostParents; ++i) {
    const Description* const parent = description_of(at->parent);
    if (parent == nullptr) break;
    is_of_thread = is_thread(*parent) && (name_of(*own).empty() || name_of(*own) == name_of(*parent));
    at = parent;
  }
  return at != nullptr && at->owner != kNone ? at : nullptr;
}

PerfettoTrack PerfettoTracks::resolve(std::uint64_t uuid, const Description* own,
                                      const Description* owner_track, bool is_of_thread) const {
  PerfettoTrack track;
  const Owner* const owner = owner_track == nullptr ? nullptr : &owners_[owner_track->owner];
  const std::int64_t pid = owner == nullptr ? 0 : owner->pid;
  track.pid = std::to_string(pid);
  if (const auto process = processes_.find(pid); process != processes_.end()) {
    track.process_name = owners_[process->second].process_name;
    track.process_labels = owners_[process->second].process_labels;
  }
  if (is_of_thread) {
    track.tid = std::to_string(owner->tid);
    track.thread_name = owner->thread_name.empty() ? names_[owner_track->name] : owner->thread_name;
  } else if (own != nullptr && own == owner_track) {
    track.tid = track.pid;
  } else {
    track.thread_name = own == nullptr ? "" : names_[own->name];
    track.tid = track.thread_name.empty() ? fmt::format("track {}", uuid) : track.thread_name;
  }
  if (track.thread_name.find("AGENT [") != std::string::npos) {
    track.device = number_in_brackets(track.thread_name, "AGENT");
    track.stream = number_in_brackets(track.thread_name, "STREAM");
    if (track.stream < 0) track.stream = number_in_brackets(track.thread_name, "QUEUE");
  }
  return track;
}

/// Parts of a thread's track are found as that: one row for all of them.
const PerfettoTrack& PerfettoTracks::find(std::uint64_t uuid, bool& is_new) {
  bool is_of_thread = false;
  const Description* const own = description_of(uuid);
  const Description* const owner = owner_of(own, is_of_thread);
  const Description* const at = is_of_thread ? owner : own;
  std::uint32_t& row = at == nullptr
                           ? found_rows_.try_emplace(uuid, kNone).first->second
                           : descriptions_[static_cast<std::size_t>(at - descriptions_.data())].found;
  is_new = row == kNone;
  if (is_new) {
    row = static_cast<std::uint32_t>(found_.size());
    found_.push_back(resolve(uuid, own, owner, is_of_thread));
  }
  return found_[row];
}

}  // namespace headroom::trace::readers
