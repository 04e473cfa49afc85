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

/// NVML's nvmlReturn_t: the values that headroom distinguishes.
enum class Result : int {
  kSuccess = 0,
  kNotSupported = 3,
  kNoPermission = 4,
  kFunctionNotFound = 13,
};

/// NVML's nvmlDevice_t. The library owns it.
using DeviceHandle = struct NvmlDevice*;

/// nvmlClockType_t.
enum class Clock : int { kMultiprocessor = 1, kMemory = 2 };

/// nvmlPciInfo_t, as filled by the functions that end in _v3.
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
/// NVML_FI_DEV_POWER_INSTANT: momentary power in mW. nvmlDeviceGetPowerUsage averages over a second on some
/// chips.
inline constexpr unsigned kPowerNowField = 186;
inline constexpr int kWholeNumber = 1;  ///< FieldValue::type if value.whole is set

/// The functions of NVIDIA's management library that headroom calls. The library comes with the driver and
/// is looked up at run time; its header comes with neither, hence the declarations here. Every function
/// only reads. Null if the driver lacks it. Source: NVML API Reference,
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

/// NVML, loaded and initialised for the lifetime of the object. Its functions are thread-safe.
class Library {
 public:
  /// Loads libnvidia-ml.so.1 from the loader's path or the driver's folders; HEADROOM_NVML names another
  /// file. Throws Error if there is none, if it is not NVML, or if it finds no driver.
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

/// All GPUs of this machine that NVML shows to this process, in PCI bus order. Empty without NVML. Values
/// that the driver does not report are missing; NVML never reports the size of the L2 cache.
std::vector<DeviceDescription> describe_gpus();

/// Reads clocks, power, temperature and throttle reasons of one GPU. A reading takes from tens of
/// microseconds to some milliseconds, depending on driver and board, and changes nothing on the device.
class GpuMeter {
 public:
  /// The GPU at a PCI bus id, as cudaDeviceGetPCIBusId writes it. Throws Error if NVML knows no such GPU.
  GpuMeter(std::shared_ptr<const Library> library, const std::string& pci_bus_id);

  /// Zero for values that the driver does not report. Does not ask again for values that this GPU never
  /// reports.
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

/// For State::watch_device: reads the GPU at a PCI bus id. An empty function without NVML or the GPU; the
/// case is then measured without these values. Keeps NVML loaded for the lifetime of the function.
std::function<DeviceNoise()> watch_gpu(const std::string& pci_bus_id);

}  // namespace headroom::nvml
