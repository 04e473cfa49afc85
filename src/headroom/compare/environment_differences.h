// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <vector>

#include "headroom/record/record.h"

namespace headroom {

/// A property that differs between the two sides.
struct EnvironmentDifference {
  std::string what;            ///< "machine", "governor", "git revision", "torch version", "axis D", ...
  std::string baseline, test;  ///< the values of each side, joined by ", "; "-" if unknown
};

struct EnvironmentDifferences {
  bool different_machines = false;  ///< both sides name their machines, and have none in common
  std::vector<EnvironmentDifference> list;
};

/// Lists differences in this order: machine, processors, governor, versions, revision, other properties,
/// axes. Ignores what differs in every run (time, command line, seed).
EnvironmentDifferences environment_differences(std::span<const Record> baseline,
                                               std::span<const Record> test);

}  // namespace headroom
