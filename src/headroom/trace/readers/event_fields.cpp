// SPDX-License-Identifier: Apache-2.0
#include "headroom/trace/readers/event_fields.h"

namespace headroom::trace {
namespace {

/// Where the value of a key goes; nullptr for keys that nobody asks for.
Raw* slot_of(EventFields& fields, std::string_view key) {
  if (key == "ph") return &fields.phase;
  if (key == "ts") return &fields.ts;
  if (key == "id") return &fields.id;
  if (key == "cat") return &fields.category;
  if (key == "pid") return &fields.pid;
  if (key == "tid") return &fields.tid;
  if (key == "dur") return &fields.dur;
  if (key == "name") return &fields.name;
  return nullptr;
}

}  // namespace

bool walk_event(Walk& walk, EventFields& fields) {
  return walk_object(walk, [&](std::string_view key) {
    if (Raw* const slot = slot_of(fields, key)) return take_value(walk, *slot);
    if (key == "args") fields.arguments = walk;
    return skip_value(walk);
  });
}

}  // namespace headroom::trace
