// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "headroom/machine/cpuid.h"

namespace headroom {

/// Public name of the design: "emerald-rapids", "zen4", "neoverse-v2"; otherwise the brand in lower case and
/// dashes; "unknown-cpu" where nothing is known.
std::string microarchitecture(const CpuIdentity& cpu);

}  // namespace headroom
