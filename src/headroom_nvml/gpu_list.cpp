// SPDX-License-Identifier: Apache-2.0
#include "headroom_nvml/gpu_list.h"

#include <fmt/format.h>

#include <array>

#include "headroom/base/error.h"
#include "headroom_nvml/nvml_library.h"

namespace headroom::nvml {
namespace {

/// NVML's longest texts have 96 bytes.
using Text = std::array<char, 128>;

template <typename Function, typename... Arguments>
std::string text_of(Function function, Arguments... arguments) {
  Text text{};
  const Result result = call(function, arguments..., text.data(), static_cast<unsigned>(text.size()));
  return result == Result::kSuccess ? text.data() : "";
}

template <typename Function, typename... Arguments>
unsigned number_of(Function function, Arguments... arguments) {
  unsigned value = 0;
  return call(function, arguments..., &value) == Result::kSuccess ? value : 0;
}

template <typename Function>
std::string mode_of(Function function, DeviceHandle gpu) {
  unsigned current = 0, pending = 0;
  if (call(function, gpu, &current, &pending) != Result::kSuccess) return "";
  return current != 0 ? "on" : "off";
}

/// NVML counts lanes ("CUDA cores"); how many make a multiprocessor is a matter of the compute capability.
/// Source: CUDA C++ Programming Guide, arithmetic instructions, 32-bit floating-point add per clock.
unsigned lanes_per_multiprocessor(int major, int minor) {
  if (major == 7 || (major == 8 && minor == 0)) return 64;
  return major >= 8 || (major == 6 && minor >= 1) || major == 5 ? 128 : 0;
}

void describe_chip(const Functions& nvml, DeviceHandle gpu, DeviceDescription& device) {
  int major = 0, minor = 0;
  if (call(nvml.compute_capability, gpu, &major, &minor) == Result::kSuccess) {
    device.compute_capability = fmt::format("{}.{}", major, minor);
    const unsigned lanes = lanes_per_multiprocessor(major, minor);
    if (lanes > 0) device.multiprocessors = number_of(nvml.cores, gpu) / lanes;
  }
  Memory memory{};
  if (call(nvml.memory, gpu, &memory) == Result::kSuccess) {
    device.memory_bytes = static_cast<std::int64_t>(memory.total);
  }
  device.memory_bus_bits = number_of(nvml.memory_bus_bits, gpu);
  device.max_sm_mhz = number_of(nvml.max_clock_mhz, gpu, Clock::kMultiprocessor);
  device.max_memory_mhz = number_of(nvml.max_clock_mhz, gpu, Clock::kMemory);
  device.power_limit_w = number_of(nvml.power_limit_mw, gpu) / 1000.0;
}

DeviceDescription describe(const Functions& nvml, DeviceHandle gpu) {
  DeviceDescription device;
  device.name = text_of(nvml.name, gpu);
  device.uuid = text_of(nvml.uuid, gpu);
  PciInfo place{};
  if (call(nvml.pci_info, gpu, &place) == Result::kSuccess) device.pci_bus_id = place.bus_id;
  device.driver = text_of(nvml.driver_version);
  int version = 0;
  if (call(nvml.cuda_version, &version) == Result::kSuccess) {
    device.cuda = fmt::format("{}.{}", version / 1000, version % 1000 / 10);
  }
  describe_chip(nvml, gpu, device);
  device.ecc = mode_of(nvml.ecc_mode, gpu);
  device.mig = mode_of(nvml.mig_mode, gpu);
  return device;
}

}  // namespace

std::vector<DeviceDescription> describe_gpus() {
  std::vector<DeviceDescription> devices;
  try {
    const Library library;
    const Functions& nvml = library.functions();
    const unsigned count = number_of(nvml.count);
    for (unsigned index = 0; index < count; ++index) {
      DeviceHandle gpu = nullptr;
      if (call(nvml.handle_by_index, index, &gpu) == Result::kSuccess) devices.push_back(describe(nvml, gpu));
    }
  } catch (const Error&) {
    devices.clear();
  }
  return devices;
}

}  // namespace headroom::nvml
