// SPDX-License-Identifier: Apache-2.0
#include "headroom/trace/readers/row_removal.h"

#include <cstdint>

namespace headroom::trace::readers {
namespace {

template <typename Value>
void keep_rows(std::vector<Value>& column, const std::vector<bool>& is_dropped) {
  std::size_t kept = 0;
  for (std::size_t row = 0; row < column.size(); ++row) {
    if (!is_dropped[row]) column[kept++] = column[row];
  }
  column.resize(kept);
}

/// Drops details of dropped events; the rest point at the new rows, and their events at them.
template <typename Detail>
void keep_details(std::vector<Detail>& details, const std::vector<std::uint32_t>& new_rows, Events& events) {
  std::size_t kept = 0;
  for (const Detail& detail : details) {
    const std::uint32_t row = new_rows[detail.event];
    if (row == kNone) continue;
    details[kept] = detail;
    details[kept].event = row;
    events.detail[row] = static_cast<std::uint32_t>(kept++);
  }
  details.resize(kept);
}

}  // namespace

void remove_events(Trace& trace, const std::vector<bool>& is_dropped) {
  Events& events = trace.events;
  std::vector<std::uint32_t> new_rows(events.size(), kNone);
  std::uint32_t next = 0;
  for (std::size_t row = 0; row < new_rows.size(); ++row) {
    if (!is_dropped[row]) new_rows[row] = next++;
  }
  keep_rows(events.start_ns, is_dropped);
  keep_rows(events.duration_ns, is_dropped);
  keep_rows(events.name, is_dropped);
  keep_rows(events.thread, is_dropped);
  keep_rows(events.category, is_dropped);
  keep_rows(events.correlation, is_dropped);
  keep_rows(events.detail, is_dropped);
  keep_details(trace.gpu, new_rows, events);
  keep_details(trace.ops, new_rows, events);
  keep_details(trace.syncs, new_rows, events);
  std::erase_if(trace.precise_times, [&](PreciseTime& time) {
    time.event = new_rows[time.event];
    return time.event == kNone;
  });
}

}  // namespace headroom::trace::readers
