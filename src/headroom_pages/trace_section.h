// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "headroom_pages/page.h"
#include "headroom_trace/report/trace_report.h"
#include "headroom_trace/timeline/timeline.h"

namespace headroom {

/// What a trace, or the traces of the ranks of one job, tell: what to fix first, the timeline, the tables of
/// `report`, which is of the analysis summary.
///
///     {"answer":[…],"findings":[{"kind","recoverable_ns","share","rank","step","at","where","evidence","fix"}],
///      "tables":[{"title","columns":[{"title","unit"}],"rows":[[…]]}],"notes":[…],"timeline":{…}}
///
/// `at` is ns on the timeline; null where nobody knows when. Units are ns, B, share, 1, GB/s, or null for
/// text. The timeline is what headroom_trace/timeline/timeline.h writes.
PageSection trace_section(std::string title, const TraceReport& report, const trace::JobTimeline& timeline);

}  // namespace headroom
