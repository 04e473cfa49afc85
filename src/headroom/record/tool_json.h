// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "headroom/base/json.h"

namespace headroom {

/// Whether each of `keys` stands as a key in the first 64 KiB of `text`: `"key":`, which no string of a JSON
/// text can hold. For telling formats apart.
bool holds_keys(std::string_view text, std::initializer_list<std::string_view> keys);

/// The JSON of other tools: strict, but for the literals NaN, Infinity and -Infinity, which some of them
/// write where a number belongs; the functions below read those as not-a-number. Nested at most 500 deep.
/// Throws Error with the byte offset.
Json parse_tool_json(std::string_view text, const std::string& source);

/// Throws what parse_json throws where `text` is not strict JSON; builds no value of it.
void require_json(std::string_view text, const std::string& source);

/// One object of a file and its path in errors.
struct JsonRow {
  Json object;
  std::string where;  ///< "results.json: /3", "results.jsonl: line 4: "
};

/// The objects of a file that holds a list, one object, or one object a line. Throws Error, also where there
/// is none.
std::vector<JsonRow> parse_json_rows(std::string_view text, const std::string& source);

/// Whether `value` is a number or stands for one that JSON cannot hold.
bool is_tool_number(const Json& value);
/// Not-a-number where JSON cannot hold the number. Throws Error where `value` is none. `where` is its path.
double tool_number(const Json& value, const std::string& where);
/// A member that must be a finite number. Throws Error.
double finite_number(const Json& object, const char* key, const std::string& where);
/// `value` itself. Throws Error naming `where` unless it is finite and above zero: no time that was measured
/// is zero or less.
double require_time(double value, const std::string& where);
/// The numbers of an array, each held to require_time. `where` is the path of the array.
std::vector<double> read_times(const Json& array, const std::string& where);

/// A value as people read it: a text without its quotes, anything else as JSON.
std::string plain_text(const Json& value);

/// The members of an object that are neither null nor empty, as plain_text.
std::map<std::string, std::string> plain_texts(const Json& object);

}  // namespace headroom
