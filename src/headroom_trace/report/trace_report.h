// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "headroom/base/json.h"
#include "headroom/record/record.h"
#include "headroom/tables/table.h"
#include "headroom_trace/analysis.h"
#include "headroom_trace/columns/trace_facts.h"
#include "headroom_trace/report/table_text.h"

namespace headroom {

/// The source of every output.
struct TraceReport {
  std::string name;  ///< of the program and of its records
  std::string analysis;
  std::vector<std::string> command;  ///< reproduces this result
  std::vector<std::string> operands{};
  std::vector<trace::TraceFacts> files;  ///< readable ones
  std::vector<trace::RankResult> ranks;  ///< parallel to `files`; empty for a single trace
  trace::AnalysisResult result;
};

/// Answer, tables and notes; without tables the headlines.
View trace_view(const trace::AnalysisResult& result, const TraceTextOptions& options = {});

/// Doubts, the first standing sentence, the answer, the other standing sentences; without an answer, the
/// headlines as sentences (minimum to maximum over ranks) and the largest rows of some tables; else the first
/// note.
std::vector<std::string> trace_answer(const TraceReport& report);

/// RFC 4180: the column keys, which contain the unit, then the rows in full precision.
std::string trace_csv(const trace::DataTable& table);

/// Each table after a line "# KEY: TITLE", separated by empty lines.
std::string trace_csv(const trace::AnalysisResult& result);

/// Records for diff, gate and history: benchmark mode "trace", model the report's name, axes for device and
/// rank. The environment's fingerprint is the trace's device names; its time the trace's if the clock is
/// absolute, else the file's.
std::vector<Record> trace_records(const TraceReport& report);

/// "ns", "B", "1", ...
const char* trace_unit(trace::Kind kind);

/// {"analysis", "name", "files": [...], "headlines": [...], "tables": {KEY: [{COLUMN: VALUE}]}, "notes"}; for
/// several traces also "ranks". Numbers in full precision, in the unit that ends their key; empty cells are
/// null.
Json trace_json(const TraceReport& report);

Json cell_json(const trace::Cell& cell);

/// A record file (trace_records) with trace_json as the member "trace". See docs/reference/trace-tables.md.
std::string trace_json_text(const TraceReport& report);

}  // namespace headroom
