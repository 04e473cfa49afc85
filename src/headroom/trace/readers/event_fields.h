// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstring>

#include "headroom/trace/readers/json_text.h"
#include "headroom/trace/readers/structural_walk.h"

namespace headroom::trace::readers {

/// What stands in an event beside its arguments; empty where it does not.
struct EventFields {
  Raw phase, category, name, pid, tid, ts, dur, id;
};

/// Where the value of a key goes; nullptr for keys that nobody asks for.
inline Raw* slot_of(EventFields& fields, Raw key) {
  // Sizes that are known make each comparison one instruction.
  const auto is = [&]<std::size_t kSize>(const char(&text)[kSize]) {
    return std::memcmp(key.data(), text, kSize - 1) == 0;
  };
  switch (key.size()) {
    case 2:
      if (is("ph")) return &fields.phase;
      if (is("ts")) return &fields.ts;
      if (is("id")) return &fields.id;
      return nullptr;
    case 3:
      if (is("cat")) return &fields.category;
      if (is("pid")) return &fields.pid;
      if (is("tid")) return &fields.tid;
      if (is("dur")) return &fields.dur;
      return nullptr;
    case 4:
      return is("name") ? &fields.name : nullptr;
    default:
      return nullptr;
  }
}

}  // namespace headroom::trace::readers
