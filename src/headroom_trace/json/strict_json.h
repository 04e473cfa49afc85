// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "headroom_trace/json/json_text.h"
#include "headroom_trace/json/structural_walk.h"

namespace headroom::trace::readers {

/// Appends `text` as a JSON string with quotes.
void append_json_string(std::string_view text, std::string& out);

/// Appends a time in microseconds, exactly.
void append_microseconds(std::int64_t ns, std::string& out);

/// Appends a scalar or string of a file as strict JSON: repairs escapes and UTF-8, writes NaN and infinities
/// as null, normalises numbers (+5, .5, 01), and quotes other bare words.
void append_clean_scalar(Raw value, std::string& out);

/// Appends the value at the walk as strict JSON on one line, without trailing commas. Returns the walk after
/// it; a broken walk if the tokens form no value (`out` then ends with a part of it).
Walk append_clean_value(Walk walk, std::string& out);

/// A whole value as strict JSON on one line; empty if it is none.
std::string clean_json(std::string_view value);

/// Whether `"key":` occurs in a text of members.
bool has_key(std::string_view members, std::string_view key);

}  // namespace headroom::trace::readers
