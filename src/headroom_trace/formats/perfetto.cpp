// SPDX-License-Identifier: Apache-2.0
// Traces (protos/perfetto/trace) of PyTorch's profiler (Kineto's PerfettoTraceBuilder), rocprofv3 and the
// tracing SDK.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "headroom/base/text.h"
#include "headroom_trace/bytes/wire.h"
#include "headroom_trace/columns/trace.h"
#include "headroom_trace/formats/formats.h"
#include "headroom_trace/json/json_text.h"
#include "headroom_trace/json/strict_json.h"
#include "headroom_trace/readers/event_fields.h"
#include "headroom_trace/readers/trace_assembly.h"

namespace headroom::trace::readers {
namespace {

// TrackDescriptor.
constexpr std::uint32_t kUuid = 1, kTrackName = 2, kProcess = 3, kThread = 4, kParent = 5, kStaticName = 10;
// ProcessDescriptor, ThreadDescriptor.
constexpr std::uint32_t kPid = 1, kProcessName = 6, kProcessLabels = 8, kTid = 2, kThreadName = 5;

/// Longer chains are cycles.
constexpr int kMostParents = 32;

/// "COMPUTE AGENT [4] STREAM [1] (GPU)".
std::int64_t number_in_brackets(std::string_view text, std::string_view word) {
  std::size_t at = text.find(word);
  if (at == text.npos) return -1;
  at = text.find('[', at);
  std::int64_t number = -1;
  if (at != text.npos) std::from_chars(text.data() + at + 1, text.data() + text.size(), number);
  return number;
}

struct PerfettoTrack {
  std::string pid, tid, process_name, process_labels, thread_name;
  std::int64_t device = -1, stream = -1;  ///< by name
};

class PerfettoTracks {
 public:
  /// Later descriptors of a track add to it.
  void describe(std::string_view descriptor) {
    std::uint64_t uuid = 0;
    std::string_view process, thread, name;
    std::uint64_t parent = 0;
    bool has_parent = false;
    WireMessage fields(descriptor);
    for (WireField field; fields.next(field);) {
      if (field.is_varint(kUuid)) uuid = field.value;
      if (field.is_bytes(kTrackName) || field.is_bytes(kStaticName)) name = field.bytes;
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

  const PerfettoTrack& find(std::uint64_t uuid, bool& is_new) {
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

 private:
  /// Kept small: Kineto has a track per event.
  struct Description {
    std::uint64_t uuid = 0, parent = 0;
    NameId name = kNoName;
    std::uint32_t owner = kNone;  ///< row of owners_
    std::uint32_t found = kNone;  ///< row of found_
    bool has_parent = false;
  };
  struct Owner {
    bool is_process = false, is_thread = false;
    std::int64_t pid = 0, tid = 0;
    std::string process_name, process_labels, thread_name;
  };

  void read_process(std::string_view bytes, std::string_view track_name, Owner& owner) {
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
    // Kineto names a process track "python [GPU 0]" and its process "python".
    const std::string_view process = owner.process_name;
    if (owner.process_labels.empty() && !process.empty() && track_name.starts_with(process) &&
        track_name.substr(process.size()).starts_with(" [") && track_name.ends_with("]"))
      owner.process_labels = track_name.substr(process.size() + 2, track_name.size() - process.size() - 3);
    if (owner.process_name.empty()) owner.process_name = track_name;
  }

  void read_thread(std::string_view bytes, Owner& owner) {
    WireMessage message(bytes);
    owner.is_thread = true;
    for (WireField field; message.next(field);) {
      if (field.is_varint(kPid)) owner.pid = field.whole();
      if (field.is_varint(kTid)) owner.tid = field.whole();
      if (field.is_bytes(kThreadName)) owner.thread_name = field.bytes;
    }
  }

  PerfettoTracks::Description& description(std::uint64_t uuid) {
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

  const PerfettoTracks::Description* description_of(std::uint64_t uuid) const {
    if (slots_.empty()) return nullptr;
    const std::uint32_t row = slots_[slot_of(uuid)];
    return row == kNone ? nullptr : &descriptions_[row];
  }

  std::size_t slot_of(std::uint64_t uuid) const {
    std::size_t slot = static_cast<std::size_t>(uuid * 0x9e3779b97f4a7c15U >> 20) & (slots_.size() - 1);
    while (slots_[slot] != kNone && descriptions_[slots_[slot]].uuid != uuid)
      slot = (slot + 1) & (slots_.size() - 1);
    return slot;
  }

  std::string_view name_of(const Description& one) const {
    if (one.name != kNoName || one.owner == kNone) return names_[one.name];
    return owners_[one.owner].thread_name;
  }

  /// The nearest process or thread above. A child with the name of its thread track belongs to it; other
  /// children are parallel.
  const PerfettoTracks::Description* owner_of(const Description* own, bool& is_of_thread) const {
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

  PerfettoTrack resolve(std::uint64_t uuid, const Description* own, const Description* owner_track,
                        bool is_of_thread) const {
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

  Names names_;
  std::vector<Description> descriptions_;
  std::vector<std::uint32_t> slots_;  ///< open addressing; kNone: free
  std::vector<Owner> owners_;
  std::unordered_map<std::int64_t, std::uint32_t> processes_;  ///< rows of owners_ by pid
  std::deque<PerfettoTrack> found_;
  std::unordered_map<std::uint64_t, std::uint32_t> found_rows_;  ///< without a descriptor
};

struct PerfettoEvent;

/// Simultaneous readings of the trace's clocks.
class PerfettoClocks {
 public:
  /// Clocks 64 to 127 are local to the sequence.
  void add_snapshot(std::string_view snapshot, std::uint64_t sequence);
  /// To the trace's clock (default: boot time); unrelated clocks are assumed equal.
  std::int64_t to_trace_time(std::uint64_t clock, std::uint64_t sequence, std::int64_t ns) const;

 private:
  using Key = std::pair<std::uint64_t, std::uint64_t>;  ///< clock, and sequence if local
  static Key key_of(std::uint64_t clock, std::uint64_t sequence);
  std::optional<std::int64_t> convert(Key from, Key to, std::int64_t ns) const;

  struct Reading {
    std::size_t snapshot = 0;
    std::int64_t ns = 0;
  };
  std::size_t snapshots_ = 0;
  std::map<Key, std::vector<Reading>> readings_;
  std::uint64_t primary_ = kBootTime;
  static constexpr std::uint64_t kBootTime = 6;
};

class PerfettoSequence {
 public:
  /// Call after lost packets.
  void clear();
  bool has_state() const { return has_state_; }
  void take_interned(std::string_view interned);
  void take_defaults(std::string_view defaults);
  void take_clocks(std::string_view snapshot);

  using Texts = std::unordered_map<std::uint64_t, std::string>;
  Texts categories, names, annotation_names, annotation_texts;
  std::uint64_t default_track = 0;

  /// On the trace's clock; nothing if out of range.
  std::optional<std::int64_t> time_of(bool has_timestamp, std::uint64_t timestamp, std::uint64_t clock,
                                      const PerfettoEvent& event, const PerfettoClocks& clocks,
                                      std::uint64_t sequence);

 private:
  struct Clock {
    std::uint64_t unit_ns = 1, last = 0;
    bool is_incremental = false;
  };
  std::map<std::uint64_t, Clock> clocks_;
  std::uint64_t default_clock_ = 0;
  std::int64_t last_us_ = 0;
  bool has_state_ = false;
};

/// A resolved TrackEvent. Texts live as long as the packet and the sequence.
struct PerfettoEvent {
  enum Type : std::uint8_t { kUnknown, kBegin, kEnd, kInstant, kCounter, kComplete };

  void read(std::string_view bytes, const PerfettoSequence& sequence);

  Type type = kUnknown;
  std::uint64_t track = 0;
  std::string_view name, category_text;
  std::int64_t duration_ns = 0;  ///< for kComplete
  std::optional<std::int64_t> delta_us, absolute_us;
  EventArguments arguments;  ///< with Kineto's names
  bool is_whole = false;

  /// Of a known writer, else from name and arguments (Kineto omits it).
  Category category(const PerfettoTrack& on) const;
  EventArguments arguments_of(Category category, const PerfettoTrack& on) const;
  bool is_memory() const;

  /// Kineto writes metadata as instants.
  template <typename Use>
  void each_metadata(Use use) const {
    for (const auto& [key, value] : texts_) {
      if (name == "trace_metadata") use(key, value);
      if (name == "device_properties" && key == "properties")
        use("deviceProperties", value.starts_with('[') ? std::string(value) : '[' + std::string(value) + ']');
    }
  }

 private:
  bool has(std::string_view key) const { return arguments.has(key) || has_key(metadata_, key); }
  bool is_operator() const;
  void read_annotation(std::string_view bytes, const PerfettoSequence& sequence);
  void read_legacy(std::string_view bytes, const PerfettoSequence& sequence);

  std::vector<std::pair<std::string_view, std::string_view>> texts_;
  std::string_view metadata_;  ///< Kineto's "args", JSON, parsed on demand
};

// DebugAnnotation.
constexpr std::uint32_t kAnnotationNameNumber = 1, kBool = 2, kUnsigned = 3, kSigned = 4, kDouble = 5,
                        kText = 6, kPointer = 7, kNested = 8, kJson = 9, kAnnotationName = 10, kEntries = 11,
                        kElements = 12, kTextNumber = 17;
// NestedValue of older versions.
constexpr std::uint32_t kNestedType = 1, kDictKey = 2, kDictValue = 3, kElement = 4, kNestedWhole = 5,
                        kNestedReal = 6, kNestedBool = 7, kNestedText = 8;

/// Bounds recursion.
constexpr int kDeepest = 32;

std::string_view text_of(const PerfettoSequence::Texts& texts, std::uint64_t number) {
  const auto found = texts.find(number);
  return found == texts.end() ? std::string_view{} : std::string_view(found->second);
}

/// "" if unknown.
std::string_view annotation_name(std::string_view annotation, const PerfettoSequence& sequence) {
  std::string_view name;
  WireMessage message(annotation);
  for (WireField field; message.next(field);) {
    if (field.is_varint(kAnnotationNameNumber)) name = text_of(sequence.annotation_names, field.value);
    if (field.is_bytes(kAnnotationName)) name = field.bytes;
  }
  return name;
}

std::string_view annotation_text(std::string_view annotation, const PerfettoSequence& sequence) {
  std::string_view text;
  WireMessage message(annotation);
  for (WireField field; message.next(field);) {
    if (field.is_bytes(kText)) text = field.bytes;
    if (field.is_varint(kTextNumber)) text = text_of(sequence.annotation_texts, field.value);
  }
  return text;
}

/// Lists and dictionaries become JSON.
void add_nested(const ArgumentName& name, std::string_view bytes, int depth, EventArguments& arguments) {
  std::vector<std::string_view> keys;
  std::uint64_t type = 0;
  WireMessage message(bytes);
  for (WireField field; message.next(field);) {
    if (field.is_varint(kNestedType)) type = field.value;
    if (field.is_bytes(kDictKey)) keys.push_back(field.bytes);
  }
  constexpr std::uint64_t kDict = 1, kArray = 2;
  EventArguments value, parts;
  std::size_t entry = 0;
  value.add_json(name, "null");
  const auto set = [&](const auto& one) {
    value.clear();
    value.add(name, one);
  };
  WireMessage again(bytes);
  for (WireField field; depth <= kDeepest && again.next(field);) {
    if (field.is_bytes(kDictValue) && type == kDict && entry < keys.size())
      add_nested(keys[entry++], field.bytes, depth + 1, parts);
    if (field.is_bytes(kElement) && type == kArray) add_nested("", field.bytes, depth + 1, parts);
    if (field.is_varint(kNestedWhole)) set(field.whole());
    if (field.is(kNestedReal, WireType::kFixed64)) set(field.real());
    if (field.is_varint(kNestedBool)) set(field.value != 0);
    if (field.is_bytes(kNestedText)) set(field.bytes);
  }
  if (depth <= kDeepest && (type == kDict || type == kArray)) {
    arguments.add_json(name, parts.json(type == kDict));
  } else {
    arguments.append(value);
  }
}

void add_annotation(const ArgumentName& name, std::string_view annotation, const PerfettoSequence& sequence,
                    int depth, EventArguments& arguments) {
  const std::size_t before = arguments.size();
  const auto set = [&](const auto& value) {
    arguments.keep_first(before);
    arguments.add(name, value);
  };
  const auto set_json = [&](std::string_view json) {
    arguments.keep_first(before);
    arguments.add_json(name, json);
  };
  if (depth > kDeepest) return set_json("null");
  EventArguments elements, members;
  WireMessage message(annotation);
  for (WireField field; message.next(field);) {
    if (field.is_varint(kBool)) set(field.value != 0);
    if (field.is_varint(kUnsigned) || field.is_varint(kPointer)) set(field.value);
    if (field.is_varint(kSigned)) set(field.whole());
    if (field.is(kDouble, WireType::kFixed64)) set(field.real());
    if (field.is_bytes(kNested)) {
      arguments.keep_first(before);
      add_nested(name, field.bytes, depth + 1, arguments);
    }
    if (field.is_bytes(kText) || field.is_bytes(kJson) || field.is_varint(kTextNumber)) {
      const std::string_view text =
          field.number == kTextNumber ? text_of(sequence.annotation_texts, field.value) : field.bytes;
      // Converted Chrome JSON has lists as text.
      const bool is_list = depth == 0 && text.starts_with('[') && text.ends_with(']');
      const std::string json = field.number == kJson || is_list ? clean_json(text) : std::string();
      json.empty() ? set(text) : set_json(json);
    }
    if (!field.is_bytes(kElements) && !field.is_bytes(kEntries)) continue;
    EventArguments& parts = field.number == kElements ? elements : members;
    const std::size_t parts_before = parts.size();
    const std::string_view part_name = annotation_name(field.bytes, sequence);
    add_annotation(part_name, field.bytes, sequence, depth + 1, parts);
    if (parts.size() == parts_before) parts.add_json(part_name, "null");
  }
  if (!members.empty()) {
    set_json(members.json(true));
  } else if (!elements.empty()) {
    set_json(elements.json(false));
  }
}

// ClockSnapshot and its Clock.
constexpr std::uint32_t kClocks = 1, kPrimary = 2;
constexpr std::uint32_t kId = 1, kTime = 2, kIsIncremental = 3, kUnit = 4;
// InternedData (entries: number and text); TracePacketDefaults.
constexpr std::uint32_t kInternedCategories = 1, kInternedNames = 2, kInternedAnnotationNames = 3,
                        kInternedAnnotationTexts = 29;
constexpr std::uint32_t kDefaultClock = 58, kEventDefaults = 11, kDefaultTrack = 11;

constexpr std::uint64_t kFirstOfSequence = 64, kLastOfSequence = 127;

struct ClockReading {
  std::uint64_t id = 0, time = 0, unit_ns = 1;
  bool is_incremental = false;
};

ClockReading reading_of(std::string_view clock) {
  ClockReading reading;
  WireMessage message(clock);
  for (WireField field; message.next(field);) {
    if (field.is_varint(kId)) reading.id = field.value;
    if (field.is_varint(kTime)) reading.time = field.value;
    if (field.is_varint(kIsIncremental)) reading.is_incremental = field.value != 0;
    if (field.is_varint(kUnit)) reading.unit_ns = std::max<std::uint64_t>(field.value, 1);
  }
  return reading;
}

/// Nothing if out of range.
std::optional<std::int64_t> nanoseconds(std::uint64_t count, std::uint64_t unit_ns) {
  if (count > static_cast<std::uint64_t>(kMaxNs) / unit_ns) return std::nullopt;
  return static_cast<std::int64_t>(count * unit_ns);
}

void take_text(std::string_view entry, PerfettoSequence::Texts& texts) {
  std::uint64_t number = 0;
  std::string_view text;
  WireMessage message(entry);
  for (WireField field; message.next(field);) {
    if (field.is_varint(1)) number = field.value;
    if (field.is_bytes(2)) text = field.bytes;
  }
  texts[number] = text;
}

PerfettoClocks::Key PerfettoClocks::key_of(std::uint64_t clock, std::uint64_t sequence) {
  return {clock, clock >= kFirstOfSequence && clock <= kLastOfSequence ? sequence : 0};
}

void PerfettoClocks::add_snapshot(std::string_view snapshot, std::uint64_t sequence) {
  WireMessage message(snapshot);
  for (WireField field; message.next(field);) {
    if (field.is_varint(kPrimary)) primary_ = field.value;
    if (!field.is_bytes(kClocks)) continue;
    const ClockReading reading = reading_of(field.bytes);
    if (const auto ns = nanoseconds(reading.time, reading.unit_ns))
      readings_[key_of(reading.id, sequence)].push_back({snapshots_, *ns});
  }
  ++snapshots_;
}

/// By the last snapshot before `ns` with both clocks, else the first.
std::optional<std::int64_t> PerfettoClocks::convert(Key from, Key to, std::int64_t ns) const {
  const auto source = readings_.find(from), target = readings_.find(to);
  if (source == readings_.end() || target == readings_.end()) return std::nullopt;
  const auto there = [&](std::size_t snapshot) -> const Reading* {
    const auto found = std::ranges::lower_bound(target->second, snapshot, {}, &Reading::snapshot);
    return found != target->second.end() && found->snapshot == snapshot ? &*found : nullptr;
  };
  const auto& readings = source->second;
  auto at = std::ranges::upper_bound(readings, ns, {}, &Reading::ns);
  while (at != readings.begin()) {
    --at;
    if (const Reading* other = there(at->snapshot)) return other->ns + (ns - at->ns);
  }
  for (const Reading& reading : readings) {
    if (const Reading* other = there(reading.snapshot)) return other->ns + (ns - reading.ns);
  }
  return std::nullopt;
}

std::int64_t PerfettoClocks::to_trace_time(std::uint64_t clock, std::uint64_t sequence,
                                           std::int64_t ns) const {
  const Key from = key_of(clock, sequence), to = key_of(primary_, 0);
  if (clock == 0 || from == to) return ns;
  if (const auto direct = convert(from, to, ns)) return *direct;
  // Via boot time, monotonic, real time.
  for (const std::uint64_t middle : {kBootTime, std::uint64_t{3}, std::uint64_t{1}}) {
    const auto half = convert(from, {middle, 0}, ns);
    const auto whole = half ? convert({middle, 0}, to, *half) : std::nullopt;
    if (whole) return *whole;
  }
  return ns;
}

void PerfettoSequence::clear() {
  categories.clear();
  names.clear();
  annotation_names.clear();
  annotation_texts.clear();
  default_track = 0;
  default_clock_ = 0;
  has_state_ = true;
}

void PerfettoSequence::take_interned(std::string_view interned) {
  WireMessage message(interned);
  for (WireField field; message.next(field);) {
    if (field.is_bytes(kInternedCategories)) take_text(field.bytes, categories);
    if (field.is_bytes(kInternedNames)) take_text(field.bytes, names);
    if (field.is_bytes(kInternedAnnotationNames)) take_text(field.bytes, annotation_names);
    if (field.is_bytes(kInternedAnnotationTexts)) take_text(field.bytes, annotation_texts);
  }
}

void PerfettoSequence::take_defaults(std::string_view defaults) {
  WireMessage message(defaults);
  for (WireField field; message.next(field);) {
    if (field.is_varint(kDefaultClock)) default_clock_ = field.value;
    if (!field.is_bytes(kEventDefaults)) continue;
    WireMessage event(field.bytes);
    for (WireField member; event.next(member);) {
      if (member.is_varint(kDefaultTrack)) default_track = member.value;
    }
  }
}

void PerfettoSequence::take_clocks(std::string_view snapshot) {
  WireMessage message(snapshot);
  for (WireField field; message.next(field);) {
    if (!field.is_bytes(kClocks)) continue;
    const ClockReading reading = reading_of(field.bytes);
    if (reading.id < kFirstOfSequence || reading.id > kLastOfSequence) continue;
    clocks_[reading.id] = {reading.unit_ns, reading.time, reading.is_incremental};
  }
}

std::optional<std::int64_t> PerfettoSequence::time_of(bool has_timestamp, std::uint64_t timestamp,
                                                      std::uint64_t clock, const PerfettoEvent& event,
                                                      const PerfettoClocks& clocks, std::uint64_t sequence) {
  // Old writers count in microseconds.
  if (event.absolute_us || event.delta_us) {
    const std::int64_t us = event.absolute_us ? *event.absolute_us : last_us_ + *event.delta_us;
    if (us > kMaxNs / 1000 || us < -kMaxNs / 1000) return std::nullopt;
    last_us_ = us;
    return us * 1000;
  }
  if (!has_timestamp) return 0;
  if (clock == 0) clock = default_clock_;
  std::uint64_t unit_ns = 1;
  if (const auto own = clocks_.find(clock); own != clocks_.end()) {
    unit_ns = own->second.unit_ns;
    if (own->second.is_incremental) timestamp = own->second.last += timestamp;
  }
  const auto ns = nanoseconds(timestamp, unit_ns);
  if (!ns) return std::nullopt;
  const std::int64_t at = clocks.to_trace_time(clock, sequence, *ns);
  return at > kMaxNs || at < -kMaxNs ? std::nullopt : std::optional(at);
}

// TrackEvent.
constexpr std::uint32_t kDeltaUs = 1, kCategoryNumbers = 3, kAnnotations = 4, kLegacy = 6, kType = 9,
                        kEventNameNumber = 10, kTrack = 11, kAbsoluteUs = 16, kEventCategories = 22,
                        kEventName = 23;
// LegacyEvent.
constexpr std::uint32_t kLegacyName = 1, kPhase = 2, kDurationUs = 3;

struct Renaming {
  std::string_view from, to;
};

/// From rocprofv3's names to Kineto's.
constexpr std::array kRenamings{Renaming{"corr_id", "correlation"}, Renaming{"copy_bytes", "bytes"}};

std::string_view renamed(std::string_view key) {
  const auto* const found = std::ranges::find(kRenamings, key, &Renaming::from);
  return found == kRenamings.end() ? key : found->to;
}

struct CategoryName {
  std::string_view text;
  Category category;
};

constexpr std::array kRocprofCategories{
    CategoryName{"kernel_dispatch", Category::kKernel},   CategoryName{"memory_copy", Category::kGpuMemcpy},
    CategoryName{"hip_api", Category::kRuntime},          CategoryName{"hip_runtime_api", Category::kRuntime},
    CategoryName{"hip_compiler_api", Category::kRuntime}, CategoryName{"hsa_api", Category::kDriver},
    CategoryName{"marker_api", Category::kUserAnnotation}};

/// Kineto's name for allocations.
constexpr std::string_view kMemory = "[memory]";

void PerfettoEvent::read(std::string_view bytes, const PerfettoSequence& sequence) {
  type = kUnknown;
  track = sequence.default_track;
  name = category_text = {};
  duration_ns = 0;
  delta_us = absolute_us = std::nullopt;
  arguments.clear();
  texts_.clear();
  metadata_ = {};
  const auto take_category = [&](std::string_view text) {
    // A known category wins.
    if (category_text.empty() || category_of(text) != Category::kOther) category_text = text;
  };
  WireMessage message(bytes);
  for (WireField field; message.next(field);) {
    if (field.is_varint(kType)) type = static_cast<Type>(std::min<std::uint64_t>(field.value, kCounter));
    if (field.is_varint(kTrack)) track = field.value;
    if (field.is_varint(kEventNameNumber)) name = text_of(sequence.names, field.value);
    if (field.is_bytes(kEventName)) name = field.bytes;
    if (field.is_varint(kCategoryNumbers)) take_category(text_of(sequence.categories, field.value));
    if (field.is_bytes(kEventCategories)) take_category(field.bytes);
    if (field.is_varint(kDeltaUs)) delta_us = std::clamp<std::int64_t>(field.whole(), -kMaxNs, kMaxNs);
    if (field.is_varint(kAbsoluteUs)) absolute_us = field.whole();
    if (field.is_bytes(kLegacy)) read_legacy(field.bytes, sequence);
    if (field.is_bytes(kAnnotations)) read_annotation(field.bytes, sequence);
  }
  is_whole = message.is_whole();
}

void PerfettoEvent::read_annotation(std::string_view bytes, const PerfettoSequence& sequence) {
  std::string_view key = annotation_name(bytes, sequence);
  constexpr std::string_view kPrefix = "debug.";
  if (key.starts_with(kPrefix)) key.remove_prefix(kPrefix.size());
  if (key.empty()) return;
  const std::string_view text = annotation_text(bytes, sequence);
  if (!text.empty()) texts_.emplace_back(key, text);
  if (key == "metadata" && !text.empty()) {
    metadata_ = text;
  } else {
    add_annotation(renamed(key), bytes, sequence, 0, arguments);
  }
}

void PerfettoEvent::read_legacy(std::string_view bytes, const PerfettoSequence& sequence) {
  WireMessage message(bytes);
  for (WireField field; message.next(field);) {
    if (field.is_varint(kLegacyName)) name = text_of(sequence.names, field.value);
    if (field.is_varint(kDurationUs)) {
      duration_ns = static_cast<std::int64_t>(
                        std::min<std::uint64_t>(field.value, static_cast<std::uint64_t>(kMaxNs) / 1000)) *
                    1000;
    }
    if (!field.is_varint(kPhase)) continue;
    switch (field.value) {
      case 'X':
        type = kComplete;
        break;
      case 'B':
        type = kBegin;
        break;
      case 'E':
        type = kEnd;
        break;
      case 'i':
      case 'I':
        type = kInstant;
        break;
      default:
        type = kUnknown;
    }
  }
}

bool PerfettoEvent::is_memory() const {
  return name == kMemory && has("Addr");
}

/// Names without a namespace are from 29 real traces.
bool PerfettoEvent::is_operator() const {
  constexpr std::array<std::string_view, 7> kNames{
      "detach",      "record_param_comms",    "_grad_sum_to_size", "Pregraph bytecode",
      "TorchDynamo", "Torch-Compiled Region", "AOTDispatcher"};
  if (name.starts_with("nccl:")) return false;
  return contains(name, "::") ||
         std::ranges::any_of(kNames, [&](std::string_view known) { return name.starts_with(known); }) ||
         has("Sequence number") || has("Fwd thread id") || has("Input Dims") || has("Input type");
}

Category PerfettoEvent::category(const PerfettoTrack& on) const {
  if (const Category known = category_of(category_text); known != Category::kOther) return known;
  const auto* const rocprof = std::ranges::find(kRocprofCategories, category_text, &CategoryName::text);
  if (rocprof != kRocprofCategories.end()) return rocprof->category;
  if (!category_text.empty()) return Category::kOther;
  if (has("cuda_sync_kind") || has("hip_sync_kind")) return Category::kGpuSync;
  if (has("stream") && has("device")) {
    if (name.starts_with("Memcpy")) return Category::kGpuMemcpy;
    return name.starts_with("Memset") ? Category::kGpuMemset : Category::kKernel;
  }
  if (on.thread_name.starts_with("stream ")) return Category::kGpuAnnotation;
  if (has("cbid") || (has("correlation") && !has("Ev Idx"))) {
    const bool is_driver = name.starts_with("cu") && !name.starts_with("cuda");
    return is_driver ? Category::kDriver : Category::kRuntime;
  }
  if (has("Python id")) return Category::kPython;
  if (is_operator()) return Category::kCpuOp;
  const bool is_recorded =
      has("Ev Idx") || has("Record function id") || has("External id") || has("correlation_id");
  return is_recorded || name.starts_with("nccl:") || name.starts_with("ProfilerStep#")
             ? Category::kUserAnnotation
             : Category::kOther;
}

EventArguments PerfettoEvent::arguments_of(Category category, const PerfettoTrack& on) const {
  EventArguments all;
  if (!metadata_.empty() && !all.add_members(metadata_)) all.add("metadata", metadata_);
  all.append(arguments);
  // Kineto: the operator's correlation id is its work's external id.
  const bool is_host = category == Category::kCpuOp || category == Category::kUserAnnotation;
  if (is_host && !all.has("External id")) all.rename("correlation_id", Argument::kExternalId);
  if (is_gpu_work(category)) {
    if (on.device >= 0 && !has("device")) all.add(Argument::kDevice, on.device);
    if (on.stream >= 0 && !has("stream")) all.add(Argument::kStream, on.stream);
  }
  return all;
}

// TracePacket.
constexpr std::uint32_t kClockSnapshot = 6, kTimestamp = 8, kSequenceId = 10, kTrackEvent = 11,
                        kInternedData = 12, kSequenceFlags = 13, kStateCleared = 41, kCompressed = 50,
                        kClockId = 58, kDefaults = 59, kTrackDescriptor = 60, kZstdCompressed = 133;
constexpr std::uint64_t kFlagCleared = 1, kFlagNeedsState = 2;
/// Services keep packets below 512 KiB.
constexpr std::uint32_t kPacket = 1;
constexpr std::uint64_t kLargestPacket = std::uint64_t{1} << 26;

struct Packet {
  std::uint64_t offset = 0;
  std::uint64_t timestamp = 0, clock = 0, sequence = 0, flags = 0;
  bool is_cleared = false, has_timestamp = false;
  std::string_view event, interned, defaults, descriptor, clocks, compressed, zstd;
  bool has_event = false, is_whole = false;
};

Packet packet_of(std::string_view bytes, std::uint64_t offset) {
  Packet packet;
  packet.offset = offset;
  WireMessage message(bytes);
  for (WireField field; message.next(field);) {
    if (field.is_varint(kTimestamp)) {
      packet.timestamp = field.value;
      packet.has_timestamp = true;
    } else if (field.is_varint(kClockId)) {
      packet.clock = field.value;
    } else if (field.is_varint(kSequenceId)) {
      packet.sequence = field.value;
    } else if (field.is_varint(kSequenceFlags)) {
      packet.flags = field.value;
    } else if (field.is_varint(kStateCleared)) {
      packet.is_cleared = field.value != 0;
    } else if (field.is_bytes(kTrackEvent)) {
      packet.event = field.bytes;
      packet.has_event = true;
    } else if (field.is_bytes(kInternedData)) {
      packet.interned = field.bytes;
    } else if (field.is_bytes(kDefaults)) {
      packet.defaults = field.bytes;
    } else if (field.is_bytes(kTrackDescriptor)) {
      packet.descriptor = field.bytes;
    } else if (field.is_bytes(kClockSnapshot)) {
      packet.clocks = field.bytes;
    } else if (field.is_bytes(kCompressed)) {
      packet.compressed = field.bytes;
    } else if (field.is_bytes(kZstdCompressed)) {
      packet.zstd = field.bytes;
    }
  }
  packet.is_whole = message.is_whole();
  packet.is_cleared = packet.is_cleared || (packet.flags & kFlagCleared) != 0;
  return packet;
}

/// Reads the file twice if possible, as descriptions may follow their use.
class PerfettoReader {
 public:
  PerfettoReader(FormatInput& input, EventSink& events) : input_(input), events_(events) {}

  void read() {
    std::uint64_t bytes = 0;
    if (input_.again) {
      is_learning_ = true;
      read_packets(*input_.again(), false);
      is_learning_ = false;
    }
    read_packets(input_.bytes, false);
    bytes = inner_offset_;
    for (auto& [track, slices] : open_) {
      for (const OpenSlice& slice : slices) {
        events_.skip(slice.offset, fmt::format("the slice {} has no end", quote(slice.name)));
      }
    }
    events_.finish(bytes);
  }

 private:
  struct OpenSlice {
    std::uint64_t offset = 0;
    std::int64_t start_ns = 0;
    Category category = Category::kOther;
    bool is_kept = true, is_memory = false;
    std::string name{}, category_text{};
    EventArguments arguments{};
  };

  void read_packets(ByteSource& source, bool is_inner);

  void take(const Packet& packet, bool is_inner) {
    if (!packet.compressed.empty() || !packet.zstd.empty()) return unpack(packet, is_inner);
    if (is_learning_) return learn(packet);
    if (!packet.is_whole) events_.problem(packet.offset, "a packet with invalid fields");
    if (!input_.again) learn(packet);
    PerfettoSequence& sequence = sequences_[packet.sequence];
    if (packet.is_cleared) sequence.clear();
    if (!packet.clocks.empty()) sequence.take_clocks(packet.clocks);
    if (!packet.interned.empty()) sequence.take_interned(packet.interned);
    if (!packet.defaults.empty()) sequence.take_defaults(packet.defaults);
    if (!packet.has_event) return;
    if ((packet.flags & kFlagNeedsState) != 0 && !sequence.has_state())
      return events_.skip(packet.offset, "an event that refers to names from before the start of the file");
    take_event(packet, sequence);
  }

  void learn(const Packet& packet) {
    if (!packet.descriptor.empty()) tracks_.describe(packet.descriptor);
    if (!packet.clocks.empty()) clocks_.add_snapshot(packet.clocks, packet.sequence);
  }

  /// Packets are compressed only one level deep.
  void unpack(const Packet& packet, bool is_inner) {
    if (is_inner) return;
    constexpr std::size_t kZlibHeader = 2;
    std::unique_ptr<ByteSource> source;
    if (!packet.zstd.empty()) {
      source = unpack_zstd(memory_source(packet.zstd));
    } else {
      source = unpack_deflate(
          memory_source(packet.compressed.substr(std::min(kZlibHeader, packet.compressed.size()))));
    }
    read_packets(*source, true);
    if (const std::string damage = source->damage(); !damage.empty() && !is_learning_)
      events_.problem(packet.offset, "packed packets: " + damage);
  }
  void take_event(const Packet& packet, PerfettoSequence& sequence);

  void begin(const PerfettoEvent& event, std::int64_t at_ns, std::uint64_t offset) {
    const PerfettoTrack& track = track_of(event.track);
    OpenSlice slice{.offset = offset, .start_ns = at_ns};
    slice.category = event.category(track);
    slice.is_memory = event.is_memory();
    slice.is_kept = slice.is_memory || events_.wants(slice.category);
    slice.name = event.name;
    if (slice.is_kept) {
      slice.arguments = event.arguments_of(slice.category, track);
      slice.category_text = event.category_text;
    }
    open_[event.track].push_back(std::move(slice));
  }

  void end(const PerfettoEvent& event, std::int64_t at_ns, std::uint64_t offset) {
    std::vector<OpenSlice>& slices = open_[event.track];
    if (slices.empty()) return events_.skip(offset, "the end of a slice without a begin");
    OpenSlice slice = std::move(slices.back());
    slices.pop_back();
    if (slices.empty()) open_.erase(event.track);
    if (!slice.is_kept) return events_.count_unneeded();
    slice.arguments.append(event.arguments);
    add(slice, event.track, at_ns);
  }

  void instant(const PerfettoEvent& event, std::int64_t at_ns, std::uint64_t offset) {
    if (event.is_memory()) {
      return add({offset,
                  at_ns,
                  Category::kOther,
                  true,
                  true,
                  std::string(event.name),
                  {},
                  event.arguments_of(Category::kOther, track_of(event.track))},
                 event.track, at_ns);
    }
    events_.count_without_columns();
    event.each_metadata([&](std::string_view key, std::string_view json) {
      if (is_metadata_key(key) && key != "baseTimeNanoseconds") events_.json_member(key, json, offset);
    });
  }
  void add(const OpenSlice& slice, std::uint64_t track, std::int64_t end_ns);

  const PerfettoTrack& track_of(std::uint64_t uuid) {
    bool is_new = false;
    const PerfettoTrack& track = tracks_.find(uuid, is_new);
    if (is_new && named_.insert(track.pid).second)
      events_.name_process(track.pid, track.process_name, track.process_labels);
    if (is_new && !track.thread_name.empty() && named_.insert(track.pid + '\x1f' + track.tid).second)
      events_.name_thread({track.pid, track.tid}, track.thread_name);
    return track;
  }

  FormatInput& input_;
  EventSink& events_;
  PerfettoTracks tracks_;
  PerfettoClocks clocks_;
  std::unordered_map<std::uint64_t, PerfettoSequence> sequences_;
  std::unordered_map<std::uint64_t, std::vector<OpenSlice>> open_;  ///< innermost last
  std::unordered_set<std::string> named_;
  PerfettoEvent event_;
  bool is_learning_ = false;
  std::uint64_t inner_offset_ = 0;
};

void PerfettoReader::read_packets(ByteSource& source, bool is_inner) {
  WireStream stream(source);
  constexpr std::uint64_t kReport = 1 << 13;
  const auto report_problem = [&](std::uint64_t at, std::string what) {
    if (!is_learning_) events_.cut_off(is_inner ? inner_offset_ : at, std::move(what));
  };
  for (std::uint64_t count = 0;; ++count) {
    const std::uint64_t at = stream.offset();
    if (!is_inner) inner_offset_ = at;
    WireField field;
    const WireStream::Next next = stream.next(field);
    if (next == WireStream::Next::kOver) break;
    if (next == WireStream::Next::kBroken) {
      report_problem(at, "expected a packet; the rest of the file cannot be read");
      break;
    }
    if (next == WireStream::Next::kCutOff) {
      report_problem(at, "the file ends inside a packet");
      break;
    }
    if (field.type != WireType::kBytes) continue;
    if (field.number != kPacket || field.value > kLargestPacket) {
      if (field.number == kPacket && !is_learning_) events_.problem(at, "a packet of more than 64 MiB");
      if (stream.pass(field.value)) continue;
      report_problem(at, "the file ends inside a packet");
      break;
    }
    const auto bytes = stream.take(field.value);
    if (!bytes) {
      report_problem(at, "the file ends inside a packet");
      break;
    }
    take(packet_of(*bytes, is_inner ? inner_offset_ : at), is_inner);
    if (!is_inner && count % kReport == 0 && !is_learning_) events_.progress(source.done(), source.size());
  }
  if (!is_inner) inner_offset_ = stream.offset();
}

void PerfettoReader::take_event(const Packet& packet, PerfettoSequence& sequence) {
  event_.read(packet.event, sequence);
  if (!event_.is_whole) events_.problem(packet.offset, "an event with invalid fields");
  const auto at = sequence.time_of(packet.has_timestamp, packet.timestamp, packet.clock, event_, clocks_,
                                   packet.sequence);
  if (!at) return events_.skip(packet.offset, "its time is out of range");
  switch (event_.type) {
    case PerfettoEvent::kBegin:
      return begin(event_, *at, packet.offset);
    case PerfettoEvent::kEnd:
      return end(event_, *at, packet.offset);
    case PerfettoEvent::kInstant:
      return instant(event_, *at, packet.offset);
    case PerfettoEvent::kComplete:
      begin(event_, *at, packet.offset);
      event_.arguments.clear();
      return end(event_, *at + event_.duration_ns, packet.offset);
    default:
      return events_.count_without_columns();  // counters
  }
}

void PerfettoReader::add(const OpenSlice& slice, std::uint64_t uuid, std::int64_t end_ns) {
  const PerfettoTrack& track = track_of(uuid);
  TypedEvent event{.category = slice.category,
                   .name = slice.name,
                   .place = {track.pid, track.tid},
                   .start_ns = slice.start_ns,
                   .duration_ns = end_ns - slice.start_ns,
                   .arguments = slice.arguments,
                   .offset = slice.offset,
                   .is_allocation = slice.is_memory,
                   .category_text = slice.category_text};
  if (event.duration_ns < 0) {
    events_.problem(slice.offset, "a slice that ends before it begins; its duration is read as 0");
    event.duration_ns = 0;
  }
  events_.add(event);
}

enum class Guess { kYes, kNo, kUnknown };

/// Packets, or XLA planes (a number, a name, lines, name tables).
Guess guess_packet(std::string_view bytes, bool is_cut) {
  WireMessage packet(bytes);
  Guess guess = Guess::kUnknown;
  bool is_first = true;
  for (WireField field; packet.next(field); is_first = false) {
    constexpr std::uint32_t kHighest = 1000, kLastOfPlane = 6, kTrustedUser = 3;
    if (field.number > kHighest || field.is_varint(1)) return Guess::kNo;
    if (is_first && field.is_bytes(2) && is_readable(field.bytes)) return Guess::kNo;
    if (field.number > kLastOfPlane || field.is_varint(kTrustedUser)) guess = Guess::kYes;
  }
  return is_cut || packet.is_whole() ? guess : Guess::kNo;
}

bool is_perfetto(std::string_view first) {
  Guess guess = Guess::kUnknown;
  while (guess == Guess::kUnknown && first.starts_with('\n')) {
    WireField packet;
    WireMessage rest(first);
    if (rest.next(packet)) {
      guess = guess_packet(packet.bytes, false);
      first.remove_prefix(static_cast<std::size_t>(packet.bytes.data() - first.data()) + packet.bytes.size());
    } else {
      // The packet is longer than the inspected bytes; the length ends at the first byte below 128.
      const auto* const end_of_length =
          std::ranges::find_if(first.substr(1), [](char c) { return (c & 0x80) == 0; });
      const auto end = static_cast<std::size_t>(end_of_length - first.data());
      return end + 1 < first.size() && guess_packet(first.substr(end + 1), true) == Guess::kYes;
    }
  }
  return guess == Guess::kYes;
}

void read_perfetto(FormatInput& input, EventSink& events) {
  PerfettoReader(input, events).read();
}

}  // namespace

namespace format {

extern const FileFormat perfetto{"a Perfetto trace", is_perfetto, read_perfetto};

}  // namespace format

}  // namespace headroom::trace::readers
