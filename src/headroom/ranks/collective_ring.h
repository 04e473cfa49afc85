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
const char* collective_state_name(CollectiveState state);

/// Times are CLOCK_MONOTONIC; 0: not yet.
struct CollectiveEntry {
  int group = 0;               ///< index in CollectiveHistory::groups
  std::uint64_t sequence = 0;  ///< counted per group, from 0
  std::string op, dtype;       ///< "all_reduce", "f32"
  std::int64_t elements_in = 0, elements_out = 0;
  std::int64_t created_ns = 0, started_ns = 0, completed_ns = 0;
  CollectiveState state = CollectiveState::kCreated;
};

struct CollectiveGroup {
  std::string name;
  std::vector<int> ranks;  ///< the first 64
  int size = 0;

  bool operator==(const CollectiveGroup&) const = default;
};

struct CollectiveHistory {
  std::int64_t now_ns = 0;  ///< time of the snapshot
  std::vector<CollectiveGroup> groups;
  std::vector<CollectiveEntry> calls;  ///< oldest first
};

/// The last collectives of a rank, in memory shared with its parent process to survive it. Any thread may
/// write; a call costs no system call, lock or allocation.
class CollectiveRing {
 public:
  static constexpr std::size_t kCalls = 64, kGroups = 16;

  /// Throws Error.
  static CollectiveRing create();
  /// Opens the ring in kVariable, or creates one without it. Throws Error if invalid.
  static CollectiveRing inherited();
  static constexpr const char* kVariable = "HEADROOM_COLLECTIVES_FD";

  /// For child processes.
  int fd() const { return file_.get(); }

  /// Equal groups share a number, as do all beyond kGroups. Not thread-safe.
  int add_group(std::string_view name, std::span<const int> ranks);
  /// Call before the collective starts. Returns an id for later calls.
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
  /// Null if newer calls replaced it.
  Slot* slot_of(std::uint64_t call);
  template <typename Change>
  void change(std::uint64_t call, Change&& change);

  Descriptor file_;
  std::unique_ptr<Shared, Unmap> shared_;
};

/// By rank.
using RankHistories = std::map<int, CollectiveHistory>;

/// "ranks 0, 1 wait since 5.20 s in all_reduce 57 of 'world' (1024 f32); rank 2 did not arrive: its last was
/// broadcast 56, completed 5.30 s ago"; may be empty.
std::string waiting_text(const RankHistories& histories);

/// Empty without collectives.
std::string collectives_text(const RankHistories& histories, std::size_t count);

/// Ages survive a round trip, clock values do not.
Json to_json(const CollectiveHistory& history);
CollectiveHistory collective_history_from_json(const Json& json);

}  // namespace headroom
