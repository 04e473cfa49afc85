// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "headroom/record/record.h"
#include "headroom/schedule/track.h"

namespace headroom {

/// Turns what the rounds of a group gave into records: for each case "latency" (us) with all its samples, the
/// headline metric (marked), and what the case reports itself. Each carries the interval, the
/// stop reason, the limit in the same rounds, and sentences about the noise. In a group of several cases
/// every record of one that is not the baseline says how it stands to that (to the first whose answer is
/// right, where its own baseline's is wrong): extra_info ratio, ratio_low, ratio_high (of the times),
/// ratio_to. A case without samples gives one record with its outcome and no unit. `labels` names the runners
/// by index.
std::vector<Record> case_records(const GroupResult& result, const std::vector<std::string>& labels,
                                 const std::shared_ptr<const Environment>& environment);

}  // namespace headroom
