// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "headroom/record/record.h"
#include "headroom/trace/report/trace_report.h"

namespace headroom {

/// The headlines as records, so that diff, gate and history read them: benchmark mode "trace", model the
/// report's name, one axis for the device and one for the rank where a headline is of one. All share one
/// environment, which is that of the trace and not of the machine that reads it: the devices that it names
/// are the fingerprint, and its time is the trace's own where its clock tells it, else that of the file.
std::vector<Record> trace_records(const TraceReport& report);

/// The unit of a headline's value: "ns", "B", "1", ...
const char* trace_unit(trace::Kind kind);

}  // namespace headroom
