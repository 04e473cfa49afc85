// SPDX-License-Identifier: Apache-2.0
#include "headroom/record/record.h"

#include "headroom/base/json.h"

namespace headroom {

std::string case_name(const Record& record) {
  std::string name = record.model.name;
  for (const auto& [axis, value] : record.axes) name += " " + axis + "=" + value;
  return name;
}

std::string identity(const Record& record) {
  // A JSON array keeps the parts apart whatever characters they hold.
  Json axes = Json::array();
  for (const auto& [axis, value] : record.axes) axes.push_back(axis + "=" + value);
  return dump_json(Json::array({record.benchmark.name, record.benchmark.mode, record.model.name,
                                record.model.backend, axes, record.benchmark.dtype, record.device,
                                record.caches, record.threads, record.metric.name}));
}

}  // namespace headroom
