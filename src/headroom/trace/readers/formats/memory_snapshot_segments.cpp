// SPDX-License-Identifier: Apache-2.0
#include "headroom/trace/readers/formats/memory_snapshot_segments.h"

#include <algorithm>

#include "headroom/trace/columns/trace.h"
#include "headroom/trace/readers/json_members.h"

namespace headroom::trace::readers {
namespace {

/// "active_allocated", and what waits for a stream before it is free.
bool is_in_use(std::string_view state) {
  return state.starts_with("active");
}

void add_bytes(std::int64_t& sum, std::int64_t bytes) {
  sum = std::min(sum + bytes, SnapshotSegments::kMostBytes);
}

}  // namespace

SnapshotSegments::SnapshotSegments(const Pickle& pickle, std::int64_t most_devices) : pickle_(pickle) {
  for (const Id segment : pickle_.list(pickle_.at(pickle_.root(), "segments"))) {
    const std::int64_t device = pickle_.whole(pickle_.at(segment, "device"));
    if (device >= 0 && device < most_devices) by_device_[device].push_back(segment);
  }
}

const std::vector<Pickle::Id>& SnapshotSegments::of(std::int64_t device) const {
  static const std::vector<Id> kNoSegments;
  const auto found = by_device_.find(device);
  return found == by_device_.end() ? kNoSegments : found->second;
}

std::int64_t SnapshotSegments::bytes(Id object, std::string_view key) const {
  return std::clamp<std::int64_t>(pickle_.whole(pickle_.at(object, key)), 0, kMostBytes);
}

std::int64_t SnapshotSegments::requested_bytes(Id block) const {
  return bytes(block, pickle_.at(block, "requested_size") == Pickle::kAbsent ? "size" : "requested_size");
}

std::int64_t SnapshotSegments::reserved_bytes(std::int64_t device) const {
  std::int64_t reserved = 0;
  for (const Id segment : of(device)) add_bytes(reserved, bytes(segment, "total_size"));
  return reserved;
}

std::vector<Pickle::Id> SnapshotSegments::allocated_blocks(std::int64_t device) const {
  std::vector<Id> found;
  for (const Id segment : of(device)) {
    for (const Id block : pickle_.list(pickle_.at(segment, "blocks"))) {
      if (pickle_.text(pickle_.at(block, "state")) == "active_allocated") found.push_back(block);
    }
  }
  return found;
}

std::size_t SnapshotSegments::block_count(std::int64_t device) const {
  std::size_t count = 0;
  for (const Id segment : of(device)) count += pickle_.list(pickle_.at(segment, "blocks")).size();
  return count;
}

std::string SnapshotSegments::pool_json(std::int64_t device) const {
  MemoryPool pool;
  for (const Id segment : of(device)) {
    std::int64_t active = 0;
    for (const Id block : pickle_.list(pickle_.at(segment, "blocks"))) {
      if (!is_in_use(pickle_.text(pickle_.at(block, "state")))) {
        pool.largest_free_bytes = std::max(pool.largest_free_bytes, bytes(block, "size"));
        continue;
      }
      add_bytes(active, bytes(block, "size"));
      add_bytes(pool.requested_bytes, requested_bytes(block));
    }
    const std::int64_t total = std::max(bytes(segment, "total_size"), active);
    add_bytes(active == 0 ? pool.free_whole_bytes : pool.inactive_split_bytes, total - active);
    add_bytes(pool.active_bytes, active);
    add_bytes(pool.reserved_bytes, total);
  }
  JsonMembers members;
  members.add("device_type", kSnapshotDeviceType);
  members.add("device", device);
  members.add("segments", of(device).size());
  members.add("reserved_bytes", pool.reserved_bytes);
  members.add("active_bytes", pool.active_bytes);
  members.add("requested_bytes", pool.requested_bytes);
  members.add("free_whole_bytes", pool.free_whole_bytes);
  members.add("inactive_split_bytes", pool.inactive_split_bytes);
  members.add("largest_free_bytes", pool.largest_free_bytes);
  return members.text();
}

std::string SnapshotSegments::pools_json(const std::map<std::int64_t, std::string>& more) const {
  std::string pools;
  for (const auto& [device, segments] : by_device_) {
    const auto found = more.find(device);
    pools += (pools.empty() ? "[{" : ",{") + pool_json(device);
    if (found != more.end()) pools += "," + found->second;
    pools += '}';
  }
  return pools.empty() ? "[]" : pools + "]";
}

}  // namespace headroom::trace::readers
