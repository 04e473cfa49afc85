// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "headroom/record/record.h"

namespace headroom {

/// Share of samples from which a disturbance can move the median's interval. Less steal time and short power
/// caps are normal.
inline constexpr double kDisturbedShare = 0.1;
/// Normal share of preempted samples. A higher one matters only if their median differs by 1 % from the
/// others', or hardly any others are left.
inline constexpr double kPreemptedShare = 0.2;

struct Disturbance {
  double stolen = 0;     ///< the hypervisor ran another virtual machine
  double preempted = 0;  ///< the kernel preempted the program
  double throttled = 0;  ///< heat, power or hardware lowered the device's clocks
};
Disturbance disturbance_of(const Record& record);

/// Returns phrases that follow "was": load, preemption, steal time, clocks, CPU quota.
std::vector<std::string> disturbance_reasons(const Record& record);

}  // namespace headroom
