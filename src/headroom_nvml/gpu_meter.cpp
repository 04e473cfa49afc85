// SPDX-License-Identifier: Apache-2.0
#include "headroom_nvml/gpu_meter.h"

#include <fmt/format.h>

#include "headroom/base/error.h"
#include "headroom/record/throttle.h"

namespace headroom::nvml {

GpuMeter::GpuMeter(std::shared_ptr<const Library> library, const std::string& pci_bus_id)
    : library_(std::move(library)), functions_(library_->functions()), memory_clock_(functions_.clock_mhz) {
  const Result result = call(functions_.handle_by_bus, pci_bus_id.c_str(), &device_);
  if (result != Result::kSuccess) {
    throw Error(fmt::format("NVML knows no GPU at {} (error {})", pci_bus_id, static_cast<int>(result)));
  }
}

/// Whether the function gave an answer. One that never will is forgotten: a refusal can cost as much as an
/// answer.
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
