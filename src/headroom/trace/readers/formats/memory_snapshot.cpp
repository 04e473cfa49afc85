// SPDX-License-Identifier: Apache-2.0
// What torch.cuda.memory._dump_snapshot writes: a pickle of the allocator's segments and of what it did, by
// device (class Snapshot in torch/cuda/memory.py).
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "headroom/base/error.h"
#include "headroom/base/text.h"
#include "headroom/trace/readers/formats.h"
#include "headroom/trace/readers/json_members.h"
#include "headroom/trace/readers/json_text.h"
#include "headroom/trace/readers/pickle.h"

namespace headroom::trace::readers {
namespace {

using Id = Pickle::Id;
using Kind = Pickle::Kind;

/// Beyond this no memory has bytes; sums stay within 64 bits.
constexpr std::int64_t kMostBytes = std::int64_t{1} << 56;

class SnapshotReader {
 public:
  SnapshotReader(const Pickle& pickle, EventWriter& events) : pickle_(pickle), events_(events) {}
  void read();

 private:
  struct Totals {
    std::int64_t allocated = 0, reserved = 0;
  };
  struct Change {
    Totals by;
    bool is_event = false;  ///< an allocation or a free; else the pool's own
  };

  std::int64_t bytes(Id object, std::string_view key) const {
    return std::clamp<std::int64_t>(pickle_.whole(pickle_.at(object, key)), 0, kMostBytes);
  }
  Change change_of(Id entry) const;
  Totals totals_at_end(std::int64_t device) const;
  void read_history(std::int64_t device, const std::vector<Id>& entries);
  void read_blocks(std::int64_t device);
  void add(std::int64_t device, Id entry, std::int64_t at_ns, std::int64_t change, const Totals& totals);
  bool is_of_segment(Id segment, std::int64_t device) const {
    return pickle_.whole(pickle_.at(segment, "device")) == device;
  }

  const Pickle& pickle_;
  EventWriter& events_;
  std::uint64_t entry_ = 0;  ///< problems are located by its number: a value has no byte of its own
};

void SnapshotReader::read() {
  const Id segments = pickle_.at(pickle_.root(), "segments"),
           traces = pickle_.at(pickle_.root(), "device_traces");
  if (pickle_.kind(segments) != Kind::kList) {
    const std::string_view name = pickle_.text(pickle_.root());
    throw Error(
        fmt::format("it is a pickle of another kind{}; give what torch.cuda.memory._dump_snapshot() wrote",
                    name.empty() ? "" : ", of " + in_quotes(name)));
  }
  std::int64_t devices = static_cast<std::int64_t>(pickle_.list(traces).size());
  constexpr std::int64_t kMostDevices = 4096;
  for (const Id segment : pickle_.list(segments))
    devices = std::max(devices, pickle_.whole(pickle_.at(segment, "device")) + 1);
  devices = std::min(devices, kMostDevices);
  for (std::int64_t device = 0; device < devices; ++device) {
    const auto& all = pickle_.list(traces);
    const auto index = static_cast<std::size_t>(device);
    const std::vector<Id>& entries = pickle_.list(index < all.size() ? all[index] : Pickle::kAbsent);
    if (entries.empty()) {
      read_blocks(device);
    } else {
      read_history(device, entries);
    }
  }
}

/// In requested bytes: what entries of the history have, and what blocks say of the end.
SnapshotReader::Totals SnapshotReader::totals_at_end(std::int64_t device) const {
  Totals totals;
  for (const Id segment : pickle_.list(pickle_.at(pickle_.root(), "segments"))) {
    if (!is_of_segment(segment, device)) continue;
    totals.reserved += bytes(segment, "total_size");
    for (const Id block : pickle_.list(pickle_.at(segment, "blocks"))) {
      if (pickle_.text(pickle_.at(block, "state")) != "active_allocated") continue;
      const bool has_requested = pickle_.at(block, "requested_size") != Pickle::kAbsent;
      totals.allocated += bytes(block, has_requested ? "requested_size" : "size");
    }
    totals.allocated = std::min(totals.allocated, kMostBytes);
    totals.reserved = std::min(totals.reserved, kMostBytes);
  }
  return totals;
}

SnapshotReader::Change SnapshotReader::change_of(Id entry) const {
  const std::string_view action = pickle_.text(pickle_.at(entry, "action"));
  const std::int64_t size = bytes(entry, "size");
  if (action == "alloc") return {{size, 0}, true};
  if (action == "free_requested" || action == "free") return {{-size, 0}, true};
  if (action == "segment_alloc" || action == "segment_map") return {{0, size}, false};
  if (action == "segment_free" || action == "segment_unmap") return {{0, -size}, false};
  return {};
}

/// The history ends where the segments were written: from there its sums count back to what was held at its
/// begin.
void SnapshotReader::read_history(std::int64_t device, const std::vector<Id>& entries) {
  Totals now = totals_at_end(device);
  const auto saturated = [](std::int64_t sum) { return std::clamp(sum, -kMostBytes, kMostBytes); };
  for (const Id entry : entries) {
    const Change change = change_of(entry);
    now.allocated = saturated(now.allocated - change.by.allocated);
    now.reserved = saturated(now.reserved - change.by.reserved);
  }
  std::int64_t order = 0;
  for (const Id entry : entries) {
    ++entry_;
    const Change change = change_of(entry);
    now.allocated = saturated(now.allocated + change.by.allocated);
    now.reserved = saturated(now.reserved + change.by.reserved);
    if (pickle_.kind(entry) != Kind::kDict || pickle_.text(pickle_.at(entry, "action")).empty()) {
      events_.skip(entry_, "an entry of the history without an action");
      continue;
    }
    // Snapshots before PyTorch 2.2 have no times: then their order is all there is.
    const std::int64_t us = pickle_.whole(pickle_.at(entry, "time_us"), -1);
    const std::int64_t at_ns = us >= 0 && us <= kMostNs / 1000 ? us * 1000 : order++;
    if (change.is_event) {
      add(device, entry, at_ns, change.by.allocated, now);
    } else {
      events_.count_without_columns();
    }
  }
}

/// Without a history: what was held when it was written.
void SnapshotReader::read_blocks(std::int64_t device) {
  const Totals end = totals_at_end(device);
  Totals now{0, end.reserved};
  for (const Id segment : pickle_.list(pickle_.at(pickle_.root(), "segments"))) {
    if (!is_of_segment(segment, device)) continue;
    for (const Id block : pickle_.list(pickle_.at(segment, "blocks"))) {
      ++entry_;
      if (pickle_.text(pickle_.at(block, "state")) == "active_allocated") {
        const bool has_requested = pickle_.at(block, "requested_size") != Pickle::kAbsent;
        const std::int64_t wanted = has_requested ? bytes(block, "requested_size") : bytes(block, "size");
        now.allocated = std::min(now.allocated + wanted, kMostBytes);
        add(device, block, 0, wanted, now);
      }
    }
  }
}

void SnapshotReader::add(std::int64_t device, Id entry, std::int64_t at_ns, std::int64_t change,
                         const Totals& totals) {
  constexpr int kCuda = 1;  // as torch numbers devices
  const bool is_block = pickle_.at(entry, "addr") == Pickle::kAbsent;
  JsonMembers arguments;
  arguments.add("Device Type", kCuda);
  arguments.add("Device Id", device);
  arguments.add("Bytes", change);
  arguments.add("Addr", pickle_.whole(pickle_.at(entry, is_block ? "address" : "addr")));
  arguments.add("Total Allocated", std::max<std::int64_t>(totals.allocated, 0));
  arguments.add("Total Reserved", std::max<std::int64_t>(totals.reserved, 0));
  const std::string number = std::to_string(device);
  events_.add({.name = "[memory]",
               .place = {number, number},
               .start_ns = at_ns,
               .arguments = arguments.text(),
               .offset = entry_,
               .is_instant = true});
}

bool is_snapshot(std::string_view first) {
  constexpr unsigned char kProtocol = 0x80;
  if (first.size() < 2 || static_cast<unsigned char>(first[0]) != kProtocol || first[1] < 2 || first[1] > 5)
    return false;
  return contains(first, "segments") || contains(first, "device_traces");
}

void read_snapshot(FormatInput& input, EventWriter& events) {
  const Pickle pickle(input.bytes);
  SnapshotReader(pickle, events).read();
  events.finish(pickle.bytes_read());
}

}  // namespace

namespace format {

extern const FileFormat memory_snapshot{"a memory snapshot of PyTorch", is_snapshot, read_snapshot};

}  // namespace format
}  // namespace headroom::trace::readers
