// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "headroom/record/record.h"
#include "headroom_nvml/nvml_library.h"

namespace headroom::nvml {

/// Clocks, power, temperature and throttle reasons of one GPU at a moment. A reading takes some tens of
/// microseconds to some milliseconds, by driver and board, and changes nothing on the device.
class GpuMeter {
 public:
  /// The GPU at that place of the PCI bus, as cudaDeviceGetPCIBusId writes it. Throws Error where NVML knows
  /// none.
  GpuMeter(std::shared_ptr<const Library> library, const std::string& pci_bus_id);

  /// Zero for what the driver does not tell. What it says that this GPU never tells is not asked for again.
  DeviceNoise read();

 private:
  template <typename Function, typename... Arguments>
  bool ask(Function& function, Arguments... arguments);
  double power_w();

  std::shared_ptr<const Library> library_;
  Functions functions_;
  Result (*memory_clock_)(DeviceHandle, Clock, unsigned*);  ///< one clock may be told and the other not
  DeviceHandle device_ = nullptr;
};

/// For State::watch_device: reads the GPU at that place. An empty function where NVML or the GPU is not
/// there: a case is measured without what the driver would say of it. NVML is kept loaded while the function
/// lives.
std::function<DeviceNoise()> watch_gpu(const std::string& pci_bus_id);

}  // namespace headroom::nvml
