// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace headroom {

/// A device that cases of a runner may run on, as its driver describes it. Empty or zero: not told.
struct DeviceDescription {
  std::string name;                ///< "NVIDIA H200"
  std::string uuid;                ///< tells it from its like
  std::string pci_bus_id;          ///< "00000000:01:00.0"
  std::string driver;              ///< version: "580.95.05"
  std::string cuda;                ///< the newest version that the driver supports: "13.0"
  std::string compute_capability;  ///< "9.0"
  std::int64_t memory_bytes = 0;   ///< in all, used or not
  std::int64_t l2_bytes = 0;       ///< its last-level cache
  std::int64_t multiprocessors = 0;
  std::int64_t memory_bus_bits = 0;
  double max_sm_mhz = 0;      ///< the highest clock of the multiprocessors
  double max_memory_mhz = 0;  ///< and of the memory
  double power_limit_w = 0;   ///< that is enforced now
  std::string ecc;            ///< "on" or "off"
  std::string mig;            ///< likewise: whether the chip is split into instances
};

/// Asks the drivers; an empty list where there is no device or none that can be asked.
using DescribeDevices = std::function<std::vector<DeviceDescription>()>;

}  // namespace headroom
