// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "headroom/trace/readers/batch.h"
#include "headroom/trace/readers/event_fields.h"
#include "headroom/trace/readers/rank_mark.h"

namespace headroom::trace::readers {

/// Who gets a trace again as clean JSON, in the order of the file, from one thread at a time.
struct RewriteSink {
  /// Events, each on a line of its own with a comma at its end.
  std::function<void(std::string_view events)> events;
  /// A member of the outermost object beside the list of events: its name, and its value as JSON.
  std::function<void(std::string_view name, std::string_view json)> member;
  /// Where the events shall be told from those of other ranks. They keep all but their times, processes, ids
  /// and devices.
  const RankMark* mark = nullptr;
  /// With a mark: the processes of the events that come next.
  std::function<void(std::span<const RewrittenProcess> processes)> processes{};
};

/// Writes the tokens of events as strict JSON that viewers take: ts and dur as numbers, a duration for each
/// X, a phase of one letter. An event that EventReader would not keep for its time or phase is left out and
/// counted likewise. One for each reading thread.
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
  void append_process_to(Batch& batch);
  void append_event(bool has_time, std::uint64_t offset, Batch& batch);

  const RankMark* mark_;
  EventFields fields_;
  Walk arguments_;           ///< of an event that is marked: their meaning waits for the rest of it
  bool has_device_ = false;  ///< that they say one
  RewrittenProcess process_;
  char phase_ = 0;
  std::string members_;  ///< of the event at hand, each with a comma before it
};

}  // namespace headroom::trace::readers
