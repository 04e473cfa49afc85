// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace headroom {

using CsvRow = std::vector<std::string>;

/// Parses RFC 4180 as Python's csv.reader. Throws Error with `source` and line for an unterminated quote.
std::vector<CsvRow> parse_csv(std::string_view text, const std::string& source);

/// Formats a line as Python's csv.writer(lineterminator="\n").
std::string csv_line(const CsvRow& row);

}  // namespace headroom
