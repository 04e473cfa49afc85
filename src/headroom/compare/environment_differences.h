// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <vector>

#include "headroom/record/record.h"

namespace headroom {

/// Something that was not the same when the two sides were measured.
struct EnvironmentDifference {
  std::string what;            ///< "machine", "governor", "git revision", "torch version", "axis D", ...
  std::string baseline, test;  ///< the values of each side, joined by ", "; "-" where it tells none
};

struct EnvironmentDifferences {
  bool different_machines = false;  ///< both sides tell their machine, and they share none
  std::vector<EnvironmentDifference> list;
};

/// In the order: machine, processors, governor, versions, revision, what else the environments say, and the
/// axes. What belongs to each run (time, command line, seed) is left out.
EnvironmentDifferences environment_differences(std::span<const Record> baseline,
                                               std::span<const Record> test);

}  // namespace headroom
