// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "headroom/experiment/device_description.h"

namespace headroom::cli {

/// The GPUs of this machine as the runner says that has them.
struct MachineDevices {
  std::string runner;  ///< its path; empty: there is no such runner, or nothing that it could run on
  std::vector<DeviceDescription> devices;
  std::string problem;  ///< why the runner that there is cannot be used; empty where it can
};

/// Starts headroom-cuda, where there is one, and asks it.
MachineDevices find_devices(const std::atomic<bool>& interrupted);

/// A few lines about each GPU. Where no runner can tell, what the system's files tell and why there is no
/// more; empty on a machine without a GPU.
std::string devices_text(const MachineDevices& found);

}  // namespace headroom::cli
