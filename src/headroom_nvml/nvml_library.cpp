// SPDX-License-Identifier: Apache-2.0
#include "headroom_nvml/nvml_library.h"

#include <fmt/format.h>

#include <cstdlib>
#include <vector>

#include "headroom/base/error.h"

namespace headroom::nvml {
namespace {

/// Containers and WSL have the driver's libraries in folders that the loader need not know.
std::vector<std::string> candidates() {
  const char* named = std::getenv("HEADROOM_NVML");
  if (named != nullptr && *named != '\0') return {named};
  return {"libnvidia-ml.so.1", "/usr/local/nvidia/lib64/libnvidia-ml.so.1",
          "/usr/lib/wsl/lib/libnvidia-ml.so.1"};
}

/// The first of `names` that the library exports; the newer name stands first.
template <typename Function>
void find(const LoadedLibrary& library, Function*& function, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    function = library.function<Function>(name);
    if (function != nullptr) return;
  }
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
  throw Error(fmt::format("NVML cannot be used: {} (error {} of {})", text, static_cast<int>(result), path_));
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

}  // namespace headroom::nvml
