// SPDX-License-Identifier: Apache-2.0
#include "headroom/trace/readers/formats/perfetto_sequence.h"

#include <algorithm>

#include "headroom/trace/readers/formats/perfetto_arguments.h"
#include "headroom/trace/readers/json_text.h"
#include "headroom/trace/readers/wire.h"

namespace headroom::trace::readers {
namespace {

// ClockSnapshot and its Clock.
constexpr std::uint32_t kClocks = 1, kPrimary = 2;
constexpr std::uint32_t kId = 1, kTime = 2, kIsIncremental = 3, kUnit = 4;
// InternedData, whose entries are a number and a text; TracePacketDefaults.
constexpr std::uint32_t kCategories = 1, kNames = 2, kAnnotationNames = 3, kAnnotationTexts = 29;
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

/// Nothing beyond what a time may be.
std::optional<std::int64_t> nanoseconds(std::uint64_t count, std::uint64_t unit_ns) {
  if (count > static_cast<std::uint64_t>(kMostNs) / unit_ns) return std::nullopt;
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

}  // namespace

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

/// By the last moment before it at which both were read, else by the first.
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
  // Through one that both were read with: boot time, monotonic, real time.
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
    if (field.is_bytes(kCategories)) take_text(field.bytes, categories);
    if (field.is_bytes(kNames)) take_text(field.bytes, names);
    if (field.is_bytes(kAnnotationNames)) take_text(field.bytes, annotation_names);
    if (field.is_bytes(kAnnotationTexts)) take_text(field.bytes, annotation_texts);
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
  // What wrote before there were clocks counts microseconds from event to event.
  if (event.absolute_us || event.delta_us) {
    const std::int64_t us = event.absolute_us ? *event.absolute_us : last_us_ + *event.delta_us;
    if (us > kMostNs / 1000 || us < -kMostNs / 1000) return std::nullopt;
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
  return at > kMostNs || at < -kMostNs ? std::nullopt : std::optional(at);
}

}  // namespace headroom::trace::readers
