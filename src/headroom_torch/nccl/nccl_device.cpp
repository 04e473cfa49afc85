// SPDX-License-Identifier: Apache-2.0
// The only file that includes CUDA's and NCCL's headers.
#include "headroom_torch/nccl/nccl_device.h"

#include "headroom/base/error.h"

#if HEADROOM_TORCH_AT_LEAST(2, 0)
#include <torch/csrc/distributed/c10d/Backend.hpp>
#else
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#endif

#if HEADROOM_TORCH_HAS_NCCL
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <fmt/format.h>
#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>
#else
#include <torch/csrc/distributed/c10d/Store.hpp>
#endif

namespace headroom::torch_runner::dtensor {
#if HEADROOM_TORCH_HAS_NCCL

namespace {

/// Aborts on destruction: the default waits for peers, which may be gone.
class NcclGroup : public c10d::ProcessGroupNCCL {
 public:
  using ProcessGroupNCCL::ProcessGroupNCCL;
#if HEADROOM_TORCH_AT_LEAST(2, 7)
  ~NcclGroup() override {
    try {
      abort();
    } catch (const std::exception&) {
    }
  }
#endif
};

at::cuda::CUDAEvent& as_event(const DeviceEvent& event) {
  return *static_cast<at::cuda::CUDAEvent*>(event.get());
}

/// Torch's events lack timing by default.
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

c10::Device nccl_device(int local_rank) {
  const int count = c10::cuda::device_count();
  if (local_rank >= count) {
    throw Error(
        fmt::format("nccl needs a GPU for each rank, rank {} of this machine finds {}: start at most as many "
                    "ranks as there are GPUs, or leave --backend out",
                    local_rank, count));
  }
  const auto index = static_cast<c10::DeviceIndex>(local_rank);
  c10::cuda::set_device(index);
  return {c10::kCUDA, index};
}

c10::intrusive_ptr<CollectiveBackend> connect_nccl(const c10::intrusive_ptr<c10d::Store>& store, int index,
                                                   int size, std::chrono::milliseconds timeout) {
  auto options = c10d::ProcessGroupNCCL::Options::create();
  options->timeout = timeout;
  return c10::make_intrusive<NcclGroup>(store, index, size, std::move(options));
}

#else

namespace {

[[noreturn]] void refuse_nccl() {
  throw Error(
      "this headroom-torch-rank has no nccl, it was built for the CPU: leave --backend out, or build it with "
      "HEADROOM_TORCH_NCCL=ON against a libtorch with CUDA (docs/how-to/torch.md)");
}

[[noreturn]] void refuse() {
  throw Error("this headroom-torch-rank cannot use a GPU, it was built for the CPU (docs/how-to/torch.md)");
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
c10::Device nccl_device(int) {
  refuse_nccl();
}

c10::intrusive_ptr<CollectiveBackend> connect_nccl(const c10::intrusive_ptr<c10d::Store>&, int, int,
                                                   std::chrono::milliseconds) {
  refuse_nccl();
}

#endif

}  // namespace headroom::torch_runner::dtensor
