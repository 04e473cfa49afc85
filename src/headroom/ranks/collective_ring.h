// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headroom/base/files.h"
#include "headroom/base/json.h"

namespace headroom {

enum class CollectiveState : std::uint8_t { kCreated, kStarted, kCompleted, kFailed };
/// "created", "started", "completed", "failed".
const char* collective_state_name(CollectiveState state);

/// A collective on one rank. Times are CLOCK_MONOTONIC; 0: not yet.
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

/// A snapshot of a ring.
struct CollectiveHistory {
  std::int64_t now_ns = 0;  ///< time of the snapshot, same clock
  std::vector<CollectiveGroup> groups;
  std::vector<CollectiveEntry> calls;  ///< oldest first
};

/// The last collectives of a rank, in memory shared with the process that started it, so that they are
/// readable when the rank hangs, is stopped or was killed. Any thread of the rank may write; a call costs no
/// system call, lock or allocation.
class CollectiveRing {
 public:
  static constexpr std::size_t kCalls = 64, kGroups = 16;

  /// Creates a ring. Throws Error.
  static CollectiveRing create();
  /// Opens the ring of the parent process from kVariable, or creates a private one if it is not set. Throws
  /// Error if the variable names no ring.
  static CollectiveRing inherited();
  static constexpr const char* kVariable = "HEADROOM_COLLECTIVES_FD";

  /// Descriptor of the memory, for child processes.
  int fd() const { return file_.get(); }

  /// Returns the number of a group of ranks for begin(); equal groups share it. All groups beyond kGroups
  /// share the last number. Not thread-safe.
  int add_group(std::string_view name, std::span<const int> ranks);
  /// Records a collective that is about to start. Returns its id for the calls below.
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
  /// Returns the slot of a call; null if newer calls replaced it.
  Slot* slot_of(std::uint64_t call);
  template <typename Change>
  void change(std::uint64_t call, Change&& change);

  Descriptor file_;
  std::unique_ptr<Shared, Unmap> shared_;
};

/// Collectives by rank.
using RankHistories = std::map<int, CollectiveHistory>;

/// Describes who waits in which collective and who did not arrive, a sentence per collective under way:
/// "ranks 0, 1 wait since 5.20 s in all_reduce 57 of 'world' (1024 f32); rank 2 did not arrive: its last was
/// broadcast 56, completed 5.30 s ago". Names ranks that call different collectives at the same place. Empty
/// if nobody waits.
std::string waiting_text(const RankHistories& histories);

/// Returns a table of the last `count` collectives of each rank, times as seconds ago. Empty without
/// collectives.
std::string collectives_text(const RankHistories& histories, std::size_t count);

/// Serialises the history of a ring in another process. Ages are preserved, clock values are not.
Json to_json(const CollectiveHistory& history);
CollectiveHistory collective_history_from_json(const Json& json);

}  // namespace headroom
