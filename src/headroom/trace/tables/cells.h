// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "headroom/trace/columns/trace.h"
#include "headroom/trace/tables/data_table.h"

namespace headroom::trace {

inline Cell count_cell(std::size_t count) {
  return static_cast<std::int64_t>(count);
}
/// Device or stream number; nothing where the file does not say it.
inline Cell number_cell(std::int64_t number) {
  return number < 0 ? Cell{} : Cell{number};
}
/// part / whole; nothing where there is no whole.
inline Cell share_cell(std::int64_t part, std::int64_t whole) {
  return whole > 0 ? Cell{static_cast<double>(part) / static_cast<double>(whole)} : Cell{};
}
/// The same of what is no whole number.
inline Cell quotient_cell(double part, double whole) {
  if (whole > 0) return part / whole;
  return {};
}
/// Nothing for an empty text.
inline Cell text_cell(const std::string& text) {
  return text.empty() ? Cell{} : Cell{text};
}
inline Cell name_cell(const Trace& trace, NameId name) {
  return name == kNoName ? Cell{} : Cell{std::string(trace.names[name])};
}
/// Name of a row of Trace::events; nothing for kNone.
inline Cell event_cell(const Trace& trace, std::uint32_t event) {
  return event == kNone ? Cell{} : name_cell(trace, trace.events.name[event]);
}

/// How some times are spread. Quantiles interpolate between neighbours (stats/quantile.h).
struct TimeSpread {
  std::size_t count = 0;
  std::int64_t total_ns = 0, max_ns = 0;
  double median_ns = 0, p95_ns = 0, p99_ns = 0;
};
/// All zero for none.
TimeSpread time_spread(const std::vector<std::int64_t>& times_ns);

}  // namespace headroom::trace
