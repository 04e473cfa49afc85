// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "headroom/ranks/rank_hello.h"

namespace headroom {

/// Which ranks share a core of their machine, by what they said of where they keep to: "ranks 0, 2 share core
/// 0 and ranks 1, 3 share core 1: ..."; with the machine's name where there are several. Where they keep to
/// no cores, whether those on the machine of the first, of so many threads each, are more than its CPUs.
/// Empty where none share.
std::string core_sharing(const std::vector<RankHello>& hellos, int threads, std::size_t cpus);

}  // namespace headroom
