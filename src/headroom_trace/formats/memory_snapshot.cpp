// SPDX-License-Identifier: Apache-2.0
// Reads torch.cuda.memory._dump_snapshot: a pickle (class Snapshot in torch/cuda/memory.py).

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "headroom/base/error.h"
#include "headroom/base/json.h"
#include "headroom/base/text.h"
#include "headroom_trace/columns/trace.h"
#include "headroom_trace/formats/formats.h"
#include "headroom_trace/formats/pickle.h"
#include "headroom_trace/json/json_text.h"

namespace headroom::trace::readers {
namespace {

/// Keeps sums within 64 bits.
constexpr std::int64_t kMostBytes = std::int64_t{1} << 56;
constexpr int kSnapshotDeviceType = 1;

constexpr std::string_view kAllocated = "active_allocated";

/// Includes blocks waiting for a stream.
bool is_in_use(std::string_view state) {
  return state.starts_with("active");
}

void add_bytes(std::int64_t& sum, std::int64_t bytes) {
  sum = std::min(sum + bytes, kMostBytes);
}

class SnapshotSegments {
 public:
  using Id = Pickle::Id;

  SnapshotSegments(const Pickle& pickle, std::int64_t most_devices);

  std::int64_t devices() const { return by_device_.empty() ? 0 : by_device_.rbegin()->first + 1; }

  std::int64_t reserved_bytes(std::int64_t device) const {
    std::int64_t reserved = 0;
    for (const Id segment : of(device)) add_bytes(reserved, bytes(segment, "total_size"));
    return reserved;
  }
  /// Blocks in use, in file order.
  std::vector<Pickle::Id> allocated_blocks(std::int64_t device) const {
    std::vector<Id> found;
    for (const Id segment : of(device)) {
      for (const Id block : pickle_.list(pickle_.at(segment, "blocks"))) {
        if (pickle_.text(pickle_.at(block, "state")) == kAllocated) found.push_back(block);
      }
    }
    return found;
  }

  std::size_t block_count(std::int64_t device) const {
    std::size_t count = 0;
    for (const Id segment : of(device)) count += pickle_.list(pickle_.at(segment, "blocks")).size();
    return count;
  }
  /// The rounded size if unknown.
  std::int64_t requested_bytes(Id block) const {
    return bytes(block, pickle_.at(block, "requested_size") == Pickle::kAbsent ? "size" : "requested_size");
  }

  std::int64_t bytes(Id object, std::string_view key) const {
    return std::clamp<std::int64_t>(pickle_.whole(pickle_.at(object, key)), 0, kMostBytes);
  }
  /// A MemoryPool per device; `more` adds members.
  Json pools(const std::map<std::int64_t, Json>& more) const {
    Json pools = Json::array();
    for (const auto& [device, segments] : by_device_) {
      Json one = pool(device);
      if (const auto found = more.find(device); found != more.end())
        for (const auto& [key, value] : found->second.items()) one[key] = value;
      pools.push_back(std::move(one));
    }
    return pools;
  }

 private:
  const std::vector<Pickle::Id>& of(std::int64_t device) const {
    static const std::vector<Id> kNoSegments;
    const auto found = by_device_.find(device);
    return found == by_device_.end() ? kNoSegments : found->second;
  }

  Json pool(std::int64_t device) const {
    MemoryPool pool;
    for (const Id segment : of(device)) {
      std::int64_t active = 0;
      for (const Id block : pickle_.list(pickle_.at(segment, "blocks"))) {
        const std::string_view state = pickle_.text(pickle_.at(block, "state"));
        if (!is_in_use(state)) {
          pool.largest_free_bytes = std::max(pool.largest_free_bytes, bytes(block, "size"));
          continue;
        }
        add_bytes(active, bytes(block, "size"));
        add_bytes(pool.requested_bytes, requested_bytes(block));
        if (state != kAllocated) add_bytes(pool.waiting_bytes, bytes(block, "size"));
      }
      const std::int64_t total = std::max(bytes(segment, "total_size"), active);
      add_bytes(active == 0 ? pool.free_whole_bytes : pool.inactive_split_bytes, total - active);
      add_bytes(pool.active_bytes, active);
      add_bytes(pool.reserved_bytes, total);
    }
    return {{"device_type", kSnapshotDeviceType},
            {"device", device},
            {"segments", of(device).size()},
            {"reserved_bytes", pool.reserved_bytes},
            {"active_bytes", pool.active_bytes},
            {"requested_bytes", pool.requested_bytes},
            {"waiting_bytes", pool.waiting_bytes},
            {"free_whole_bytes", pool.free_whole_bytes},
            {"inactive_split_bytes", pool.inactive_split_bytes},
            {"largest_free_bytes", pool.largest_free_bytes}};
  }

  const Pickle& pickle_;
  std::map<std::int64_t, std::vector<Id>> by_device_;
};

SnapshotSegments::SnapshotSegments(const Pickle& pickle, std::int64_t most_devices) : pickle_(pickle) {
  for (const Id segment : pickle_.list(pickle_.at(pickle_.root(), "segments"))) {
    const std::int64_t device = pickle_.whole(pickle_.at(segment, "device"));
    if (device >= 0 && device < most_devices) by_device_[device].push_back(segment);
  }
}

using Id = Pickle::Id;
using Kind = Pickle::Kind;

/// Per stack.
constexpr std::size_t kMostFrames = 200, kMostStackText = 16384;
/// Damaged lists may share elements.
constexpr std::size_t kMostStacksText = std::size_t{256} << 20;

bool is_python_frame(std::string_view file) {
  return file.ends_with(".py") || file.starts_with('<');
}

class SnapshotReader {
 public:
  SnapshotReader(const Pickle& pickle, EventSink& events)
      : pickle_(pickle), events_(events), segments_(pickle, kMostDevices) {}

  void read() {
    const Id segments = pickle_.at(pickle_.root(), "segments"),
             traces = pickle_.at(pickle_.root(), "device_traces");
    if (pickle_.kind(segments) != Kind::kList) {
      const std::string_view name = pickle_.text(pickle_.root());
      throw Error(
          fmt::format("not a memory snapshot but another pickle{}; give a file written by "
                      "torch.cuda.memory._dump_snapshot()",
                      name.empty() ? "" : ", of " + quote(name)));
    }
    const std::int64_t devices = std::min(
        std::max(static_cast<std::int64_t>(pickle_.list(traces).size()), segments_.devices()), kMostDevices);
    for (std::int64_t device = 0; device < devices; ++device) {
      const auto& all = pickle_.list(traces);
      const auto index = static_cast<std::size_t>(device);
      const std::vector<Id>& entries = pickle_.list(index < all.size() ? all[index] : Pickle::kAbsent);
      if (entries.empty()) {
        read_blocks(device);
      } else {
        read_history(device, entries);
        note_failures(device, entries);
      }
    }
    if (segments_.devices() > 0) events_.member("memory_pools", segments_.pools(failures_), 0);
  }

 private:
  static constexpr std::int64_t kMostDevices = 4096;
  struct Totals {
    std::int64_t allocated = 0, reserved = 0;
  };
  /// A block allocated, or freed (negative bytes).
  struct Block {
    std::int64_t address = 0, bytes = 0;
    Id frames = Pickle::kAbsent;
  };
  struct Change {
    Totals by;
    bool is_event = false;  ///< not a segment
  };

  SnapshotReader::Change change_of(Id entry) const {
    const std::string_view action = pickle_.text(pickle_.at(entry, "action"));
    const std::int64_t size = segments_.bytes(entry, "size");
    if (action == "alloc") return {{size, 0}, true};
    if (action == "free_requested" || action == "free") return {{-size, 0}, true};
    if (action == "segment_alloc" || action == "segment_map") return {{0, size}, false};
    if (action == "segment_free" || action == "segment_unmap") return {{0, -size}, false};
    return {};
  }

  SnapshotReader::Totals totals_at_end(std::int64_t device) const {
    Totals totals{0, segments_.reserved_bytes(device)};
    for (const Id block : segments_.allocated_blocks(device))
      totals.allocated = std::min(totals.allocated + segments_.requested_bytes(block), kMostBytes);
    return totals;
  }
  void read_history(std::int64_t device, const std::vector<Id>& entries);
  void read_blocks(std::int64_t device);

  std::vector<SnapshotReader::Block> blocks_at_end(std::int64_t device) const {
    std::vector<Block> blocks;
    for (const Id block : segments_.allocated_blocks(device))
      blocks.push_back({address_of(block), segments_.requested_bytes(block), frames_of(block)});
    return blocks;
  }

  /// Blocks freed before any allocation at their address, or held at the end and not allocated in the
  /// history.
  std::vector<SnapshotReader::Block> held_before(std::int64_t device, const std::vector<Id>& entries) const {
    std::vector<Block> blocks;
    std::unordered_set<std::int64_t> known;
    for (const Id entry : entries) {
      const Change change = change_of(entry);
      if (!change.is_event || !known.insert(address_of(entry)).second || change.by.allocated >= 0) continue;
      blocks.push_back({address_of(entry), -change.by.allocated});
    }
    for (const Block& block : blocks_at_end(device)) {
      if (!known.contains(block.address)) blocks.push_back(block);
    }
    return blocks;
  }

  /// As successive allocations; `now`: total after them.
  void add_blocks(std::int64_t device, const std::vector<Block>& blocks, std::int64_t at_ns, Totals now) {
    for (const Block& block : blocks) now.allocated = std::max(now.allocated - block.bytes, -kMostBytes);
    for (const Block& block : blocks) {
      now.allocated = std::min(now.allocated + block.bytes, kMostBytes);
      add(device, block, at_ns, now, true);
    }
  }
  void note_failures(std::int64_t device, const std::vector<Id>& entries);
  void add(std::int64_t device, const Block& block, std::int64_t at_ns, const Totals& totals,
           bool is_held_before);
  /// Before PyTorch 2.2 there is only an order.
  std::int64_t time_of(Id entry, std::int64_t otherwise) const {
    const std::int64_t us = pickle_.whole(pickle_.at(entry, "time_us"), -1);
    return us >= 0 && us <= kMaxNs / 1000 ? us * 1000 : otherwise;
  }
  std::int64_t address_of(Id entry) const {
    const bool is_block = pickle_.at(entry, "addr") == Pickle::kAbsent;
    return pickle_.whole(pickle_.at(entry, is_block ? "address" : "addr"));
  }
  /// Before PyTorch 2.1, frames are in the block's history.
  Id frames_of(Id entry) const {
    const Id own = pickle_.at(entry, "frames");
    const std::vector<Id>& history = pickle_.list(pickle_.at(entry, "history"));
    return own != Pickle::kAbsent || history.empty() ? own : pickle_.at(history.front(), "frames");
  }

  /// In Kineto's format. Drops C++ frames if there are Python frames.
  const std::string& stack(Id frames) {
    const auto [place, is_new] = stacks_.try_emplace(frames);
    std::string& text = place->second;
    if (!is_new || stacks_text_ > kMostStacksText) return text;
    const std::vector<Id>& all = pickle_.list(frames);
    const auto file_of = [&](Id frame) { return pickle_.text(pickle_.at(frame, "filename")); };
    const bool has_python =
        std::ranges::any_of(all, [&](Id frame) { return is_python_frame(file_of(frame)); });
    std::size_t count = 0;
    for (const Id frame : all) {
      if (has_python && !is_python_frame(file_of(frame))) continue;
      const std::string one = fmt::format("{}({}): {}", file_of(frame),
                                          std::max<std::int64_t>(pickle_.whole(pickle_.at(frame, "line")), 0),
                                          pickle_.text(pickle_.at(frame, "name")));
      if (++count > kMostFrames || text.size() + one.size() > kMostStackText) break;
      text += (text.empty() ? "" : ";") + one;
    }
    stacks_text_ += text.size();
    if (stacks_text_ > kMostStacksText)
      events_.problem(entry_, "more than 256 MiB of stacks: later stacks are left out");
    return text;
  }

  const Pickle& pickle_;
  EventSink& events_;
  SnapshotSegments segments_;
  EventArguments arguments_;
  std::uint64_t entry_ = 0;  ///< locates problems: values have no byte offset
  std::unordered_map<Id, std::string> stacks_;
  std::size_t stacks_text_ = 0;
  std::map<std::int64_t, Json> failures_;  ///< by device
};

/// Counts back from the totals at the end.
void SnapshotReader::read_history(std::int64_t device, const std::vector<Id>& entries) {
  Totals now = totals_at_end(device);
  const auto saturated = [](std::int64_t sum) { return std::clamp(sum, -kMostBytes, kMostBytes); };
  for (const Id entry : entries) {
    const Change change = change_of(entry);
    now.allocated = saturated(now.allocated - change.by.allocated);
    now.reserved = saturated(now.reserved - change.by.reserved);
  }
  add_blocks(device, held_before(device, entries), time_of(entries.front(), 0), now);
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
    const std::int64_t at_ns = time_of(entry, order++);
    if (change.is_event) {
      add(device, {address_of(entry), change.by.allocated, frames_of(entry)}, at_ns, now, false);
    } else {
      events_.count_without_columns();
    }
  }
}

void SnapshotReader::note_failures(std::int64_t device, const std::vector<Id>& entries) {
  std::int64_t count = 0;
  Id last = Pickle::kAbsent;
  for (const Id entry : entries) {
    if (pickle_.text(pickle_.at(entry, "action")) != "oom") continue;
    ++count;
    last = entry;
  }
  if (count == 0) return;
  Json& members = failures_[device] = {{"out_of_memory", count},
                                       {"wanted_bytes", segments_.bytes(last, "size")},
                                       {"device_free_bytes", segments_.bytes(last, "device_free")}};
  if (const std::string& text = stack(frames_of(last)); !text.empty()) members["wanted_stack"] = text;
}

void SnapshotReader::read_blocks(std::int64_t device) {
  entry_ += segments_.block_count(device);
  add_blocks(device, blocks_at_end(device), 0, totals_at_end(device));
}

void SnapshotReader::add(std::int64_t device, const Block& block, std::int64_t at_ns, const Totals& totals,
                         bool is_held_before) {
  arguments_.clear();
  arguments_.add(Argument::kDeviceType, kSnapshotDeviceType);
  arguments_.add(Argument::kDeviceId, device);
  arguments_.add("Bytes", block.bytes);
  arguments_.add(Argument::kAddress, block.address);
  arguments_.add(Argument::kTotalAllocated, std::max<std::int64_t>(totals.allocated, 0));
  arguments_.add(Argument::kTotalReserved, std::max<std::int64_t>(totals.reserved, 0));
  if (is_held_before) arguments_.add(Argument::kHeldBefore, 1);
  const std::string number = std::to_string(device);
  events_.add({.name = "[memory]",
               .place = {number, number},
               .start_ns = at_ns,
               .arguments = arguments_,
               .offset = entry_,
               .is_allocation = true,
               .stack = stack(block.frames)});
}

bool is_snapshot(std::string_view first) {
  constexpr unsigned char kProtocol = 0x80;
  if (first.size() < 2 || static_cast<unsigned char>(first[0]) != kProtocol || first[1] < 2 || first[1] > 5)
    return false;
  return contains(first, "segments") || contains(first, "device_traces");
}

void read_snapshot(FormatInput& input, EventSink& events) {
  const Pickle pickle(input.bytes);
  SnapshotReader(pickle, events).read();
  events.finish(pickle.bytes_read());
}

}  // namespace

namespace format {

extern const FileFormat memory_snapshot{"a memory snapshot of PyTorch", is_snapshot, read_snapshot,
                                        Writer::kPyTorch, Needs::kMemory};

}  // namespace format

}  // namespace headroom::trace::readers
