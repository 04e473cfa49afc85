// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "headroom/experiment/registry.h"
#include "headroom/experiment/state.h"

namespace headroom::cuda {

/// What NVIDIA's driver reports.
struct DriverInfo {
  std::string load_error;                   ///< why libcuda.so.1 could not be loaded; empty: loaded
  int version = 0;                          ///< newest CUDA version supported, 13000 for 13.0
  int init_status = 0;                      ///< result of cuInit
  std::string init_error;                   ///< name of that error, empty if it is 0
  int devices = 0;                          ///< visible to this process
  std::string device_name;                  ///< of the first device
  int compute_capability = 0;               ///< of the first device, 90 for 9.0
  std::optional<std::string> visible = {};  ///< CUDA_VISIBLE_DEVICES
};

DriverInfo query_driver();

/// Returns why a program built with CUDA `built_with` (13000) cannot run, with the remedy; else "".
std::string device_problem(const DriverInfo& driver, int built_with);

/// Throws Error without a usable CUDA device.
void require_device();

/// Outside the loader's search: CUDA_HOME, CUDA_PATH, NVIDIA's default.
std::vector<std::string> toolkit_roots();

/// The first of CUDA_VISIBLE_DEVICES. All cases share one stream.
class Device {
 public:
  /// Throws Error without a device.
  Device();
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  const std::string& name() const { return name_; }
  int compute_capability() const { return compute_capability_; }
  int multiprocessors() const { return multiprocessors_; }
  std::size_t l2_bytes() const { return l2_bytes_; }
  std::size_t memory_bytes() const { return memory_bytes_; }
  /// Per block that opts in (cudaFuncAttributeMaxDynamicSharedMemorySize).
  std::size_t shared_memory_per_block() const { return shared_memory_per_block_; }
  cudaStream_t stream() const { return stream_; }
  /// For State::watch_device; empty without NVML.
  const std::function<DeviceNoise()>& watch() const { return watch_; }

  /// Throws Error if the stream's work failed.
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

/// A failure that ends CUDA for the process (illegal address, trap), for Registry::end_where_lost_with; else
/// empty.
std::string lost_context();

/// Sets the L2 size, name and clocks of `state`. Call before making inputs: State::rotate needs the L2 size.
std::shared_ptr<Device> device_of(State& state);

/// Cases run on the first. Throws Error if CUDA does not answer.
std::vector<DeviceDescription> visible_devices();

/// By PCI bus id: `seen` (CUDA) completed from `told` (NVML), then the rest of `told`.
std::vector<DeviceDescription> merged(const std::vector<DeviceDescription>& from_cuda,
                                      std::vector<DeviceDescription> from_nvml);

/// Usable GPUs first. Never throws Error.
std::vector<DeviceDescription> describe_devices();

}  // namespace headroom::cuda
