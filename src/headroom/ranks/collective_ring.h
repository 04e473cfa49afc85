// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headroom/process/descriptor.h"

namespace headroom {

enum class CollectiveState : std::uint8_t { kCreated, kStarted, kCompleted, kFailed };
/// "created", "started", "completed", "failed".
const char* collective_state_name(CollectiveState state);

/// A collective as one rank saw it. Times are of CLOCK_MONOTONIC; 0: not yet.
struct CollectiveEntry {
  int group = 0;               ///< index in CollectiveHistory::groups
  std::uint64_t sequence = 0;  ///< counts a group's collectives from 0
  std::string op, dtype;       ///< "all_reduce", "f32"
  std::int64_t elements_in = 0, elements_out = 0;
  std::int64_t created_ns = 0, started_ns = 0, completed_ns = 0;
  CollectiveState state = CollectiveState::kCreated;
};

struct CollectiveGroup {
  std::string name;
  std::vector<int> ranks;  ///< the first 64 of them
  int size = 0;

  bool operator==(const CollectiveGroup&) const = default;
};

/// What a ring has at one moment.
struct CollectiveHistory {
  std::int64_t now_ns = 0;  ///< when it was read, by the same clock
  std::vector<CollectiveGroup> groups;
  std::vector<CollectiveEntry> calls;  ///< oldest first
};

/// The last collectives of a rank, in memory that the process which started it shares: they can be read when
/// the rank hangs in one, is stopped, or was killed. Any thread of the rank may write; a call costs no system
/// call, no lock and no allocation.
class CollectiveRing {
 public:
  static constexpr std::size_t kCalls = 64, kGroups = 16;

  /// A new ring. Throws Error.
  static CollectiveRing create();
  /// The one that the process's starter made, by the variable kVariable; a new one, that nobody else sees,
  /// where there is none. Throws Error when the variable names no ring.
  static CollectiveRing inherited();
  static constexpr const char* kVariable = "HEADROOM_COLLECTIVES_FD";

  /// Descriptor of the memory, to hand down.
  int fd() const { return file_.get(); }

  /// The number of a group of ranks, for begin(): the same for an equal group. The last number stands for all
  /// beyond kGroups. Not from two threads at a time.
  int add_group(std::string_view name, std::span<const int> ranks);
  /// A collective that is about to be started; gives what the calls below name it by.
  std::uint64_t begin(int group, std::string_view op, std::string_view dtype, std::int64_t elements_in,
                      std::int64_t elements_out);
  void started(std::uint64_t call);
  void completed(std::uint64_t call);
  void failed(std::uint64_t call);

  CollectiveHistory read() const;

 private:
  struct Shared;
  struct Slot;
  struct Unmap {
    void operator()(Shared* shared) const;
  };
  explicit CollectiveRing(Descriptor file);
  /// The slot of a call; nothing where newer calls have taken it.
  Slot* slot_of(std::uint64_t call);
  template <typename Change>
  void change(std::uint64_t call, Change&& change);

  Descriptor file_;
  std::unique_ptr<Shared, Unmap> shared_;
};

}  // namespace headroom
