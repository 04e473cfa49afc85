// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "headroom/record/record.h"

namespace headroom {

/// Share of samples from which a disturbance can move the interval of the median. Below it, steal time
/// (nearly every run in a virtual machine) and short power caps are normal.
inline constexpr double kDisturbedShare = 0.1;
/// Share of preempted samples that is normal on any machine. A higher share matters only if the median of the
/// preempted samples differs by 1 % from that of the others, or hardly any others are left.
inline constexpr double kPreemptedShare = 0.2;

/// Shares of all samples, warm-up included, in which the program was held up.
struct Disturbance {
  double stolen = 0;     ///< the hypervisor ran another virtual machine
  double preempted = 0;  ///< the kernel preempted the program
  double throttled = 0;  ///< heat, power or hardware lowered the device's clocks
};
Disturbance disturbance_of(const Record& record);

/// Returns the record's own reasons to distrust its numbers: other programs running, preemption, steal time,
/// lowered clocks, a CPU quota. Each is a few words that follow "was": "busy with other programs".
std::vector<std::string> troubles_of(const Record& record);

}  // namespace headroom
