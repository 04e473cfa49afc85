// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "headroom/record/record.h"

namespace headroom {

/// From this share of the samples on a disturbance can move the median's interval. In a virtual machine
/// hardly any run is free of steal time, and many devices reach their power cap now and then.
inline constexpr double kDisturbedShare = 0.1;
/// What every busy second has: samples in which the kernel took the CPU away for a moment. More than that is
/// trouble where the median of these samples is 1 % off that of the others, or there are hardly any others.
inline constexpr double kPreemptedShare = 0.2;

/// Shares of the samples, warm-up included, in which something held the program up.
struct Disturbance {
  double stolen = 0;     ///< the hypervisor gave time to others
  double preempted = 0;  ///< the kernel took a CPU away
  double throttled = 0;  ///< heat, power or the hardware held the device's clocks down
};
Disturbance disturbance_of(const Record& record);

/// What the record itself tells against its numbers standing for the program: other programs at work, samples
/// taken away by the kernel or the hypervisor, clocks held down. Each a few words that follow "was": "busy
/// with other programs".
std::vector<std::string> troubles_of(const Record& record);

}  // namespace headroom
