// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headroom/base/error.h"
#include "headroom/base/json.h"
#include "headroom/record/environment.h"
#include "headroom/record/record.h"

namespace headroom {

/// As parse_json(), but accepts NaN and infinities, which tool_number() reads as NaN.
Json parse_tool_json(std::string_view text, const std::string& source);

struct JsonRow {
  Json object;
  std::string where;  ///< "results.json: /3", "results.jsonl: line 4: "
};

/// Reads a list, one object, or JSON lines. Throws Error, also without objects.
std::vector<JsonRow> parse_json_rows(std::string_view text, const std::string& source);

/// Reads CSV with a header as objects, without empty cells. Numbers become numbers, except in `texts` and
/// columns beginning with "parameter_".
std::vector<JsonRow> parse_csv_rows(std::string_view text, const std::string& source,
                                    std::initializer_list<std::string_view> texts);

/// Without line ends.
std::vector<std::string_view> lines_of(std::string_view text);
using Fields = std::vector<std::string_view>;
/// Splits at blanks.
Fields fields_of(std::string_view line);

/// Throw Error naming `where` for another type.
const Json& require_array(const Json& value, const std::string& where);
const Json& require_object(const Json& value, const std::string& where);

/// Returns NaN for NaN and infinities. Throws Error naming `where` for other types.
double tool_number(const Json& value, const std::string& where);
/// Throws Error unless the member is a finite number.
double finite_number(const Json& object, const char* key, const std::string& where);
/// An impossible time: readers may skip its case.
struct TimeError : Error {
  using Error::Error;
};
/// Throws TimeError naming `where` unless finite and > 0.
double require_time(double value, const std::string& where);
/// `where` is the array's path.
std::vector<double> read_times(const Json& array, const std::string& where);

/// Strings without quotes, else JSON.
std::string plain_text(const Json& value);

/// Omits null and empty members.
std::map<std::string, std::string> plain_texts(const Json& object);

/// Names another tool's machine: host, processor or GPU, and a hash of all fields ("build-7-1c9f03aa"); empty
/// without them. Only letters, digits, '-' and '_'; never a machine_fingerprint().
std::string imported_fingerprint(const std::vector<Environment::Runner>& machines);

/// The machine, if known, and its imported_fingerprint().
std::shared_ptr<Environment> imported_environment(const Environment::Runner& machine);

/// Nothing unless `unit` is ns, us, µs, ms or s.
std::optional<double> nanoseconds_per(std::string_view unit);

/// Unix time of an ISO 8601 time, also with a space for the T, fractions and Z; UTC without a zone. 0 if
/// invalid or before 1970.
std::uint64_t seconds_of_iso_time(std::string_view text);

/// `unit` must match the metric's name.
Record tool_record(std::string tool, std::string case_name, std::string metric, std::string unit,
                   Direction direction = Direction::kLowerIsBetter);

/// Gives a copied record its metric, not the headline.
void set_metric(Record& record, std::string metric, std::string unit,
                Direction direction = Direction::kLowerIsBetter);

Record headline_record(std::string tool, std::string case_name, std::string metric, std::string unit,
                       Direction direction = Direction::kLowerIsBetter);

/// Sets samples of one process, median and interval; no values: failed. No rounds, as other tools do not
/// pair.
void set_samples(Record& record, std::vector<double> values, std::uint64_t iterations = 0);

/// By process; empty processes are left out.
void set_process_samples(Record& record, std::vector<std::vector<double>> processes,
                         std::uint64_t iterations = 0);

/// Reorders `values`, which must not be empty.
double median_in_place(std::vector<double>& values);

void set_value(Record& record, double value);

/// The unit in "memory_bandwidth(GB/s)"; may be empty.
std::string unit_of_name(std::string_view metric);

/// Bencher Metric Format, a measure per metric.
std::string write_bmf(const std::vector<Record>& records, std::string_view, const std::string&);

}  // namespace headroom
