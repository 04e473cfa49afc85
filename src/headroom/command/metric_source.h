// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "headroom/command/measured_command.h"
#include "headroom/record/record.h"

namespace headroom {

/// Which number of a run is the measurement.
struct MetricSource {
  enum class From {
    kWall,     ///< time from start to end, s
    kCpu,      ///< user and system time, s
    kPeakRss,  ///< largest resident set of one process, MiB
    kCsv,      ///< a column of a CSV that has one row of values
    kJson,     ///< a place in a JSON document
    kOutput    ///< what a regular expression finds in what the command printed
  };
  From from = From::kWall;
  std::string key;   ///< column name, JSON pointer, or POSIX extended expression
  std::string name;  ///< "compile time"
  std::string unit;  ///< "s"
  Direction direction = Direction::kLowerIsBetter;

  /// Whether the number is in what the command wrote, not in the kernel's account of it.
  bool needs_document() const { return from == From::kCsv || from == From::kJson || from == From::kOutput; }
};

/// "wall", "cpu", "rss", "csv:COLUMN", "json:/POINTER", "output:EXPRESSION", with their usual names and units
/// (none for what the command writes). Throws Error.
MetricSource parse_metric(std::string_view text);

/// Throws Error when the key of the source (column, pointer, expression) cannot be one.
void check_metric(const MetricSource& source);

/// What a run wrote, and what to call it in errors.
struct MetricDocument {
  std::string text;
  std::string name;     ///< "its standard output", "the file {output}"
  bool is_cut = false;  ///< there was more
};

/// The number that a run gave, finite and not negative. Throws Error saying what was found instead: no such
/// column, no row of values or several, a text, no such place, nothing that fits.
double read_metric(const MetricSource& source, const CommandResult& result, const MetricDocument& document);

}  // namespace headroom
