// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <vector>

#include "headroom/record/record.h"

namespace headroom {

struct EnvironmentDifference {
  std::string what;            ///< "machine", "governor", "axis D", ...
  std::string baseline, test;  ///< values joined by ", "; "-" if unknown
};

struct EnvironmentDifferences {
  bool different_machines = false;  ///< both sides name their machines, with none in common
  std::vector<EnvironmentDifference> list;
};

/// Lists differences by kind, machine first, axes last. Ignores properties of a run (time, command line,
/// seed).
EnvironmentDifferences environment_differences(std::span<const Record> baseline,
                                               std::span<const Record> test);

}  // namespace headroom
