// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <c10/core/Device.h>
#include <c10/util/intrusive_ptr.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>

#include "headroom_torch/tensors/libtorch.h"

namespace c10d {
class Store;
}

namespace headroom::torch_runner::dtensor {

// All functions throw Error if built without NCCL (docs/how-to/torch.md).

using DeviceEvent = std::shared_ptr<void>;

/// In the GPU's current stream.
DeviceEvent record_event(c10::Device device);

/// Records an event after everything that `wait` makes a separate stream wait for.
DeviceEvent record_event_behind(c10::Device device, const std::function<void()>& wait);

void await_event(const DeviceEvent& event);
void await_device(c10::Device device);

/// Both must have passed; negative if `to` came first.
std::int64_t elapsed_ns(const DeviceEvent& from, const DeviceEvent& to);

std::int64_t free_device_bytes(c10::Device device);

/// Selects this rank's GPU. Throws Error without NCCL or such a GPU.
c10::Device nccl_device(int local_rank);

/// All `size` ranks must call it with one store, after nccl_device().
c10::intrusive_ptr<CollectiveBackend> connect_nccl(const c10::intrusive_ptr<c10d::Store>& store, int index,
                                                   int size, std::chrono::milliseconds timeout);

}  // namespace headroom::torch_runner::dtensor
