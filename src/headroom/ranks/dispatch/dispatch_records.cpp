// SPDX-License-Identifier: Apache-2.0
#include "headroom/ranks/dispatch/dispatch_records.h"

#include <algorithm>
#include <string_view>

namespace headroom {

std::vector<Record> dispatch_records(std::vector<Record> records) {
  for (Record& record : records) {
    if (record.model.name.starts_with(kDispatchPrefix))
      record.model.name.erase(0, std::string_view(kDispatchPrefix).size());
    record.model.type = "operator dispatch";
    record.device = record.model.backend == "nccl" ? "cuda" : "cpu";
    record.model.backend = "dtensor";
    if (record.metric.name == "latency") record.metric.name = "hit";
    // How often a cycle repeats its calls is how it was measured, not what.
    std::erase_if(record.axes, [](const auto& axis) { return axis.first == "repeats"; });
  }
  return records;
}

}  // namespace headroom
