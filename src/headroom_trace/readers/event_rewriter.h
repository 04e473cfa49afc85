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

/// The stride between ranks of correlations, flows and other ids: above what profilers count to, and small
/// enough that thousands of ranks stay below 2^53, the limit of viewers in JavaScript.
inline constexpr std::int64_t kIdsOfARank = 1'000'000'000'000;

/// Separates the events of a rank from those of others in one file, and aligns their clock. The rank at place
/// 0 keeps its numbers.
struct RankMark {
  std::int64_t rank = 0;      ///< shown in the names of its processes
  std::int64_t place = 0;     ///< index among the ranks, from 0; its numbers are moved by `place` strides
  std::int64_t shift_ns = 0;  ///< added to every time
  std::int64_t process_stride = 10'000'000;
  std::int64_t device_stride = 100;
};

/// Appends the process of an event as JSON: a number below the stride is moved, anything else becomes "rank 3
/// Spans". A missing one becomes "rank 3".
void append_process(const RankMark& mark, Raw pid, std::string& out);

/// Appends `,"pid":` and the process to the batch's rewritten event, and notes the process there.
void append_process(const RankMark& mark, Raw pid, RewrittenProcess process, Batch& batch);

/// Appends an id of the event (a flow, an asynchronous event) as JSON: numbers, and hexadecimal ones in
/// strings, are moved; other text gets the rank in front.
void append_id(const RankMark& mark, Raw id, std::string& out);

/// The moved number of an argument that refers to other events of the rank (a correlation, a device). Nothing
/// for other arguments.
std::optional<std::int64_t> marked_argument(const RankMark& mark, std::string_view key, Raw value);

/// "rank 3: python"; device numbers in process names of JAX ("/device:GPU:0") are moved.
std::string marked_process_name(const RankMark& mark, std::string_view name);

/// The sort index of the process: rank after rank, in each the host before its devices, as Kineto sorts them.
/// Without an index: after the host.
std::int64_t marked_sort_index(const RankMark& mark, std::optional<std::int64_t> index);

/// Receives a trace as strict JSON, in the order of the file, from one thread at a time.
struct RewriteSink {
  /// Events, one a line, each with a trailing comma.
  std::function<void(std::string_view events)> events;
  /// A member of the outermost object other than the events: its name, and its value as JSON.
  std::function<void(std::string_view name, std::string_view json)> member;
  /// Marks the events of one of several ranks: changes times, processes, ids and devices only.
  const RankMark* mark = nullptr;
  /// With a mark: the processes of the events that come next.
  std::function<void(std::span<const RewrittenProcess> processes)> processes{};
};

/// Rewrites events as strict JSON for viewers: ts and dur as numbers, a duration for each X, a phase of one
/// letter. Drops and counts the events that EventReader drops for their time or phase. One for each reading
/// thread.
class EventRewriter {
 public:
  explicit EventRewriter(const RankMark* mark = nullptr) : mark_(mark) {}
  /// As EventReader::read; the event goes to batch.rewritten.
  Walk read(Walk walk, std::uint64_t offset, Batch& batch);

 private:
  std::optional<std::int64_t> moved_time() const;
  Walk copy_members(Walk walk);
  Walk copy_member(Raw key, Walk walk);
  Walk copy_marked(Raw key, Walk walk);
  Walk copy_id(Raw key, Walk walk);
  Walk copy_object(Raw key, Walk walk, Walk (EventRewriter::*copy)(Raw, Walk));
  bool copy_arguments();
  Walk copy_argument(Raw key, Walk walk);
  bool is_of_device() const;
  void append_device();
  void append_event(bool has_time, std::uint64_t offset, Batch& batch);

  const RankMark* mark_;
  EventFields fields_;
  Walk arguments_;           ///< of a marked event: rewritten after its other members are known
  bool has_device_ = false;  ///< whether the arguments name a device
  RewrittenProcess process_;
  char phase_ = 0;
  std::string members_;  ///< of the current event, each with a comma in front
};

}  // namespace headroom::trace::readers

namespace headroom::trace {

/// Reads a trace as read() does and passes its events and members to the sink instead of making columns. The
/// result holds the facts about the file and no events.
Trace rewrite(const std::filesystem::path& path, const readers::RewriteSink& sink,
              const ReadOptions& options);

}  // namespace headroom::trace
