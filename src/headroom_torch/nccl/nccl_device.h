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

// Events on a GPU. All functions throw Error if this was built without NCCL (docs/torch.md).

/// A point in the work of a GPU.
using DeviceEvent = std::shared_ptr<void>;

/// Records an event in the GPU's current stream.
DeviceEvent record_event(c10::Device device);

/// Records an event on a separate stream after everything that `wait` makes that stream wait for; the
/// computing streams go on.
DeviceEvent record_event_behind(c10::Device device, const std::function<void()>& wait);

/// Waits until the GPU has passed the event.
void await_event(const DeviceEvent& event);
/// Waits for all work of the GPU.
void await_device(c10::Device device);

/// Nanoseconds between two passed events; negative if `to` came first.
std::int64_t elapsed_ns(const DeviceEvent& from, const DeviceEvent& to);

/// Free memory of the GPU in bytes.
std::int64_t free_device_bytes(c10::Device device);

/// Selects and returns the GPU of the rank with this number on its machine. Throws Error if this was built
/// without NCCL (docs/torch.md) or the machine has no such GPU.
c10::Device nccl_device(int local_rank);

/// Connects rank `index` of `size` ranks, which all call it with one store. Call nccl_device() first.
c10::intrusive_ptr<CollectiveBackend> connect_nccl(const c10::intrusive_ptr<c10d::Store>& store, int index,
                                                   int size, std::chrono::milliseconds timeout);

}  // namespace headroom::torch_runner::dtensor
