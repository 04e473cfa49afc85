// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "headroom/experiment/state.h"

namespace headroom::cuda {

/// The GPU that cases run on, the first of CUDA_VISIBLE_DEVICES, with the one stream that all of them use:
/// only one case is active at a time.
class Device {
 public:
  /// Throws Error where there is none.
  Device();
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  const std::string& name() const { return name_; }  ///< "NVIDIA H200"
  /// 90 for compute capability 9.0.
  int compute_capability() const { return compute_capability_; }
  int multiprocessors() const { return multiprocessors_; }
  std::size_t l2_bytes() const { return l2_bytes_; }
  std::size_t memory_bytes() const { return memory_bytes_; }
  /// That a block may have when its kernel asks for it (cudaFuncAttributeMaxDynamicSharedMemorySize).
  std::size_t shared_memory_per_block() const { return shared_memory_per_block_; }
  cudaStream_t stream() const { return stream_; }
  /// For State::watch_device; empty where the driver's library for it is not there.
  const std::function<DeviceNoise()>& watch() const { return watch_; }

  /// Waits until everything in the stream is done. Throws Error with what failed there.
  void synchronize() const;

 private:
  std::string name_;
  int compute_capability_ = 0;
  int multiprocessors_ = 0;
  std::size_t l2_bytes_ = 0;
  std::size_t memory_bytes_ = 0;
  std::size_t shared_memory_per_block_ = 0;
  cudaStream_t stream_ = nullptr;
  std::function<DeviceNoise()> watch_;
};

/// For Registry::end_where_lost_with: some failures (an illegal address, a trap of the device) leave every
/// later call of the process failing.
std::string lost_context();

/// The device of a runner's cases. From then on State::rotate goes by its L2, the record names it, and has
/// its clocks beside each sample. Call it before the inputs are made.
std::shared_ptr<Device> device_of(State& state);

}  // namespace headroom::cuda
