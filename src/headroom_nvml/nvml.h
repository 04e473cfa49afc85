// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "headroom/experiment/registry.h"
#include "headroom/process/loaded_library.h"
#include "headroom/record/record.h"

namespace headroom::nvml {

/// nvmlReturn_t, the values that headroom distinguishes.
enum class Result : int {
  kSuccess = 0,
  kNotSupported = 3,
  kNoPermission = 4,
  kFunctionNotFound = 13,
};

/// nvmlDevice_t, owned by the library.
using DeviceHandle = struct NvmlDevice*;

/// nvmlClockType_t.
enum class Clock : int { kMultiprocessor = 1, kMemory = 2 };

/// nvmlPciInfo_t, as filled by functions that end in _v3.
struct PciInfo {
  char legacy_bus_id[16];
  unsigned domain, bus, device, device_id, subsystem_id;
  char bus_id[32];
};

/// nvmlMemory_t, in bytes.
struct Memory {
  unsigned long long total, free, used;
};

/// nvmlFieldValue_t, with the used members of its union.
struct FieldValue {
  unsigned field, scope;
  long long timestamp_us, latency_us;
  int type;
  Result result;
  union {
    unsigned whole;
    unsigned long long longest;
  } value;
};
/// NVML_FI_DEV_POWER_INSTANT in mW. nvmlDeviceGetPowerUsage averages over a second on some chips.
inline constexpr unsigned kPowerNowField = 186;
inline constexpr int kWholeNumber = 1;  ///< FieldValue::type if value.whole is set

/// Functions of NVIDIA's management library that headroom calls: read-only, looked up at run time, null if
/// missing. Declared here because the header does not come with the driver. Source: NVML API Reference,
/// https://docs.nvidia.com/deploy/nvml-api/.
struct Functions {
  Result (*init)();
  Result (*shutdown)();
  const char* (*error_string)(Result);
  Result (*driver_version)(char* text, unsigned length);
  Result (*cuda_version)(int* version);  ///< 1000 * major + 10 * minor
  Result (*count)(unsigned* count);
  Result (*handle_by_index)(unsigned index, DeviceHandle*);
  Result (*handle_by_bus)(const char* pci_bus_id, DeviceHandle*);
  Result (*name)(DeviceHandle, char* text, unsigned length);
  Result (*uuid)(DeviceHandle, char* text, unsigned length);
  Result (*pci_info)(DeviceHandle, PciInfo*);
  Result (*memory)(DeviceHandle, Memory*);
  Result (*memory_bus_bits)(DeviceHandle, unsigned*);
  Result (*compute_capability)(DeviceHandle, int* major, int* minor);
  Result (*cores)(DeviceHandle, unsigned*);
  Result (*clock_mhz)(DeviceHandle, Clock, unsigned*);
  Result (*max_clock_mhz)(DeviceHandle, Clock, unsigned*);
  Result (*power_mw)(DeviceHandle, unsigned*);
  Result (*power_limit_mw)(DeviceHandle, unsigned*);
  Result (*field_values)(DeviceHandle, int count, FieldValue*);
  Result (*temperature_c)(DeviceHandle, int sensor, unsigned*);  ///< sensor 0: the chip
  Result (*throttle_reasons)(DeviceHandle, unsigned long long* bits);
  Result (*ecc_mode)(DeviceHandle, unsigned* current, unsigned* pending);
  Result (*mig_mode)(DeviceHandle, unsigned* current, unsigned* pending);
};

/// Calls a function that may be absent.
template <typename... Parameters, typename... Arguments>
Result call(Result (*function)(Parameters...), Arguments... arguments) {
  return function != nullptr ? function(arguments...) : Result::kFunctionNotFound;
}

/// NVML, initialised while the object lives. Its functions are thread-safe.
class Library {
 public:
  /// Loads libnvidia-ml.so.1, or the file in HEADROOM_NVML. Throws Error if it is missing, is not NVML, or
  /// finds no driver.
  Library();
  ~Library();
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  const Functions& functions() const { return functions_; }

 private:
  void find_functions();

  std::string path_;
  std::optional<LoadedLibrary> library_;
  Functions functions_{};
};

/// GPUs in PCI bus order; empty without NVML. Values that the driver does not report are missing, and so is
/// the L2 size.
std::vector<DeviceDescription> describe_gpus();

/// One GPU's clocks, power, temperature and throttle reasons. A reading takes tens of microseconds to
/// milliseconds and changes nothing on the device.
class GpuMeter {
 public:
  /// `pci_bus_id` as written by cudaDeviceGetPCIBusId. Throws Error if NVML does not know it.
  GpuMeter(std::shared_ptr<const Library> library, const std::string& pci_bus_id);

  /// Reads all values; unsupported ones are zero and not asked for again.
  DeviceNoise read();

 private:
  template <typename Function, typename... Arguments>
  bool ask(Function& function, Arguments... arguments);
  double power_w();

  std::shared_ptr<const Library> library_;
  Functions functions_;
  Result (*memory_clock_)(DeviceHandle, Clock, unsigned*);  ///< a GPU may report one clock and not the other
  DeviceHandle device_ = nullptr;
};

/// A reader for State::watch_device that keeps NVML loaded; empty without NVML or the GPU.
std::function<DeviceNoise()> watch_gpu(const std::string& pci_bus_id);

}  // namespace headroom::nvml
