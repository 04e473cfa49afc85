// SPDX-License-Identifier: Apache-2.0
#include "headroom/runner/device_protocol.h"

#include "headroom/base/json_codec.h"

namespace headroom {

template <>
struct JsonMembers<DeviceDescription> {
  using D = DeviceDescription;
  static constexpr std::tuple kTable{sparse("name", &D::name),
                                     sparse("uuid", &D::uuid),
                                     sparse("pci_bus_id", &D::pci_bus_id),
                                     sparse("driver", &D::driver),
                                     sparse("cuda", &D::cuda),
                                     sparse("compute_capability", &D::compute_capability),
                                     sparse("ecc", &D::ecc),
                                     sparse("mig", &D::mig),
                                     sparse("memory_bytes", &D::memory_bytes),
                                     sparse("l2_bytes", &D::l2_bytes),
                                     sparse("multiprocessors", &D::multiprocessors),
                                     sparse("memory_bus_bits", &D::memory_bus_bits),
                                     sparse("max_sm_mhz", &D::max_sm_mhz),
                                     sparse("max_memory_mhz", &D::max_memory_mhz),
                                     sparse("power_limit_w", &D::power_limit_w)};
};

Json to_json(const DeviceDescription& device) {
  return json_of(device);
}

DeviceDescription device_from_json(const Json& json) {
  return json_to<DeviceDescription>(json, JsonPath("/devices"));
}

}  // namespace headroom
