// SPDX-License-Identifier: Apache-2.0
#include "headroom_cuda_device/device_list.h"

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "headroom/base/error.h"
#include "headroom_cuda_device/cuda_check.h"
#include "headroom_nvml/gpu_list.h"

namespace headroom::cuda {
namespace {

/// NVML writes the domain of a bus id with eight digits, CUDA with four.
bool is_same_place(const std::string& a, const std::string& b) {
  const std::string& longer = a.size() < b.size() ? b : a;
  const std::string& shorter = a.size() < b.size() ? a : b;
  if (shorter.empty()) return false;
  return std::equal(shorter.rbegin(), shorter.rend(), longer.rbegin(),
                    [](unsigned char x, unsigned char y) { return std::toupper(x) == std::toupper(y); });
}

}  // namespace

std::vector<DeviceDescription> visible_devices() {
  int count = 0;
  check(cudaGetDeviceCount(&count), "cudaGetDeviceCount");
  std::vector<DeviceDescription> devices;
  for (int index = 0; index < count; ++index) {
    cudaDeviceProp properties{};
    check(cudaGetDeviceProperties(&properties, index), "cudaGetDeviceProperties");
    std::array<char, 32> place{};
    check(cudaDeviceGetPCIBusId(place.data(), static_cast<int>(place.size()), index),
          "cudaDeviceGetPCIBusId");
    DeviceDescription device;
    device.name = properties.name;
    device.pci_bus_id = place.data();
    device.compute_capability = fmt::format("{}.{}", properties.major, properties.minor);
    device.memory_bytes = static_cast<std::int64_t>(properties.totalGlobalMem);
    device.l2_bytes = properties.l2CacheSize;
    device.multiprocessors = properties.multiProcessorCount;
    device.memory_bus_bits = properties.memoryBusWidth;
    devices.push_back(device);
  }
  return devices;
}

std::vector<DeviceDescription> merged(const std::vector<DeviceDescription>& seen,
                                      std::vector<DeviceDescription> told) {
  std::vector<DeviceDescription> all;
  for (const DeviceDescription& device : seen) {
    const auto same = std::ranges::find_if(told, [&](const DeviceDescription& other) {
      return is_same_place(other.pci_bus_id, device.pci_bus_id);
    });
    if (same == told.end()) {
      all.push_back(device);
      continue;
    }
    DeviceDescription both = *same;
    // The instances of a split chip are at one place, each with its own share.
    both.multiprocessors = device.multiprocessors;
    both.l2_bytes = device.l2_bytes;
    if (both.mig == "on" || both.memory_bytes == 0) {
      both.name = device.name;
      both.memory_bytes = device.memory_bytes;
    }
    all.push_back(both);
  }
  std::ranges::copy_if(told, std::back_inserter(all), [&](const DeviceDescription& device) {
    return std::ranges::none_of(seen, [&](const DeviceDescription& other) {
      return is_same_place(other.pci_bus_id, device.pci_bus_id);
    });
  });
  return all;
}

std::vector<DeviceDescription> describe_devices() {
  std::vector<DeviceDescription> seen;
  try {
    seen = visible_devices();
  } catch (const Error&) {
    // What a case then says of CUDA tells more than a runner that cannot describe itself.
  }
  return merged(seen, nvml::describe_gpus());
}

}  // namespace headroom::cuda
