// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "headroom/record/record.h"
#include "headroom/schedule/track.h"

namespace headroom {

/// A record for each quantity that the hardware counted of `track` (record/counted_metrics.h), made of
/// `base`, that of the case, with a value per iteration for each pass.
void append_counted(const Track& track, const Record& base, std::vector<Record>& records);

}  // namespace headroom
