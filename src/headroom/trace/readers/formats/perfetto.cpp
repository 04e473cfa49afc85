// SPDX-License-Identifier: Apache-2.0
// Perfetto's protocol buffers, of which the fields used here are those of protos/perfetto/trace in its
// repository: what PyTorch's profiler (kineto's PerfettoTraceBuilder), rocprofv3 and the tracing SDK write.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "headroom/base/text.h"
#include "headroom/trace/readers/formats.h"
#include "headroom/trace/readers/formats/perfetto_arguments.h"
#include "headroom/trace/readers/formats/perfetto_sequence.h"
#include "headroom/trace/readers/formats/perfetto_tracks.h"
#include "headroom/trace/readers/metadata.h"
#include "headroom/trace/readers/wire.h"

namespace headroom::trace::readers {
namespace {

// TracePacket.
constexpr std::uint32_t kClockSnapshot = 6, kTimestamp = 8, kSequenceId = 10, kTrackEvent = 11,
                        kInternedData = 12, kSequenceFlags = 13, kStateCleared = 41, kCompressed = 50,
                        kClockId = 58, kDefaults = 59, kTrackDescriptor = 60, kZstdCompressed = 133;
constexpr std::uint64_t kFlagCleared = 1, kFlagNeedsState = 2;
/// Trace.packet, and what a packet of events may at most have: the service itself makes them smaller than 512
/// KiB.
constexpr std::uint32_t kPacket = 1;
constexpr std::uint64_t kLargestPacket = std::uint64_t{1} << 26;

/// The fields of a packet that are of use.
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

/// Reads a trace twice where it can: tracks may be described, and clocks compared, behind the events that
/// need it.
class PerfettoReader {
 public:
  PerfettoReader(FormatInput& input, EventWriter& events) : input_(input), events_(events) {}
  void read();

 private:
  struct OpenSlice {
    std::uint64_t offset = 0;
    std::int64_t start_ns = 0;
    Category category = Category::kOther;
    bool is_kept = true, is_memory = false;
    std::string name{}, arguments{}, category_text{};
  };

  void read_packets(ByteSource& source, bool is_inner);
  void take(const Packet& packet, bool is_inner);
  void learn(const Packet& packet);
  void unpack(const Packet& packet, bool is_inner);
  void take_event(const Packet& packet, PerfettoSequence& sequence);
  void begin(const PerfettoEvent& event, std::int64_t at_ns, std::uint64_t offset);
  void end(const PerfettoEvent& event, std::int64_t at_ns, std::uint64_t offset);
  void instant(const PerfettoEvent& event, std::int64_t at_ns, std::uint64_t offset);
  void add(const OpenSlice& slice, std::uint64_t track, std::int64_t end_ns);
  const PerfettoTrack& track_of(std::uint64_t uuid);

  FormatInput& input_;
  EventWriter& events_;
  PerfettoTracks tracks_;
  PerfettoClocks clocks_;
  std::unordered_map<std::uint64_t, PerfettoSequence> sequences_;
  std::unordered_map<std::uint64_t, std::vector<OpenSlice>> open_;  ///< by track, innermost last
  std::unordered_set<std::string> named_;                           ///< processes, and their threads
  PerfettoEvent event_;
  bool is_learning_ = false;
  std::uint64_t inner_offset_ = 0;  ///< of the packed packet that others came out of
};

void PerfettoReader::read() {
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
      events_.skip(slice.offset, fmt::format("the slice {} has no end", in_quotes(slice.name)));
    }
  }
  events_.finish(bytes);
}

void PerfettoReader::read_packets(ByteSource& source, bool is_inner) {
  WireStream stream(source);
  constexpr std::uint64_t kReport = 1 << 13;
  const auto amiss = [&](std::uint64_t at, std::string what) {
    if (!is_learning_) events_.cut_off(is_inner ? inner_offset_ : at, std::move(what));
  };
  for (std::uint64_t count = 0;; ++count) {
    const std::uint64_t at = stream.offset();
    if (!is_inner) inner_offset_ = at;
    WireField field;
    const WireStream::Next next = stream.next(field);
    if (next == WireStream::Next::kOver) break;
    if (next == WireStream::Next::kBroken) {
      amiss(at, "what comes here is no packet; the rest of the file cannot be read");
      break;
    }
    if (next == WireStream::Next::kCutOff) {
      amiss(at, "the file ends inside a packet");
      break;
    }
    if (field.type != WireType::kBytes) continue;
    if (field.number != kPacket || field.value > kLargestPacket) {
      if (field.number == kPacket && !is_learning_) events_.problem(at, "a packet of more than 64 MiB");
      if (stream.pass(field.value)) continue;
      amiss(at, "the file ends inside a packet");
      break;
    }
    const auto bytes = stream.take(field.value);
    if (!bytes) {
      amiss(at, "the file ends inside a packet");
      break;
    }
    take(packet_of(*bytes, is_inner ? inner_offset_ : at), is_inner);
    if (!is_inner && count % kReport == 0 && !is_learning_) events_.progress(source.done(), source.size());
  }
  if (!is_inner) inner_offset_ = stream.offset();
}

void PerfettoReader::take(const Packet& packet, bool is_inner) {
  if (!packet.compressed.empty() || !packet.zstd.empty()) return unpack(packet, is_inner);
  if (is_learning_) return learn(packet);
  if (!packet.is_whole) events_.problem(packet.offset, "a packet with bytes that are no field");
  if (!input_.again) learn(packet);
  PerfettoSequence& sequence = sequences_[packet.sequence];
  if (packet.is_cleared) sequence.clear();
  if (!packet.clocks.empty()) sequence.take_clocks(packet.clocks);
  if (!packet.interned.empty()) sequence.take_interned(packet.interned);
  if (!packet.defaults.empty()) sequence.take_defaults(packet.defaults);
  if (!packet.has_event) return;
  if ((packet.flags & kFlagNeedsState) != 0 && !sequence.has_state())
    return events_.skip(packet.offset, "an event that needs names which came before the file begins");
  take_event(packet, sequence);
}

/// What holds for the whole trace, wherever it stands.
void PerfettoReader::learn(const Packet& packet) {
  if (!packet.descriptor.empty()) tracks_.describe(packet.descriptor);
  if (!packet.clocks.empty()) clocks_.add_snapshot(packet.clocks, packet.sequence);
}

/// Packets that the service packed: one level, as it packs.
void PerfettoReader::unpack(const Packet& packet, bool is_inner) {
  if (is_inner) return;
  constexpr std::size_t kZlibHeader = 2;
  std::unique_ptr<ByteSource> source;
  if (!packet.zstd.empty()) {
    source = unpack_zstd(from_memory(packet.zstd));
  } else {
    source = unpack_deflate(
        from_memory(packet.compressed.substr(std::min(kZlibHeader, packet.compressed.size()))));
  }
  read_packets(*source, true);
  if (const std::string damage = source->damage(); !damage.empty() && !is_learning_)
    events_.problem(packet.offset, "packed packets: " + damage);
}

void PerfettoReader::take_event(const Packet& packet, PerfettoSequence& sequence) {
  event_.read(packet.event, sequence);
  if (!event_.is_whole) events_.problem(packet.offset, "an event with bytes that are no field");
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

void PerfettoReader::begin(const PerfettoEvent& event, std::int64_t at_ns, std::uint64_t offset) {
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

void PerfettoReader::end(const PerfettoEvent& event, std::int64_t at_ns, std::uint64_t offset) {
  std::vector<OpenSlice>& slices = open_[event.track];
  if (slices.empty()) return events_.skip(offset, "the end of a slice that did not begin");
  OpenSlice slice = std::move(slices.back());
  slices.pop_back();
  if (slices.empty()) open_.erase(event.track);
  if (!slice.is_kept) return events_.count_unneeded();
  // What an end says belongs to its slice.
  if (!event.arguments.text().empty()) {
    if (!slice.arguments.empty()) slice.arguments += ',';
    slice.arguments += event.arguments.text();
  }
  add(slice, event.track, at_ns);
}

void PerfettoReader::instant(const PerfettoEvent& event, std::int64_t at_ns, std::uint64_t offset) {
  if (event.is_memory()) {
    return add({offset,
                at_ns,
                Category::kOther,
                true,
                true,
                std::string(event.name),
                event.arguments_of(Category::kOther, track_of(event.track)),
                {}},
               event.track, at_ns);
  }
  events_.count_without_columns();
  event.each_metadata([&](std::string_view key, std::string_view json) {
    if (is_metadata_key(key) && key != "baseTimeNanoseconds") events_.member(key, json, offset);
  });
}

void PerfettoReader::add(const OpenSlice& slice, std::uint64_t uuid, std::int64_t end_ns) {
  const PerfettoTrack& track = track_of(uuid);
  WrittenEvent event{.category = slice.category,
                     .name = slice.name,
                     .place = {track.pid, track.tid},
                     .start_ns = slice.start_ns,
                     .duration_ns = end_ns - slice.start_ns,
                     .arguments = slice.arguments,
                     .offset = slice.offset,
                     .is_instant = slice.is_memory,
                     .category_text = slice.category_text};
  if (event.duration_ns < 0) {
    events_.problem(slice.offset, "a slice that ends before it begins; its duration is read as 0");
    event.duration_ns = 0;
  }
  events_.add(event);
}

/// Names its process and thread when it is met first.
const PerfettoTrack& PerfettoReader::track_of(std::uint64_t uuid) {
  bool is_new = false;
  const PerfettoTrack& track = tracks_.find(uuid, is_new);
  // Kineto has a track for each event.
  if (is_new && named_.insert(track.pid).second)
    events_.name_process(track.pid, track.process_name, track.process_labels);
  if (is_new && !track.thread_name.empty() && named_.insert(track.pid + '\x1f' + track.tid).second)
    events_.name_thread({track.pid, track.tid}, track.thread_name);
  return track;
}

enum class Guess { kYes, kNo, kUnknown };

/// Whether these are fields of a packet, and not those of a plane of XLA's (a number, a name, lines, tables
/// of names).
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
      // Longer than what is looked at: the length ends with the first byte under 128.
      const auto* const end_of_length =
          std::ranges::find_if(first.substr(1), [](char c) { return (c & 0x80) == 0; });
      const auto end = static_cast<std::size_t>(end_of_length - first.data());
      return end + 1 < first.size() && guess_packet(first.substr(end + 1), true) == Guess::kYes;
    }
  }
  return guess == Guess::kYes;
}

void read_perfetto(FormatInput& input, EventWriter& events) {
  PerfettoReader(input, events).read();
}

}  // namespace

namespace format {

extern const FileFormat perfetto{"a Perfetto trace", is_perfetto, read_perfetto};

}  // namespace format
}  // namespace headroom::trace::readers
