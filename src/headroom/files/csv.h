// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace headroom {

using CsvRow = std::vector<std::string>;

/// Parses RFC 4180 as Python's csv.reader does (quotes doubled, LF or CRLF). `source` names the text in
/// errors. Throws Error with the line number for an unterminated quote.
std::vector<CsvRow> parse_csv(std::string_view text, const std::string& source);

/// Formats one line, ending in "\n", as Python's csv.writer(lineterminator="\n") does
/// (QUOTE_MINIMAL).
std::string csv_line(const CsvRow& row);

}  // namespace headroom
