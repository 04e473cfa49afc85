// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "headroom/base/json.h"
#include "headroom/record/record.h"

namespace headroom {

/// [[name, value]...], all that an environment tells of a machine and a program: "processor", "memory",
/// "governor", "hwloc version". What is empty is left out.
Json environment_facts(const Environment& environment);

/// Those of the records, in the order in which they come, each once.
std::vector<const Environment*> environments_of(const std::vector<Record>& records);

/// {"when": seconds since 1970 or null, "machine", "processor", "command", "revision", "version": texts of
/// the first environment, empty where it does not say, "machines": how many}.
Json run_json(const std::vector<Record>& records);

}  // namespace headroom
