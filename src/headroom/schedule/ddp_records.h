// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "headroom/record/record.h"
#include "headroom/schedule/ddp_run.h"

namespace headroom {

/// The records of one step, with the iterations of every rank as the samples of a process; none of a warm-up.
///
/// In s: "latency" (the headline), its parts "forward", "backward", "wait" and "step"; where ranks reduce
/// also "without reduction", "exposed communication" (the difference of the two in the same round) and
/// "communication" (while any bucket was on its way). "overlap" is the share of it that the backward pass
/// hides, "throughput" the examples a second of all ranks together. In us, since the backward pass began:
/// "bucket 0 launched", "bucket 0 completed", with "bytes" and "tensors" in extra_info; and "all-reduce
/// BYTES" of all-reduces alone, with "all-reduce alpha" and (us a MiB) "all-reduce beta" of the line through
/// their medians. One record with the reason where nothing was measured.
std::vector<Record> ddp_records(const DdpResult& result, const std::string& library,
                                const std::shared_ptr<const Environment>& environment);

}  // namespace headroom
