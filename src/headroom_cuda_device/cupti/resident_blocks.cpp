// SPDX-License-Identifier: Apache-2.0
#include "headroom_cuda_device/cupti/resident_blocks.h"

#include <cuda_occupancy.h>

#include <climits>

namespace headroom::cuda {
namespace {

/// Since 8.0 a block's share of the shared memory begins with this much that the driver keeps
/// (cudaDevAttrReservedSharedMemoryPerBlock).
constexpr std::size_t kReservedSharedMemory = 1024;

cudaOccDeviceProp properties_of(const trace::DeviceDescription& device) {
  cudaOccDeviceProp properties;
  properties.computeMajor = device.compute_major;
  properties.computeMinor = device.compute_minor;
  properties.maxThreadsPerBlock = device.max_threads_per_block;
  properties.maxThreadsPerMultiprocessor = device.max_threads_per_multiprocessor;
  properties.regsPerBlock = device.registers_per_block;
  properties.regsPerMultiprocessor = device.registers_per_multiprocessor;
  properties.warpSize = device.warp_size;
  properties.sharedMemPerBlock = static_cast<std::size_t>(device.shared_memory_per_block);
  properties.sharedMemPerMultiprocessor = static_cast<std::size_t>(device.shared_memory_per_multiprocessor);
  properties.numSms = device.multiprocessors;
  properties.sharedMemPerBlockOptin = static_cast<std::size_t>(device.shared_memory_per_block_optin);
  properties.reservedSharedMemPerBlock = device.compute_major >= 8 ? kReservedSharedMemory : 0;
  return properties;
}

}  // namespace

std::int32_t resident_blocks(const trace::DeviceDescription& device, const trace::KernelShape& kernel) {
  const cudaOccDeviceProp properties = properties_of(device);
  cudaOccFuncAttributes attributes;
  attributes.maxThreadsPerBlock = INT_MAX;
  attributes.numRegs = kernel.registers_per_thread;
  attributes.partitionedGCConfig = PARTITIONED_GC_OFF;
  // The kernel did run: what it uses was allowed to it.
  attributes.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
  attributes.maxDynamicSharedSizeBytes = static_cast<std::size_t>(kernel.shared_memory_bytes);
  attributes.sharedSizeBytes = 0;
  const cudaOccDeviceState state;
  const int threads = kernel.block[0] * kernel.block[1] * kernel.block[2];
  cudaOccResult result{};
  const cudaOccError status =
      cudaOccMaxActiveBlocksPerMultiprocessor(&result, &properties, &attributes, &state, threads,
                                              static_cast<std::size_t>(kernel.shared_memory_bytes));
  return status == CUDA_OCC_SUCCESS ? result.activeBlocksPerMultiprocessor : 0;
}

}  // namespace headroom::cuda
