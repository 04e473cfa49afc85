// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "headroom/trace/readers/batch.h"
#include "headroom/trace/readers/event_fields.h"

namespace headroom::trace::readers {

/// Who gets a trace again as clean JSON, in the order of the file, from one thread at a time.
struct RewriteSink {
  /// Events, each on a line of its own with a comma at its end.
  std::function<void(std::string_view events)> events;
  /// A member of the outermost object beside the list of events: its name, and its value as JSON.
  std::function<void(std::string_view name, std::string_view json)> member;
};

/// Writes the tokens of events as strict JSON that viewers take: ts and dur as numbers, a duration for each
/// X, a phase of one letter. An event that EventReader would not keep for its time or phase is left out and
/// counted likewise. One for each reading thread.
class EventRewriter {
 public:
  /// As EventReader::read; the event goes to batch.rewritten.
  Walk read(Walk walk, std::uint64_t offset, Batch& batch);

 private:
  Walk copy_members(Walk walk);
  void append_event(bool has_time, std::uint64_t offset, Batch& batch);

  EventFields fields_;
  char phase_ = 0;
  std::string members_;  ///< of the event at hand, each with a comma before it
};

}  // namespace headroom::trace::readers
