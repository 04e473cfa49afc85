// SPDX-License-Identifier: Apache-2.0
#include "headroom/experiment/experiment.h"

#include <utility>

namespace headroom {

Experiment& Experiment::summary(std::string text) {
  summary_ = std::move(text);
  return *this;
}

Experiment& Experiment::axis(std::string name, std::initializer_list<long long> values) {
  Axis made{std::move(name), Axis::Kind::kInteger, {}};
  for (const long long value : values) made.values.push_back(std::to_string(value));
  return axis(std::move(made));
}

Experiment& Experiment::axis(std::string name, std::initializer_list<const char*> values) {
  return axis(Axis{std::move(name), Axis::Kind::kText, {values.begin(), values.end()}});
}

Experiment& Experiment::axis(Axis axis) {
  axes_.push_back(std::move(axis));
  return *this;
}

Experiment& Experiment::backends(std::initializer_list<const char*> names) {
  backends_.assign(names.begin(), names.end());
  return *this;
}

Experiment& Experiment::backends(std::span<const std::string> names) {
  backends_.assign(names.begin(), names.end());
  return *this;
}

Experiment& Experiment::variants(const std::string& backend, std::vector<std::string> names) {
  variants_[backend] = std::move(names);
  return *this;
}

Experiment& Experiment::metric(std::string name) {
  metric_ = std::move(name);
  return *this;
}

Experiment& Experiment::also_metrics(std::vector<std::string> names) {
  also_metrics_ = std::move(names);
  return *this;
}

Experiment& Experiment::model(std::string name) {
  model_ = std::move(name);
  return *this;
}

Experiment& Experiment::on_request() {
  is_on_request_ = true;
  return *this;
}

Experiment& Experiment::device(std::string name) {
  device_ = std::move(name);
  return *this;
}

Experiment& Experiment::places_itself() {
  is_placing_itself_ = true;
  return *this;
}

Experiment& Experiment::threads(std::vector<int> counts) {
  threads_ = std::move(counts);
  return *this;
}

Experiment& Experiment::each_rank_counts() {
  is_each_rank_counting_ = true;
  return *this;
}

Experiment& Experiment::limit() {
  is_limit_ = true;
  return *this;
}

}  // namespace headroom
