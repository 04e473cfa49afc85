// SPDX-License-Identifier: Apache-2.0
#include "headroom/runner/device_protocol.h"

#include <utility>

#include "headroom/base/json_numbers.h"

namespace headroom {
namespace {

constexpr std::pair<const char*, std::string DeviceDescription::*> kTexts[] = {
    {"name", &DeviceDescription::name},
    {"uuid", &DeviceDescription::uuid},
    {"pci_bus_id", &DeviceDescription::pci_bus_id},
    {"driver", &DeviceDescription::driver},
    {"cuda", &DeviceDescription::cuda},
    {"compute_capability", &DeviceDescription::compute_capability},
    {"ecc", &DeviceDescription::ecc},
    {"mig", &DeviceDescription::mig},
};
constexpr std::pair<const char*, std::int64_t DeviceDescription::*> kWholes[] = {
    {"memory_bytes", &DeviceDescription::memory_bytes},
    {"l2_bytes", &DeviceDescription::l2_bytes},
    {"multiprocessors", &DeviceDescription::multiprocessors},
    {"memory_bus_bits", &DeviceDescription::memory_bus_bits},
};
constexpr std::pair<const char*, double DeviceDescription::*> kNumbers[] = {
    {"max_sm_mhz", &DeviceDescription::max_sm_mhz},
    {"max_memory_mhz", &DeviceDescription::max_memory_mhz},
    {"power_limit_w", &DeviceDescription::power_limit_w},
};

}  // namespace

Json to_json(const DeviceDescription& device) {
  Json json = Json::object();
  for (const auto& [key, member] : kTexts) {
    if (!(device.*member).empty()) json[key] = device.*member;
  }
  for (const auto& [key, member] : kWholes) {
    if (device.*member != 0) json[key] = device.*member;
  }
  for (const auto& [key, member] : kNumbers) {
    if (device.*member != 0) json[key] = device.*member;
  }
  return json;
}

DeviceDescription device_from_json(const Json& json) {
  const std::string where = "/devices";
  if (!json.is_object()) throw Error(where + ": expected objects");
  DeviceDescription device;
  for (const auto& [key, member] : kTexts) device.*member = json_string_or(json, key, "", where);
  for (const auto& [key, member] : kWholes) {
    if (json.contains(key)) device.*member = json_integer<std::int64_t>(json, key, where);
  }
  for (const auto& [key, member] : kNumbers) device.*member = json_number_or(json, key, 0, where);
  return device;
}

}  // namespace headroom
