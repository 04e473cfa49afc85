// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <string_view>

#include "headroom/experiment/experiment.h"

namespace headroom {

/// The experiments of one executable, in the order in which they were added.
class Registry {
 public:
  /// Throws std::logic_error when the name is taken. The reference stays valid.
  Experiment& add(std::string name, Experiment::Function run);
  /// Null when there is none of that name.
  const Experiment* find(std::string_view name) const;
  const std::deque<Experiment>& all() const { return experiments_; }

 private:
  std::deque<Experiment> experiments_;
};

/// The registry that HEADROOM_EXPERIMENT adds to, and that a runner serves.
Registry& registry();

}  // namespace headroom

/// Registers `function` (void(headroom::State&)) under its own name:
///   HEADROOM_EXPERIMENT(gemv).axis("D", {1024, 4096}).axis("dtype", {"f32", "bf16"});
#define HEADROOM_EXPERIMENT(function)                                              \
  [[maybe_unused]] static ::headroom::Experiment& headroom_experiment_##function = \
      ::headroom::registry().add(#function, &function)
