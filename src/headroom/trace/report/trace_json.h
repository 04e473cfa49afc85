// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "headroom/base/json.h"
#include "headroom/trace/report/trace_report.h"

namespace headroom {

/// {"analysis", "name", "files": [...], "headlines": [...], "tables": {KEY: [{COLUMN: VALUE}]}, "notes"}; of
/// several traces also "ranks". Numbers in full, in the unit that their key ends in; null for nothing.
Json trace_json(const TraceReport& report);

/// A cell as trace_json has it: a text, a number, or null for nothing.
Json cell_json(const trace::Cell& cell);

/// A file of headroom: its records (trace_records.h), which diff, gate and history read, and trace_json as
/// the member "trace". docs/trace.md describes it.
std::string trace_json_text(const TraceReport& report);

}  // namespace headroom
