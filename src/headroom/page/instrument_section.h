// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "headroom/page/page.h"
#include "headroom/record/record.h"

namespace headroom {

/// What a page shows of an instrument whose cases have many metrics each (ranks, operators, steps, commands
/// with caches); assets/sections/KIND.js says what is made of it:
///
///     {"answers": [sentence], "run": run_json of page/environment_facts.h,
///      "environments": [as page/environment_facts.h has it],
///      "cases": [{"name", "label" (the name and its axes), "backend", "runner", "dtype",
///                 "axes": {name: number or text}, "outcome", "reason", "notes": [text], "about": {name:
///                 text}, "metrics": {NAME: {"value", "unit", "low", "high", "n", "ranks": [median of each]
///                 or
///                             absent, "about": {name: text} or absent,
///                             "limit": {"name", "at", "share", "low", "high"} or absent}},
///                 "headline": NAME, "samples": of it (page/sample_summary.h),
///                 "ratio": {"ratio", "low", "high", "to"} or absent}],
///      "cache_run": as command/cache_run_json.h has it, or absent}
///
/// Cases are those of report/measured_case.h. Numbers that there are not are null.
PageSection instrument_section(std::string kind, std::string title, const std::vector<Record>& records,
                               const std::vector<std::string>& answers);

}  // namespace headroom
