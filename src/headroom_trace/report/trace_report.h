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

namespace headroom {

/// The report of an analysis of one trace, or of the traces of one job. Every output is made from it.
struct TraceReport {
  std::string name;                      ///< of the traced program; the name of its records
  std::string analysis;                  ///< "idle"
  std::vector<std::string> command;      ///< reproduces this result
  std::vector<std::string> operands{};   ///< the files and folders in `command`
  std::vector<trace::TraceFacts> files;  ///< the readable ones
  std::vector<trace::RankResult> ranks;  ///< one for each of `files`; empty for a single trace
  trace::AnalysisResult result;
};

/// Shortens each name to at most `most` characters: two thirds from its beginning, the rest from its end,
/// because the template arguments in the middle tell least. Different names stay different: if their short
/// texts would be equal, the place where they differ is kept, and as a last resort a number is added, which
/// may take a few characters more. Equal names are shortened equally.
std::vector<std::string> shortened_names(const std::vector<std::string>& names, std::size_t most);

/// Options for showing the tables of an analysis as text.
struct TraceTextOptions {
  bool markdown = false;
  bool whole_names = false;    ///< else long names are cut in their middle
  std::int64_t origin_ns = 0;  ///< instants are shown as seconds since then
  std::size_t width = 0;       ///< of the terminal, in characters; 0: no limit
};

/// Formats a cell by its kind: "1.25 ms", "57.6 %", "32 MiB"; "-" if empty.
std::string trace_cell_text(const trace::Cell& cell, trace::Kind kind, const TraceTextOptions& options = {});

Table trace_table(const trace::DataTable& data, const TraceTextOptions& options = {});

/// The answer, every table under its title, then the notes. A result without tables shows its headlines.
Sheet trace_sheet(const trace::AnalysisResult& result, const TraceTextOptions& options = {});

/// Returns the doubts, the standing sentences and the answer of a report; if the analysis gave none, the
/// headlines as sentences (over several ranks
/// from minimum to maximum), and the first row of a table of names by share. Without both, the first note.
std::vector<std::string> trace_answer(const TraceReport& report);

/// A table as CSV (RFC 4180): the column keys, which contain the unit, then the rows. Numbers in full; empty
/// cells stay empty.
std::string trace_csv(const trace::DataTable& table);

/// All tables in one text, each after a line "# KEY: TITLE", separated by empty lines.
std::string trace_csv(const trace::AnalysisResult& result);

/// Converts the headlines to records for diff, gate and history: benchmark mode "trace", model the report's
/// name, axes for the device and the rank where a headline has one. All share one environment, that of the
/// trace and not of this machine: its device names are the fingerprint; the time is the trace's own if its
/// clock is absolute, else that of the file.
std::vector<Record> trace_records(const TraceReport& report);

/// The unit of a headline's value: "ns", "B", "1", ...
const char* trace_unit(trace::Kind kind);

/// {"analysis", "name", "files": [...], "headlines": [...], "tables": {KEY: [{COLUMN: VALUE}]}, "notes"}; for
/// several traces also "ranks". Full-precision numbers in the unit that ends their key; null for an empty
/// cell.
Json trace_json(const TraceReport& report);

/// A cell in trace_json: a text, a number, or null if empty.
Json cell_json(const trace::Cell& cell);

/// A headroom record file: the records (trace_records), for diff, gate and history, and trace_json as the
/// member "trace". docs/trace.md describes it.
std::string trace_json_text(const TraceReport& report);

}  // namespace headroom
