// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "headroom/trace/analysis.h"

namespace headroom {

/// A table as CSV (RFC 4180): the keys of the columns, which say the unit, then a line for each row. Numbers
/// in full; nothing for a cell that holds nothing.
std::string trace_csv(const trace::DataTable& table);

/// All tables in one text: before each a line "# KEY: TITLE", between them an empty line.
std::string trace_csv(const trace::AnalysisResult& result);

}  // namespace headroom
