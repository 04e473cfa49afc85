// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "headroom/record/record.h"

namespace headroom {

/// What the device of a record is: benchmark.extra_info["arch"] where the instrument said it; else the name
/// of the GPU for a record of a GPU, and the architecture of the machine ("x86_64") otherwise. Empty where
/// nobody said.
std::string architecture(const Record& record);

}  // namespace headroom
