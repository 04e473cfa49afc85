// SPDX-License-Identifier: Apache-2.0
#include "headroom/record/iso_time.h"

#include <algorithm>
#include <chrono>
#include <optional>

#include "headroom/base/text.h"

namespace headroom {
namespace {

/// Two or four digits at `at`; nothing where there are none.
std::optional<int> digits(std::string_view text, std::size_t at, std::size_t count) {
  if (at + count > text.size()) return std::nullopt;
  int value = 0;
  for (const char c : text.substr(at, count)) {
    if (c < '0' || c > '9') return std::nullopt;
    value = 10 * value + (c - '0');
  }
  return value;
}

/// Minutes east of Greenwich.
int zone_minutes(std::string_view zone) {
  if (zone.empty() || (zone[0] != '+' && zone[0] != '-')) return 0;
  const std::size_t minutes_at = zone.size() > 3 && zone[3] == ':' ? 4 : 3;
  const int minutes = 60 * digits(zone, 1, 2).value_or(0) + digits(zone, minutes_at, 2).value_or(0);
  return zone[0] == '-' ? -minutes : minutes;
}

}  // namespace

std::uint64_t seconds_of_iso_time(std::string_view text) {
  using namespace std::chrono;
  const auto year_number = digits(text, 0, 4), month_number = digits(text, 5, 2),
             day_number = digits(text, 8, 2);
  const auto hour = digits(text, 11, 2), minute = digits(text, 14, 2), second = digits(text, 17, 2);
  if (!year_number || !month_number || !day_number || !hour || !minute || !second) return 0;
  const year_month_day date{year(*year_number), month(static_cast<unsigned>(*month_number)),
                            day(static_cast<unsigned>(*day_number))};
  if (!date.ok()) return 0;
  const std::size_t zone = std::min(text.find_first_of("+-Z", 19), text.size());
  const auto time = sys_days(date).time_since_epoch() + hours(*hour) +
                    minutes(*minute - zone_minutes(text.substr(zone))) + seconds(*second);
  return static_cast<std::uint64_t>(std::max<std::int64_t>(0, duration_cast<seconds>(time).count()));
}

}  // namespace headroom
