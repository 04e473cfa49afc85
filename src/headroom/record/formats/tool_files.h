// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "headroom/base/error.h"
#include "headroom/base/json.h"
#include "headroom/record/environment.h"
#include "headroom/record/record.h"

namespace headroom {

/// Parses another tool's JSON: strict, except for the literals NaN, Infinity and -Infinity, which the
/// functions below read as NaN. Nested at most 500 deep. Throws Error with the byte offset.
Json parse_tool_json(std::string_view text, const std::string& source);

/// Throws as parse_json does if `text` is not strict JSON, without building a value.
void require_json(std::string_view text, const std::string& source);

/// An object of a file, and its path for errors.
struct JsonRow {
  Json object;
  std::string where;  ///< "results.json: /3", "results.jsonl: line 4: "
};

/// Reads the objects of a file that holds a list, one object, or JSON lines. Throws Error, including for a
/// file without objects.
std::vector<JsonRow> parse_json_rows(std::string_view text, const std::string& source);

/// Whether `value` is a number or a literal that parse_tool_json accepts in place of one.
bool is_tool_number(const Json& value);
/// Returns the number; NaN if JSON cannot hold it. Throws Error if `value` is not a number. `where` is its
/// path.
double tool_number(const Json& value, const std::string& where);
/// Returns a member that must be a finite number. Throws Error.
double finite_number(const Json& object, const char* key, const std::string& where);
/// A number of a file that cannot be a time: readers may leave out its case and read the others.
struct TimeError : Error {
  using Error::Error;
};
/// Returns `value`. Throws TimeError naming `where` unless it is finite and above zero.
double require_time(double value, const std::string& where);
/// Reads an array of numbers with require_time. `where` is the path of the array.
std::vector<double> read_times(const Json& array, const std::string& where);

/// Returns a value for display: strings without quotes, anything else as JSON.
std::string plain_text(const Json& value);

/// Returns the members of an object that are neither null nor empty, as plain_text.
std::map<std::string, std::string> plain_texts(const Json& object);

/// Returns Environment::fingerprint for the machines in another tool's file: the name of the host, processor
/// or GPU, and a hash of all their fields ("build-7-1c9f03aa"). Contains only letters, digits, '-' and '_'.
/// Never equals a machine_fingerprint(), which covers more. Empty if the file names no host, processor or
/// GPU: results of unknown machines are pooled only among themselves.
std::string imported_fingerprint(const std::vector<Environment::Runner>& machines);

/// Returns seconds since 1970 of an ISO 8601 time: "2026-11-21T02:25:21+01:00". Also takes a space for the T,
/// fractional seconds and Z; no zone means UTC. 0 if invalid or before 1970.
std::uint64_t seconds_of_iso_time(std::string_view text);

/// Makes a record of a case that another tool measured. `unit` matches the metric's name.
Record tool_record(std::string tool, std::string case_name, std::string metric, std::string unit,
                   Direction direction = Direction::kLowerIsBetter);

/// Makes the record that tables show for its case.
Record headline_record(std::string tool, std::string case_name, std::string metric, std::string unit,
                       Direction direction = Direction::kLowerIsBetter);

/// Sets `values` as the samples of one process, their median as the value, and its interval. No values: a
/// failed case. Sets no rounds, as other tools do not pair their measurements.
void set_samples(Record& record, std::vector<double> values, std::uint64_t iterations = 0);

/// Returns the median of at least one value, reordering them.
double median_in_place(std::vector<double>& values);

/// Sets a value without samples, whose spread is unknown.
void set_value(Record& record, double value);

/// Returns the unit in a name such as "memory_bandwidth(GB/s)" or "Cold compile time (s)", if any.
std::string unit_of_name(std::string_view metric);

}  // namespace headroom
