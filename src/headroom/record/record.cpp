// SPDX-License-Identifier: Apache-2.0
#include "headroom/record/record.h"

#include <algorithm>

#include "headroom/base/json.h"
#include "headroom/record/dtype.h"

namespace headroom {

Record::Record() = default;
Record::Record(const Record& other) = default;
Record::Record(Record&& other) noexcept = default;
Record& Record::operator=(const Record& other) = default;
Record& Record::operator=(Record&& other) noexcept = default;
Record::~Record() = default;

Environment::Environment() = default;
Environment::Environment(const Environment& other) = default;
Environment::Environment(Environment&& other) noexcept = default;
Environment& Environment::operator=(const Environment& other) = default;
Environment& Environment::operator=(Environment&& other) noexcept = default;
Environment::~Environment() = default;

std::string case_name(const Record& record) {
  std::string name = record.model.name;
  for (const auto& [axis, value] : record.axes) name += " " + axis + "=" + value;
  return name;
}

std::string identity(const Record& record) {
  // Not every file keeps the order of the axes, and not every tool calls a dtype the same.
  std::vector<std::string> axes;
  for (const auto& [axis, value] : record.axes) {
    axes.push_back(axis + "=" + (axis == "dtype" ? torch_dtype(value) : value));
  }
  std::ranges::sort(axes);
  // A JSON array keeps the parts apart whatever characters they hold.
  return dump_json(Json::array({record.benchmark.name, record.benchmark.mode, record.model.name,
                                record.model.backend, axes, torch_dtype(record.benchmark.dtype),
                                record.device, record.caches, record.threads, record.metric.name}));
}

bool any_outcome(std::span<const Record> records, Outcome::Kind kind) {
  return std::ranges::any_of(records, [&](const Record& record) { return record.outcome.kind == kind; });
}

}  // namespace headroom
