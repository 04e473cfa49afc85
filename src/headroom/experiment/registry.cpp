// SPDX-License-Identifier: Apache-2.0
#include "headroom/experiment/registry.h"

#include <stdexcept>
#include <utility>

#include "headroom/base/error.h"
#include "headroom/base/text.h"

namespace headroom {

Experiment& Registry::add(std::string name, Experiment::Function run) {
  if (find(name) != nullptr) throw std::logic_error("experiment '" + name + "' is registered twice");
  return experiments_.emplace_back(std::move(name), std::move(run));
}

const Experiment* Registry::find(std::string_view name) const {
  for (const Experiment& experiment : experiments_) {
    if (experiment.name() == name) return &experiment;
  }
  return nullptr;
}

Experiment* Registry::find(std::string_view name) {
  return const_cast<Experiment*>(std::as_const(*this).find(name));
}

void Registry::take_arguments(const std::vector<std::string>& arguments) {
  if (arguments.empty()) return;
  if (!take_arguments_) {
    throw Error("this runner takes no arguments, but got " + quote(join(arguments, " ")));
  }
  take_arguments_(*this, arguments);
}

Registry& registry() {
  static Registry instance;
  return instance;
}

}  // namespace headroom
