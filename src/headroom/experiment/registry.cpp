// SPDX-License-Identifier: Apache-2.0
#include "headroom/experiment/registry.h"

#include <stdexcept>
#include <utility>

namespace headroom {

Experiment& Registry::add(std::string name, Experiment::Function run) {
  if (find(name) != nullptr) throw std::logic_error("experiment '" + name + "' is registered twice");
  return experiments_.emplace_back(std::move(name), run);
}

const Experiment* Registry::find(std::string_view name) const {
  for (const Experiment& experiment : experiments_) {
    if (experiment.name() == name) return &experiment;
  }
  return nullptr;
}

Registry& registry() {
  static Registry instance;
  return instance;
}

}  // namespace headroom
