// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <c10/core/Device.h>

#include <cstdint>
#include <functional>
#include <memory>

namespace headroom::torch_runner::dtensor {

// Points in the work of a GPU. All throw Error where this was built without NCCL (docs/torch.md).

/// A point that the GPU's work passes.
using DeviceEvent = std::shared_ptr<void>;

/// Behind what this thread gave the GPU's current stream so far.
DeviceEvent record_event(c10::Device device);

/// Behind what `wait` makes a stream wait for, on a stream beside those that compute: they go on meanwhile.
DeviceEvent record_event_behind(c10::Device device, const std::function<void()>& wait);

/// Until the GPU passed it.
void await_event(const DeviceEvent& event);
/// Until the GPU has done all that it was given.
void await_device(c10::Device device);

/// Between two events that the GPU passed, in nanoseconds; negative where `to` was first.
std::int64_t elapsed_ns(const DeviceEvent& from, const DeviceEvent& to);

/// Memory of the GPU that is free.
std::int64_t free_device_bytes(c10::Device device);

}  // namespace headroom::torch_runner::dtensor
