// SPDX-License-Identifier: Apache-2.0
#include "headroom/trace/readers/event_values.h"

#include <fmt/format.h>

#include "headroom/trace/readers/event_complaints.h"

namespace headroom::trace::readers {

NameId EventValues::text(Raw value, Batch& batch) {
  const NameId id = tables.texts.intern(without_quotes(value));
  if (tables.texts.is_dirty(id)) {
    batch.add_problem(offset,
                      fmt::format("text with a bad escape or bytes that are no UTF-8: {}", shown(value)));
  }
  return id;
}

NameId EventValues::json(Raw value, Batch& batch) {
  const NameId id = tables.json.intern(value);
  if (tables.json.is_dirty(id)) {
    batch.add_problem(offset, fmt::format("an argument with bytes that are no UTF-8: {}", shown(value)));
  }
  return id;
}

}  // namespace headroom::trace::readers
