// SPDX-License-Identifier: Apache-2.0
#include "headroom/schedule/device_environment.h"

#include <fmt/format.h>

#include "headroom/base/units.h"

namespace headroom {
namespace {

constexpr double kGibibyte = 1024.0 * 1024 * 1024;

void describe(Environment::Runner& machine, const std::vector<DeviceDescription>& devices) {
  const DeviceDescription& first = devices.front();
  machine.gpu_info = first.name;
  machine.gpu_count = static_cast<std::uint32_t>(devices.size());
  double bytes = 0;
  for (const DeviceDescription& device : devices) bytes += static_cast<double>(device.memory_bytes);
  if (bytes > 0) {
    machine.gpu_mem_info = format_bytes(static_cast<double>(first.memory_bytes));
    machine.avail_gpu_mem_in_gb = static_cast<std::uint32_t>(bytes / kGibibyte);
  }
  const auto say = [&](const char* name, const std::string& text) {
    if (!text.empty()) machine.extra_info[name] = text;
  };
  const auto say_number = [&](const char* name, double value) {
    if (value > 0) machine.extra_info[name] = fmt::format("{:g}", value);
  };
  say("gpu_uuid", first.uuid);
  say("gpu_pci_bus_id", first.pci_bus_id);
  say("gpu_driver", first.driver);
  say("gpu_cuda", first.cuda);
  say("gpu_compute_capability", first.compute_capability);
  say("gpu_ecc", first.ecc);
  say("gpu_mig", first.mig);
  say_number("gpu_multiprocessors", static_cast<double>(first.multiprocessors));
  say_number("gpu_max_sm_mhz", first.max_sm_mhz);
  say_number("gpu_max_memory_mhz", first.max_memory_mhz);
  say_number("gpu_memory_bus_bits", static_cast<double>(first.memory_bus_bits));
  say_number("gpu_power_limit_w", first.power_limit_w);
  if (first.l2_bytes > 0) say("gpu_l2", format_bytes(static_cast<double>(first.l2_bytes)));
}

}  // namespace

std::shared_ptr<const Environment> with_devices(std::shared_ptr<const Environment> environment,
                                                const std::vector<RunnerOffer>& offers) {
  for (const RunnerOffer& offer : offers) {
    if (offer.devices.empty() || !environment || environment->machines.empty()) continue;
    auto completed = std::make_shared<Environment>(*environment);
    describe(completed->machines.front(), offer.devices);
    return completed;
  }
  return environment;
}

}  // namespace headroom
