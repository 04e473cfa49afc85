// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "headroom/base/json.h"
#include "headroom/record/record.h"
#include "headroom_trace/report/trace_report.h"

namespace headroom {

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
