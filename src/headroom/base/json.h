// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "headroom/base/json_value.h"

namespace headroom {

/// Parses strict JSON. `source` names the text in errors ("results.json").
/// Throws Error with the byte offset when the text is not JSON, or nested more than 500 deep.
Json parse_json(std::string_view text, const std::string& source);

/// Whether parse_json would take it.
bool is_json(std::string_view text);

/// The value at a JSON pointer (RFC 6901), "/times/0/compile", or nullptr where there is none.
/// Throws Error where the text is no pointer.
const Json* json_at(const Json& value, std::string_view pointer);

/// Typed access with an error that names the path: "results.json: /records/3/metric/name: expected a string,
/// found a number". `where` is the path of `object`. All throw Error when the member is absent or of another
/// type.
double json_number(const Json& object, const char* key, const std::string& where);
std::string json_string(const Json& object, const char* key, const std::string& where);
bool json_bool(const Json& object, const char* key, const std::string& where);
const Json& json_member(const Json& object, const char* key, const std::string& where);
const Json& json_array(const Json& object, const char* key, const std::string& where);

/// The member, or nullptr where it is absent or null.
const Json* json_optional(const Json& object, const char* key, const std::string& where);

/// The same with a default for an absent (or null) member; a member of another type is still an Error.
double json_number_or(const Json& object, const char* key, double fallback, const std::string& where);
std::string json_string_or(const Json& object, const char* key, const std::string& fallback,
                           const std::string& where);

/// Strict JSON on one line. Not-a-number and infinity become null; invalid UTF-8 becomes U+FFFD.
std::string dump_json(const Json& value);
/// The same, indented by two spaces.
std::string dump_json_pretty(const Json& value);
/// Appends a value, or a string, as dump_json writes it.
void append_json(std::string& text, const Json& value);
void append_json_string(std::string& text, const std::string& value);
/// On one line, with \u escapes for all that is not ASCII.
std::string dump_json_ascii(const Json& value);

}  // namespace headroom
