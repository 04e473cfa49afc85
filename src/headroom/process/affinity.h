// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

namespace headroom {

/// Returns operating-system numbers.
std::vector<int> allowed_cpus();

/// Returns false if the kernel refuses.
bool pin_this_thread(int cpu);

bool pin_this_thread(const std::vector<int>& cpus);

}  // namespace headroom
