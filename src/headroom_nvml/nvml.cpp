// SPDX-License-Identifier: Apache-2.0
#include "headroom_nvml/nvml.h"

#include <fmt/format.h>

#include <array>
#include <cstdlib>

#include "headroom/base/error.h"
#include "headroom/record/noise.h"

namespace headroom::nvml {
namespace {

/// Containers and WSL keep the driver's libraries outside the loader's search.
std::vector<std::string> candidates() {
  const char* named = std::getenv("HEADROOM_NVML");
  if (named != nullptr && *named != '\0') return {named};
  return {"libnvidia-ml.so.1", "/usr/local/nvidia/lib64/libnvidia-ml.so.1",
          "/usr/lib/wsl/lib/libnvidia-ml.so.1"};
}

template <typename Function>
void find(const LoadedLibrary& library, Function*& function, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    function = library.function<Function>(name);
    if (function != nullptr) return;
  }
}

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

/// "CUDA cores". Source: CUDA C++ Programming Guide, arithmetic instructions, 32-bit floating-point add per
/// clock.
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

Library::Library() {
  std::string problem;
  for (const std::string& candidate : candidates()) {
    path_ = candidate;
    try {
      library_.emplace(candidate);
      break;
    } catch (const Error& error) {
      if (problem.empty()) problem = error.what();
    }
  }
  if (!library_) throw Error(fmt::format("NVML was not found ({}); it comes with NVIDIA's driver", problem));
  find_functions();
  const Result result = call(functions_.init);
  if (result == Result::kSuccess) return;
  const char* text = functions_.error_string != nullptr ? functions_.error_string(result) : "no NVML";
  throw Error(fmt::format("cannot use NVML: {} (error {} of {})", text, static_cast<int>(result), path_));
}

Library::~Library() {
  call(functions_.shutdown);
}

void Library::find_functions() {
  Functions& f = functions_;
  find(*library_, f.init, {"nvmlInit_v2"});
  find(*library_, f.shutdown, {"nvmlShutdown"});
  find(*library_, f.error_string, {"nvmlErrorString"});
  find(*library_, f.driver_version, {"nvmlSystemGetDriverVersion"});
  find(*library_, f.cuda_version, {"nvmlSystemGetCudaDriverVersion_v2", "nvmlSystemGetCudaDriverVersion"});
  find(*library_, f.count, {"nvmlDeviceGetCount_v2"});
  find(*library_, f.handle_by_index, {"nvmlDeviceGetHandleByIndex_v2"});
  find(*library_, f.handle_by_bus, {"nvmlDeviceGetHandleByPciBusId_v2"});
  find(*library_, f.name, {"nvmlDeviceGetName"});
  find(*library_, f.uuid, {"nvmlDeviceGetUUID"});
  find(*library_, f.pci_info, {"nvmlDeviceGetPciInfo_v3"});
  find(*library_, f.memory, {"nvmlDeviceGetMemoryInfo"});
  find(*library_, f.memory_bus_bits, {"nvmlDeviceGetMemoryBusWidth"});
  find(*library_, f.compute_capability, {"nvmlDeviceGetCudaComputeCapability"});
  find(*library_, f.cores, {"nvmlDeviceGetNumGpuCores"});
  find(*library_, f.clock_mhz, {"nvmlDeviceGetClockInfo"});
  find(*library_, f.max_clock_mhz, {"nvmlDeviceGetMaxClockInfo"});
  find(*library_, f.power_mw, {"nvmlDeviceGetPowerUsage"});
  find(*library_, f.power_limit_mw, {"nvmlDeviceGetEnforcedPowerLimit"});
  find(*library_, f.field_values, {"nvmlDeviceGetFieldValues"});
  find(*library_, f.temperature_c, {"nvmlDeviceGetTemperature"});
  find(*library_, f.throttle_reasons,
       {"nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons"});
  find(*library_, f.ecc_mode, {"nvmlDeviceGetEccMode"});
  find(*library_, f.mig_mode, {"nvmlDeviceGetMigMode"});
}

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

GpuMeter::GpuMeter(std::shared_ptr<const Library> library, const std::string& pci_bus_id)
    : library_(std::move(library)), functions_(library_->functions()), memory_clock_(functions_.clock_mhz) {
  const Result result = call(functions_.handle_by_bus, pci_bus_id.c_str(), &device_);
  if (result != Result::kSuccess) {
    throw Error(fmt::format("NVML finds no GPU at {} (error {})", pci_bus_id, static_cast<int>(result)));
  }
}

/// Drops unsupported or forbidden functions, as a refusal can cost as much as an answer.
template <typename Function, typename... Arguments>
bool GpuMeter::ask(Function& function, Arguments... arguments) {
  const Result result = call(function, device_, arguments...);
  if (result == Result::kNotSupported || result == Result::kNoPermission) function = nullptr;
  return result == Result::kSuccess;
}

double GpuMeter::power_w() {
  FieldValue field{};
  field.field = kPowerNowField;
  if (ask(functions_.field_values, 1, &field)) {
    if (field.result == Result::kSuccess && field.type == kWholeNumber) return field.value.whole / 1000.0;
    functions_.field_values = nullptr;
  }
  unsigned milliwatts = 0;
  return ask(functions_.power_mw, &milliwatts) ? milliwatts / 1000.0 : 0;
}

DeviceNoise GpuMeter::read() {
  DeviceNoise now;
  unsigned value = 0;
  if (ask(functions_.clock_mhz, Clock::kMultiprocessor, &value)) now.sm_mhz = value;
  if (ask(memory_clock_, Clock::kMemory, &value)) now.memory_mhz = value;
  unsigned long long reasons = 0;
  if (ask(functions_.throttle_reasons, &reasons)) {
    now.throttle = static_cast<std::uint32_t>(reasons) & ~kDeviceIdle;
  }
  now.power_w = power_w();
  if (ask(functions_.temperature_c, 0, &value)) now.temperature_c = value;
  return now;
}

std::function<DeviceNoise()> watch_gpu(const std::string& pci_bus_id) {
  try {
    const auto meter = std::make_shared<GpuMeter>(std::make_shared<const Library>(), pci_bus_id);
    return [meter] { return meter->read(); };
  } catch (const Error&) {
    return {};
  }
}

}  // namespace headroom::nvml
