// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "headroom/runner/rank_hello.h"

namespace headroom {

/// Which ranks share a core of their machine, by what they said of where they keep to: "ranks 0, 2 share core
/// 0 and ranks 1, 3 share core 1: ..."; with the machine's name where there are several. Empty where none do.
std::string core_sharing(const std::vector<RankHello>& hellos);

}  // namespace headroom
