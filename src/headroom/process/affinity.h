// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

namespace headroom {

/// CPUs that the calling thread may run on, by operating-system number.
std::vector<int> allowed_cpus();

/// Pins the calling thread to one CPU. Returns false if the kernel refuses.
bool pin_this_thread(int cpu);

/// Lets the calling thread run on all of `cpus`.
bool pin_this_thread(const std::vector<int>& cpus);

}  // namespace headroom
