// SPDX-License-Identifier: Apache-2.0
#include "headroom/record/seed_rows.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "headroom/record/architecture.h"
#include "headroom/record/dtype.h"
#include "headroom/record/target_verdict.h"

namespace headroom {
namespace {

constexpr const char* kMiscounted = " (above its limit)";

struct Group {
  std::vector<std::string> key;
  const Record* first = nullptr;
  std::vector<const Record*> measured;
  std::size_t left_out = 0;
};

std::vector<std::string> key_of(const Record& record) {
  return {record.model.name,
          record.model.backend,
          record.runner,
          record.benchmark.dtype,
          record.metric.name,
          record.device,
          record.caches,
          std::to_string(record.threads),
          is_miscounted(record) ? kMiscounted : ""};
}

std::vector<Group> group_by_shape(const std::vector<Record>& records) {
  std::vector<Group> groups;
  for (const Record& record : records) {
    if (!record.metric.headline) continue;
    const std::vector<std::string> key = key_of(record);
    auto group =
        std::find_if(groups.begin(), groups.end(), [&](const Group& other) { return other.key == key; });
    if (group == groups.end()) group = groups.insert(groups.end(), Group{key, &record, {}, 0});
    if (record.outcome.kind == Outcome::Kind::kMeasured && std::isfinite(record.metric.value)) {
      group->measured.push_back(&record);
    } else {
      ++group->left_out;
    }
  }
  return groups;
}

SeedNumber mean_target(const std::vector<const Record*>& records) {
  double sum = 0;
  for (const Record* record : records) {
    if (!record->metric.target) return std::monostate{};
    sum += *record->metric.target;
  }
  const double mean = sum / static_cast<double>(records.size());
  constexpr double kExactIntegers = 1e15;
  if (mean == std::floor(mean) && std::abs(mean) < kExactIntegers) return static_cast<std::int64_t>(mean);
  return mean;
}

/// The benchmark calls a model by the name that its publisher gave it, a kernel by that of its experiment.
std::string published_name(const Record& record) {
  const auto model = record.model.extra_info.find("model");
  const bool is_named = record.model.type == "OSS model" && model != record.model.extra_info.end();
  return is_named ? model->second : record.model.name;
}

SeedRow row_of(const Group& group, const std::string& name) {
  double sum = 0;
  for (const Record* record : group.measured) sum += record->metric.value;
  SeedRow row;
  row.name = name;
  row.metric = group.first->metric.name;
  row.target = mean_target(group.measured);
  row.actual = sum / static_cast<double>(group.measured.size());
  row.dtype = torch_dtype(group.first->benchmark.dtype);
  row.device = group.first->device;
  row.arch = architecture(*group.first);
  row.is_model = group.first->model.type == "OSS model";
  row.experiment = group.first->model.name;
  row.direction = group.first->metric.direction;
  row.unit = group.first->metric.unit;
  row.backend = group.first->model.backend;
  row.runner = group.first->runner;
  row.shapes = group.measured.size();
  row.cases = group.measured;
  row.left_out = group.left_out;
  return row;
}

}  // namespace

std::vector<SeedRow> seed_rows(const std::vector<Record>& records) {
  // The backend and runner of an experiment that has the plain name.
  std::map<std::string, const Record*> plain;
  std::vector<SeedRow> rows;
  for (const Group& group : group_by_shape(records)) {
    const Record& record = *group.first;
    const Record& first = *plain.emplace(record.model.name, &record).first->second;
    std::string name = published_name(record);
    if (record.model.backend != first.model.backend) {
      name += " (" + record.model.backend + ")";
    } else if (record.runner != first.runner) {
      name += " (" + record.runner + ")";
    }
    if (is_miscounted(record)) name += kMiscounted;
    if (!group.measured.empty()) rows.push_back(row_of(group, name));
  }
  return rows;
}

}  // namespace headroom
