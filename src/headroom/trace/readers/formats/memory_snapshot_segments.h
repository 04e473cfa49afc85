// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "headroom/trace/readers/pickle.h"

namespace headroom::trace::readers {

/// The segments of a memory snapshot of PyTorch, by device: what its allocator held in the end.
class SnapshotSegments {
 public:
  using Id = Pickle::Id;
  /// Beyond this no memory has bytes; sums stay within 64 bits.
  static constexpr std::int64_t kMostBytes = std::int64_t{1} << 56;

  /// Of devices beyond `most_devices` nothing is kept.
  SnapshotSegments(const Pickle& pickle, std::int64_t most_devices);

  /// One more than the last device that has any.
  std::int64_t devices() const { return by_device_.empty() ? 0 : by_device_.rbegin()->first + 1; }
  std::int64_t reserved_bytes(std::int64_t device) const;
  /// Those in use, in the order of the file.
  std::vector<Id> allocated_blocks(std::int64_t device) const;
  std::size_t block_count(std::int64_t device) const;
  /// What was asked for, where the file says it; else what it was rounded up to.
  std::int64_t requested_bytes(Id block) const;
  std::int64_t bytes(Id object, std::string_view key) const;
  /// What the member memory_pools of a trace has: a JSON list of what a MemoryPool holds of each device, with
  /// `more` members of some.
  std::string pools_json(const std::map<std::int64_t, std::string>& more) const;

 private:
  const std::vector<Id>& of(std::int64_t device) const;
  std::string pool_json(std::int64_t device) const;

  const Pickle& pickle_;
  std::map<std::int64_t, std::vector<Id>> by_device_;
};

/// As torch numbers devices: the allocator that writes snapshots is CUDA's.
inline constexpr int kSnapshotDeviceType = 1;

}  // namespace headroom::trace::readers
