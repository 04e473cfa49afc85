// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "headroom/base/sheet.h"
#include "headroom/trace/analysis.h"

namespace headroom {

/// How the tables of an analysis are shown to a person.
struct TraceTextOptions {
  bool markdown = false;
  bool whole_names = false;    ///< else long names are cut in their middle
  std::int64_t origin_ns = 0;  ///< instants are shown as seconds since then
  std::size_t width = 0;       ///< of the terminal, in characters; 0: no limit
};

/// A cell as its kind says: "1.25 ms", "57.6 %", "32 MiB"; "-" for nothing.
std::string trace_cell_text(const trace::Cell& cell, trace::Kind kind, const TraceTextOptions& options = {});

Table trace_table(const trace::DataTable& data, const TraceTextOptions& options = {});

/// The answer, every table under its title, then the notes. A result without tables is shown by its
/// headlines.
Sheet trace_sheet(const trace::AnalysisResult& result, const TraceTextOptions& options = {});

}  // namespace headroom
