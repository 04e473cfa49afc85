// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "headroom/trace/readers/json_text.h"
#include "headroom/trace/readers/structural_walk.h"

namespace headroom::trace::readers {

/// Appends `text` as a JSON string, quotes included.
void append_json_string(std::string_view text, std::string& out);

/// Appends a scalar or string of a file as strict JSON: escapes and UTF-8 repaired, NaN and infinities as
/// null, numbers in forms that JSON does not have (+5, .5, 01) in one that it has, other bare words as
/// strings.
void append_clean_scalar(Raw value, std::string& out);

/// Appends the value that the walk is on as strict JSON on one line, without trailing commas. Gives the walk
/// after it; a broken one when its tokens make no value: `out` then ends with a part of it.
Walk append_clean_value(Walk walk, std::string& out);

}  // namespace headroom::trace::readers
