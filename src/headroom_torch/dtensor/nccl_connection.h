// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <c10/core/Device.h>
#include <c10/util/intrusive_ptr.h>

#include <chrono>

#include "headroom_torch/tensors/compat.h"

namespace c10d {
class Store;
}

namespace headroom::torch_runner::dtensor {

/// The GPU of the rank with this number on its machine, which becomes the current one. Throws Error where
/// this was built without NCCL (docs/torch.md), or the machine has no such GPU.
c10::Device nccl_device(int local_rank);

/// Connects the rank `index` of `size` ranks, which all call it with one store. After nccl_device().
c10::intrusive_ptr<CollectiveBackend> connect_nccl(const c10::intrusive_ptr<c10d::Store>& store, int index,
                                                   int size, std::chrono::milliseconds timeout);

}  // namespace headroom::torch_runner::dtensor
