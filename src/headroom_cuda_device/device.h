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

/// NVIDIA's driver on this machine, by its own answers.
struct DriverAnswers {
  std::string load_error;                   ///< why libcuda.so.1 could not be loaded; empty if it was loaded
  int version = 0;                          ///< newest CUDA version supported, 13000 for 13.0
  int init_status = 0;                      ///< result of cuInit
  std::string init_error;                   ///< name of that error, empty if it is 0
  int devices = 0;                          ///< visible to this process
  std::string device_name;                  ///< of the first device
  int compute_capability = 0;               ///< of the first device, 90 for 9.0
  std::optional<std::string> visible = {};  ///< CUDA_VISIBLE_DEVICES
};

/// Loads the driver and asks it.
DriverAnswers ask_driver();

/// Why a program built with CUDA `built_with` (13000) cannot run, and what to do about it; empty if it can.
std::string device_problem(const DriverAnswers& driver, int built_with);

/// Throws Error if this machine has no CUDA device for this program.
void require_device();

/// Folders to search for libraries of the CUDA toolkit that the loader does not find: CUDA_HOME, CUDA_PATH,
/// then the default of NVIDIA's installer.
std::vector<std::string> toolkit_roots();

/// The GPU that cases run on: the first of CUDA_VISIBLE_DEVICES. One stream serves all cases, because only
/// one case is active at a time.
class Device {
 public:
  /// Throws Error if there is no device.
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
  /// Most shared memory of a block whose kernel opts in (cudaFuncAttributeMaxDynamicSharedMemorySize).
  std::size_t shared_memory_per_block() const { return shared_memory_per_block_; }
  cudaStream_t stream() const { return stream_; }
  /// For State::watch_device; empty without the driver's NVML.
  const std::function<DeviceNoise()>& watch() const { return watch_; }

  /// Waits for the stream. Throws Error with the failure of its work.
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

/// For Registry::end_where_lost_with: after some failures (an illegal address, a trap of the device) every
/// later CUDA call of the process fails.
std::string lost_context();

/// Returns the device of a runner's cases and tells `state` its L2 size, name and clocks. Call it before the
/// inputs are made: State::rotate depends on the L2 size.
std::shared_ptr<Device> device_of(State& state);

/// Describes the devices visible to this process as CUDA reports them; cases run on the first. Throws Error
/// if CUDA does not answer.
std::vector<DeviceDescription> visible_devices();

/// Merges two lists by PCI bus id: each device of `seen` (CUDA) completed from `told` (NVML), then the rest
/// of `told`.
std::vector<DeviceDescription> merged(const std::vector<DeviceDescription>& seen,
                                      std::vector<DeviceDescription> told);

/// The GPUs of this machine for Registry::describe_devices_with, usable ones first. Never throws Error.
std::vector<DeviceDescription> describe_devices();

}  // namespace headroom::cuda
