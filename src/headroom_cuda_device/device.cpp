// SPDX-License-Identifier: Apache-2.0
#include "headroom_cuda_device/device.h"

#include <cuda_runtime_api.h>

#include <array>

#include "headroom_cuda_device/cuda_check.h"
#include "headroom_nvml/gpu_meter.h"

namespace headroom::cuda {
namespace {

constexpr int kDevice = 0;

}  // namespace

Device::Device() {
  check(cudaSetDevice(kDevice), "cudaSetDevice");
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, kDevice), "cudaGetDeviceProperties");
  name_ = properties.name;
  compute_capability_ = 10 * properties.major + properties.minor;
  multiprocessors_ = properties.multiProcessorCount;
  l2_bytes_ = static_cast<std::size_t>(properties.l2CacheSize);
  memory_bytes_ = properties.totalGlobalMem;
  shared_memory_per_block_ = properties.sharedMemPerBlockOptin;
  check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
  std::array<char, 32> place{};
  check(cudaDeviceGetPCIBusId(place.data(), static_cast<int>(place.size()), kDevice),
        "cudaDeviceGetPCIBusId");
  watch_ = nvml::watch_gpu(place.data());
}

Device::~Device() {
  cudaStreamDestroy(stream_);
}

void Device::synchronize() const {
  check(cudaStreamSynchronize(stream_), "cudaStreamSynchronize");
}

std::string lost_context() {
  const cudaError_t status = cudaDeviceSynchronize();
  if (status == cudaSuccess) return {};
  return std::string("CUDA can do nothing more in this process (") + cudaGetErrorName(status) + ")";
}

std::shared_ptr<Device> device_of(State& state) {
  // Each case has a thread of its own, and CUDA's current device is a thread's.
  check(cudaSetDevice(kDevice), "cudaSetDevice");
  auto device = state.shared<Device>("0", [] { return std::make_shared<Device>(); });
  state.last_level_cache(device->l2_bytes());
  state.note("gpu", device->name());
  state.watch_device(device->watch());
  return device;
}

}  // namespace headroom::cuda
