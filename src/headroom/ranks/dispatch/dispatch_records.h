// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "headroom/record/record.h"

namespace headroom {

/// The experiment that measures an operator: "dispatch.add".
inline constexpr const char* kDispatchPrefix = "dispatch.";

/// The records of operators as case_records() gives them, in their words, each in µs with the cycles of every
/// rank as the samples of a process: "hit" (the headline), "miss", "propagation" (miss - hit of the same
/// cycle), and where the operator has counterparts on plain tensors "plain", "local", "hit over local", "miss
/// over local"; steps as "hit key", "miss look-up" and so on; and "instructions plain" and so on where they
/// are counted.
std::vector<Record> dispatch_records(std::vector<Record> records);

}  // namespace headroom
