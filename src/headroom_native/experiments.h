// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "headroom/experiment/registry.h"

namespace headroom::native {

/// Adds every experiment of this folder, the limits of the machine included.
void register_native_experiments(Registry& registry);

}  // namespace headroom::native
