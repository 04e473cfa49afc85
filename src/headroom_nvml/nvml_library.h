// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "headroom/base/loaded_library.h"

namespace headroom::nvml {

/// NVML's nvmlReturn_t: those that are told apart here.
enum class Result : int {
  kSuccess = 0,
  kNotSupported = 3,
  kNoPermission = 4,
  kFunctionNotFound = 13,
};

/// NVML's nvmlDevice_t. Belongs to the library.
using DeviceHandle = struct NvmlDevice*;

/// nvmlClockType_t.
enum class Clock : int { kMultiprocessor = 1, kMemory = 2 };

/// nvmlPciInfo_t, as the functions that end in _v3 fill it.
struct PciInfo {
  char legacy_bus_id[16];
  unsigned domain, bus, device, device_id, subsystem_id;
  char bus_id[32];
};

/// nvmlMemory_t, in bytes.
struct Memory {
  unsigned long long total, free, used;
};

/// nvmlFieldValue_t, with the one member of its union that is used here.
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
/// The value of NVML_FI_DEV_POWER_INSTANT: power of the moment in mW. nvmlDeviceGetPowerUsage averages over a
/// second on some chips.
inline constexpr unsigned kPowerNowField = 186;
inline constexpr int kWholeNumber = 1;  ///< FieldValue::type where value.whole is meant

/// What headroom calls of NVIDIA's management library, which comes with the driver: found when the program
/// runs, and declared here, since its header comes with neither. Every function only reads. One that the
/// driver does not have is null. Source: NVML API Reference, https://docs.nvidia.com/deploy/nvml-api/.
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

/// NVML, loaded and initialised while this lives. Its functions may be called from several threads.
class Library {
 public:
  /// Takes libnvidia-ml.so.1 as the loader finds it, or where the driver's own folders have it; HEADROOM_NVML
  /// names another file. Throws Error where there is none, where it is no NVML, or where it finds no driver.
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

}  // namespace headroom::nvml
