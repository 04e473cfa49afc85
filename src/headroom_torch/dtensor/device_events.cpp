// SPDX-License-Identifier: Apache-2.0
// Includes CUDA's headers only where HEADROOM_TORCH_NCCL is on.
#include "headroom_torch/dtensor/device_events.h"

#include "headroom/base/error.h"
#include "headroom_torch/tensors/compat.h"

#if HEADROOM_TORCH_HAS_NCCL
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#endif

namespace headroom::torch_runner::dtensor {

#if HEADROOM_TORCH_HAS_NCCL

namespace {

at::cuda::CUDAEvent& as_event(const DeviceEvent& event) {
  return *static_cast<at::cuda::CUDAEvent*>(event.get());
}

/// With the time of its passing, which torch's events do not keep unless they are asked to.
std::shared_ptr<at::cuda::CUDAEvent> timed_event() {
  return std::make_shared<at::cuda::CUDAEvent>(cudaEventDefault);
}

}  // namespace

DeviceEvent record_event(c10::Device device) {
  auto event = timed_event();
  event->record(c10::cuda::getCurrentCUDAStream(device.index()));
  return event;
}

DeviceEvent record_event_behind(c10::Device device, const std::function<void()>& wait) {
  const c10::cuda::CUDAStream beside = c10::cuda::getStreamFromPool(false, device.index());
  const c10::cuda::CUDAStreamGuard guard(beside);
  wait();
  auto event = timed_event();
  event->record(beside);
  return event;
}

void await_event(const DeviceEvent& event) {
  as_event(event).synchronize();
}

void await_device(c10::Device device) {
  const c10::cuda::CUDAGuard guard(device);
  c10::cuda::device_synchronize();
}

std::int64_t elapsed_ns(const DeviceEvent& from, const DeviceEvent& to) {
  return static_cast<std::int64_t>(1e6 * static_cast<double>(as_event(from).elapsed_time(as_event(to))));
}

std::int64_t free_device_bytes(c10::Device device) {
  const c10::cuda::CUDAGuard guard(device);
  std::size_t free = 0, total = 0;
  C10_CUDA_CHECK(cudaMemGetInfo(&free, &total));
  return static_cast<std::int64_t>(free);
}

#else

namespace {

[[noreturn]] void refuse() {
  throw Error("no GPU can be used by this headroom-torch-rank, which was built for the CPU (docs/torch.md)");
}

}  // namespace

DeviceEvent record_event(c10::Device) {
  refuse();
}
DeviceEvent record_event_behind(c10::Device, const std::function<void()>&) {
  refuse();
}
void await_event(const DeviceEvent&) {
  refuse();
}
void await_device(c10::Device) {
  refuse();
}
std::int64_t elapsed_ns(const DeviceEvent&, const DeviceEvent&) {
  refuse();
}
std::int64_t free_device_bytes(c10::Device) {
  refuse();
}

#endif

}  // namespace headroom::torch_runner::dtensor
