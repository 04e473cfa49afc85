// SPDX-License-Identifier: Apache-2.0
// The only header here that includes c10d's.
#pragma once

#include "headroom_torch/tensors/compat.h"

#if HEADROOM_TORCH_AT_LEAST(2, 0)
#include <torch/csrc/distributed/c10d/Backend.hpp>
#else
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#endif

namespace headroom::torch_runner::dtensor {

struct Connection {
  c10::intrusive_ptr<CollectiveBackend> backend;
};

}  // namespace headroom::torch_runner::dtensor
