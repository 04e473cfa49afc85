// SPDX-License-Identifier: Apache-2.0
#include "headroom/trace/readers/event_complaints.h"

#include <fmt/format.h>

#include <string_view>

#include "headroom/base/text.h"

namespace headroom::trace::readers {

std::string shown(Raw value) {
  constexpr std::size_t kMost = 60;
  const std::string_view text = without_quotes(value);
  return in_quotes(text.substr(0, kMost)) + (text.size() > kMost ? "..." : "");
}

bool is_known_phase(char phase) {
  return phase != '\0' &&
         std::string_view("XBEiIRCbneSTpFtsfNODPvVc(),M").find(phase) != std::string_view::npos;
}

std::string no_phase(Raw phase) {
  if (without_quotes(phase).empty()) return "an event without a phase (ph)";
  return fmt::format("an unknown phase (ph): {}", shown(phase));
}

std::string long_phase(Raw phase) {
  return fmt::format("a phase of more than one letter, {}, read as its first", shown(phase));
}

std::string no_time(Raw ts) {
  if (ts.empty()) return "an event without a time (ts)";
  if (is_number(ts)) return fmt::format("ts is out of range, 73 years either side of zero: {}", shown(ts));
  return fmt::format("ts is not a number: {}", shown(ts));
}

std::string no_duration(Raw value) {
  if (value.empty()) return "an X event without a duration (dur), read as 0";
  const char* const what = parse_microseconds(value) ? "negative"
                           : is_number(value)        ? "out of range"
                                                     : "not a number";
  return fmt::format("dur is {}: {}, read as 0", what, shown(value));
}

}  // namespace headroom::trace::readers
