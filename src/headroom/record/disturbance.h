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

/// What a note begins with that says that the quota of CPU time of a control group held the program up.
inline constexpr const char* kQuotaNote = "quota: ";

/// Shares of the samples, warm-up included, in which something held the program up.
struct Disturbance {
  double stolen = 0;     ///< the hypervisor gave time to others
  double preempted = 0;  ///< the kernel took a CPU away
  double throttled = 0;  ///< heat, power or the hardware held the device's clocks down
};
Disturbance disturbance_of(const Record& record);

/// What the record itself tells against its numbers standing for the program: other programs at work, samples
/// taken away by the kernel or the hypervisor, clocks held down, a quota of CPU time. Each a few words that
/// follow "was": "busy with other programs".
std::vector<std::string> troubles_of(const Record& record);

/// Whether a note says that a quota of CPU time held the program up.
bool is_held_by_quota(const Record& record);

}  // namespace headroom
