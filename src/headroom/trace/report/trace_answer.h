// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "headroom/trace/report/trace_report.h"

namespace headroom {

/// The answer of a report whose analysis gave none: its headlines in words, of several ranks from the least
/// to the most; with the name that leads a table of names by its share. Of a result without either the first
/// note, which says why.
std::vector<std::string> trace_answer(const TraceReport& report);

}  // namespace headroom
