// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "headroom_trace/json/json_text.h"
#include "headroom_trace/readers/batch.h"
#include "headroom_trace/readers/event_fields.h"
#include "headroom_trace/readers/read.h"

namespace headroom::trace::readers {

/// Id stride between ranks: above profilers' counts; thousands of ranks stay below 2^53 (JavaScript viewers).
inline constexpr std::int64_t kRankIdStride = 1'000'000'000'000;

/// Separates the events of one rank and aligns its clock. Place 0 keeps its numbers.
struct RankRemap {
  std::int64_t rank = 0;
  std::int64_t place = 0;  ///< index among the ranks
  std::int64_t shift_ns = 0;
  std::int64_t process_stride = 10'000'000;
  std::int64_t device_stride = 100;
};

/// Moves a process number below the stride; other text becomes "rank 3 Spans", a missing one "rank 3".
void append_process(const RankRemap& remap, Raw pid, std::string& out);

/// Appends `,"pid":` and the process to the rewritten event, and records the process.
void append_process(const RankRemap& remap, Raw pid, RewrittenProcess process, Batch& batch);

/// Moves decimal and hexadecimal numbers, prefixes other text with the rank.
void append_id(const RankRemap& remap, Raw id, std::string& out);

/// A moved correlation or device; nothing for other arguments.
std::optional<std::int64_t> remapped_argument(const RankRemap& remap, std::string_view key, Raw value);

/// "rank 3: python"; moves "/device:GPU:0" of JAX.
std::string remapped_process_name(const RankRemap& remap, std::string_view name);

/// Sorts by rank, host before devices, as in Kineto. Without an index: after the host.
std::int64_t remapped_sort_index(const RankRemap& remap, std::optional<std::int64_t> index);

/// Callbacks, called from one thread at a time, in file order.
struct RewriteSink {
  /// Strict JSON, one per line, each with a trailing comma.
  std::function<void(std::string_view events)> events;
  /// Other top-level members.
  std::function<void(std::string_view name, std::string_view json)> member;
  /// Changes times, processes, ids and devices.
  const RankRemap* remap = nullptr;
  /// With a mark: the processes of the next events.
  std::function<void(std::span<const RewrittenProcess> processes)> processes{};
};

/// Drops and counts events without a valid time or phase. One per reading thread.
class EventRewriter {
 public:
  explicit EventRewriter(const RankRemap* remap = nullptr) : remap_(remap) {}
  /// As EventReader::read.
  Walk read(Walk walk, std::uint64_t offset, Batch& batch);

 private:
  std::optional<std::int64_t> moved_time() const;
  Walk copy_members(Walk walk);
  Walk copy_member(Raw key, Walk walk);
  Walk copy_remapped(Raw key, Walk walk);
  Walk copy_id(Raw key, Walk walk);
  Walk copy_object(Raw key, Walk walk, Walk (EventRewriter::*copy)(Raw, Walk));
  bool copy_arguments();
  Walk copy_argument(Raw key, Walk walk);
  bool is_of_device() const;
  void append_device();
  void append_event(bool has_time, std::uint64_t offset, Batch& batch);

  const RankRemap* remap_;
  EventFields fields_;
  Walk arguments_;  ///< marked events: rewritten last
  bool has_device_ = false;
  RewrittenProcess process_;
  char phase_ = 0;
  std::string members_;  ///< each after a comma
};

}  // namespace headroom::trace::readers

namespace headroom::trace {

/// The result holds only facts about the file. Throws as read().
Trace rewrite(const std::filesystem::path& path, const readers::RewriteSink& sink,
              const ReadOptions& options);

}  // namespace headroom::trace
