// SPDX-License-Identifier: Apache-2.0
#include "headroom_nvml/nvml_library.h"

#include <dlfcn.h>
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
void find(void* library, Function& function, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    function = reinterpret_cast<Function>(dlsym(library, name));
    if (function != nullptr) return;
  }
}

}  // namespace

Library::Library() {
  std::string problem;
  for (const std::string& candidate : candidates()) {
    handle_ = dlopen(candidate.c_str(), RTLD_NOW | RTLD_LOCAL);
    path_ = candidate;
    if (handle_ != nullptr) break;
    if (problem.empty()) problem = dlerror();
  }
  if (handle_ == nullptr) {
    throw Error(fmt::format("NVML was not found ({}); it comes with NVIDIA's driver", problem));
  }
  find_functions();
  const Result result = call(functions_.init);
  if (result == Result::kSuccess) return;
  const char* text = functions_.error_string != nullptr ? functions_.error_string(result) : "no NVML";
  problem = fmt::format("NVML cannot be used: {} (error {} of {})", text, static_cast<int>(result), path_);
  dlclose(handle_);
  throw Error(problem);
}

Library::~Library() {
  call(functions_.shutdown);
  dlclose(handle_);
}

void Library::find_functions() {
  Functions& f = functions_;
  find(handle_, f.init, {"nvmlInit_v2"});
  find(handle_, f.shutdown, {"nvmlShutdown"});
  find(handle_, f.error_string, {"nvmlErrorString"});
  find(handle_, f.driver_version, {"nvmlSystemGetDriverVersion"});
  find(handle_, f.cuda_version, {"nvmlSystemGetCudaDriverVersion_v2", "nvmlSystemGetCudaDriverVersion"});
  find(handle_, f.count, {"nvmlDeviceGetCount_v2"});
  find(handle_, f.handle_by_index, {"nvmlDeviceGetHandleByIndex_v2"});
  find(handle_, f.handle_by_bus, {"nvmlDeviceGetHandleByPciBusId_v2"});
  find(handle_, f.name, {"nvmlDeviceGetName"});
  find(handle_, f.uuid, {"nvmlDeviceGetUUID"});
  find(handle_, f.pci_info, {"nvmlDeviceGetPciInfo_v3"});
  find(handle_, f.memory, {"nvmlDeviceGetMemoryInfo"});
  find(handle_, f.memory_bus_bits, {"nvmlDeviceGetMemoryBusWidth"});
  find(handle_, f.compute_capability, {"nvmlDeviceGetCudaComputeCapability"});
  find(handle_, f.cores, {"nvmlDeviceGetNumGpuCores"});
  find(handle_, f.clock_mhz, {"nvmlDeviceGetClockInfo"});
  find(handle_, f.max_clock_mhz, {"nvmlDeviceGetMaxClockInfo"});
  find(handle_, f.power_mw, {"nvmlDeviceGetPowerUsage"});
  find(handle_, f.power_limit_mw, {"nvmlDeviceGetEnforcedPowerLimit"});
  find(handle_, f.field_values, {"nvmlDeviceGetFieldValues"});
  find(handle_, f.temperature_c, {"nvmlDeviceGetTemperature"});
  find(handle_, f.throttle_reasons,
       {"nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons"});
  find(handle_, f.ecc_mode, {"nvmlDeviceGetEccMode"});
  find(handle_, f.mig_mode, {"nvmlDeviceGetMigMode"});
}

}  // namespace headroom::nvml
