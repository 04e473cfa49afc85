// SPDX-License-Identifier: Apache-2.0
#include "headroom_torch/cuda/case_memory.h"

#include <ATen/cuda/CUDAGraph.h>

namespace headroom::torch_runner {
namespace {

namespace allocator = c10::cuda::CUDACachingAllocator;

}  // namespace

CaseMemory::CaseMemory(c10::cuda::CUDAStream stream)
    : stream_(stream), pool_(at::cuda::graph_pool_handle()) {}

CaseMemory::~CaseMemory() {
  try {
    // Each capture took the pool once more.
    for (; captures_ > 0; --captures_) allocator::releasePool(stream_.device_index(), pool_);
    allocator::emptyCache();
  } catch (const std::exception&) {
    // A device that failed has told why where it failed, and takes its memory with the process.
  }
}

void CaseMemory::around_capture(const std::function<void()>& capture) {
  const c10::DeviceIndex device = stream_.device_index();
  allocator::beginAllocateToPool(device, pool_,
                                 [ours = stream_.stream()](cudaStream_t stream) { return stream == ours; });
  ++captures_;
  try {
    capture();
  } catch (...) {
    allocator::endAllocateToPool(device, pool_);
    throw;
  }
  allocator::endAllocateToPool(device, pool_);
}

}  // namespace headroom::torch_runner
