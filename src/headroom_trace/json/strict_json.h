// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "headroom/base/json.h"
#include "headroom_trace/json/json_text.h"
#include "headroom_trace/json/structural_walk.h"

namespace headroom::trace::readers {

/// Without rounding.
void append_microseconds(std::int64_t ns, std::string& out);

/// Repairs escapes, UTF-8 and numbers (+5, .5, 01). NaN and infinities become null; other bare words are
/// quoted. A character outside of the value must follow it.
void append_clean_scalar(Raw value, std::string& out);

/// Writes one line without trailing commas. Returns the walk after the value; a broken walk for an invalid
/// value (`out` then ends with a part).
Walk append_clean_value(Walk walk, std::string& out);

/// Strict JSON on one line, or "" if invalid.
std::string clean_json(std::string_view value);

/// Whether `"key":` occurs in the text.
bool has_key(std::string_view members, std::string_view key);

}  // namespace headroom::trace::readers
