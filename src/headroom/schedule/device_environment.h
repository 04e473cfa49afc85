// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "headroom/record/environment.h"
#include "headroom/schedule/plan.h"

namespace headroom {

/// The environment with what the runners' drivers say of its GPUs: name of the first, count, memory in the
/// fields of the OSS benchmark database, the rest of the first under names that begin with "gpu_" in
/// extra_info of the machine. The same object where no runner tells of a device.
std::shared_ptr<const Environment> with_devices(std::shared_ptr<const Environment> environment,
                                                const std::vector<RunnerOffer>& offers);

}  // namespace headroom
