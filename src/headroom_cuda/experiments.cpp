// SPDX-License-Identifier: Apache-2.0
#include "headroom_cuda/experiments.h"

#include "headroom_cuda/driver.h"

namespace headroom::cuda {

void register_cuda_experiments(Registry& registry) {
  registry.require_with(require_device);
}

}  // namespace headroom::cuda
