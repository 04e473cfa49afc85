// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "headroom/record/record.h"

namespace headroom::test {

/// The first record of the metric; null where there is none.
inline const Record* record_of(const std::vector<Record>& records, const std::string& metric) {
  const auto found =
      std::ranges::find_if(records, [&](const Record& record) { return record.metric.name == metric; });
  return found == records.end() ? nullptr : &*found;
}

}  // namespace headroom::test
