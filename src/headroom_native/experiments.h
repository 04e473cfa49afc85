// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "headroom/experiment/registry.h"

namespace headroom::native {

/// Adds all native experiments and limits.
void register_native_experiments(Registry& registry);

}  // namespace headroom::native
