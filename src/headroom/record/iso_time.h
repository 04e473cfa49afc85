// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

namespace headroom {

/// Seconds since 1970 of "2026-11-21T02:25:21+01:00" (ISO 8601; a blank for the T, a fraction of a second and
/// Z are taken too; no zone means UTC). 0 where it is none, or before 1970.
std::uint64_t seconds_of_iso_time(std::string_view text);

}  // namespace headroom
