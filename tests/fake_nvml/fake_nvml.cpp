// SPDX-License-Identifier: Apache-2.0
// Replaces the driver's libnvidia-ml.so.1: two GPUs whose readings depend on the number of queries. FAKE_NVML
// lists faults:
//     no_driver       initialising fails
//     mute            no reading is supported
//     lost            every reading fails
//     throttled       power cap and heat lower the clocks
// FAKE_NVML_OLD: throttle reasons have their names from before driver 535.
#include <cstdlib>
#include <cstring>

namespace {

constexpr int kSuccess = 0, kInvalidArgument = 2, kNotSupported = 3, kNotFound = 6, kNoDriver = 9, kLost = 15;

bool told(const char* word) {
  const char* words = std::getenv("FAKE_NVML");
  return words != nullptr && std::strstr(words, word) != nullptr;
}

int reading(bool is_essential = false) {
  if (told("lost")) return kLost;
  return told("mute") && !is_essential ? kNotSupported : kSuccess;
}

template <typename T>
int give(T* place, T value) {
  const int result = reading();
  if (result == kSuccess) *place = value;
  return result;
}

int give_text(char* place, unsigned length, const char* text) {
  if (std::strlen(text) >= length) return kInvalidArgument;
  std::strcpy(place, text);
  return kSuccess;
}

struct Gpu {
  const char *name, *uuid, *bus;
};
Gpu kGpus[] = {{"NVIDIA H200", "GPU-0c1b", "00000000:01:00.0"},
               {"NVIDIA H200", "GPU-77aa", "00000000:02:00.0"}};

struct PciInfo {
  char legacy[16];
  unsigned domain, bus, device, id, subsystem;
  char bus_id[32];
};
struct Memory {
  unsigned long long total, free, used;
};
struct FieldValue {
  unsigned field, scope;
  long long timestamp, latency;
  int type, result;
  union {
    unsigned whole;
    unsigned long long longest;
  } value;
};

unsigned clocks_asked = 0;

}  // namespace

extern "C" {

int nvmlInit_v2() {
  return told("no_driver") ? kNoDriver : kSuccess;
}
int nvmlShutdown() {
  return kSuccess;
}
const char* nvmlErrorString(int result) {
  return result == kNoDriver ? "Driver Not Loaded" : "Other";
}
int nvmlSystemGetDriverVersion(char* text, unsigned length) {
  return give_text(text, length, "580.95.05");
}
int nvmlSystemGetCudaDriverVersion_v2(int* version) {
  *version = 13000;
  return kSuccess;
}
int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = 2;
  return kSuccess;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, Gpu** gpu) {
  if (index >= 2) return kInvalidArgument;
  *gpu = &kGpus[index];
  return kSuccess;
}
// NVML also accepts CUDA's form of the bus, with a domain of four digits.
int nvmlDeviceGetHandleByPciBusId_v2(const char* bus, Gpu** gpu) {
  for (Gpu& known : kGpus) {
    if (std::strcmp(bus, known.bus) != 0 && std::strcmp(bus, known.bus + 4) != 0) continue;
    *gpu = &known;
    return kSuccess;
  }
  return kNotFound;
}
int nvmlDeviceGetName(const Gpu* gpu, char* text, unsigned length) {
  return give_text(text, length, gpu->name);
}
int nvmlDeviceGetUUID(const Gpu* gpu, char* text, unsigned length) {
  return give_text(text, length, gpu->uuid);
}
int nvmlDeviceGetPciInfo_v3(const Gpu* gpu, PciInfo* info) {
  return give_text(info->bus_id, sizeof(info->bus_id), gpu->bus);
}
int nvmlDeviceGetMemoryInfo(const Gpu*, Memory* memory) {
  return give(memory, Memory{143771ULL << 20, 143000ULL << 20, 771ULL << 20});
}
int nvmlDeviceGetMemoryBusWidth(const Gpu*, unsigned* bits) {
  return give(bits, 6144U);
}
int nvmlDeviceGetCudaComputeCapability(const Gpu*, int* major, int* minor) {
  *minor = 0;
  return give(major, 9);
}
int nvmlDeviceGetNumGpuCores(const Gpu*, unsigned* cores) {
  return give(cores, 132U * 128U);
}
int nvmlDeviceGetClockInfo(const Gpu*, int clock, unsigned* mhz) {
  return give(mhz, clock == 2 ? 3201U : 1900U + clocks_asked++ % 5);
}
int nvmlDeviceGetMaxClockInfo(const Gpu*, int clock, unsigned* mhz) {
  return give(mhz, clock == 2 ? 3201U : 1980U);
}
int nvmlDeviceGetPowerUsage(const Gpu*, unsigned* milliwatts) {
  return give(milliwatts, 333000U);
}
int nvmlDeviceGetEnforcedPowerLimit(const Gpu*, unsigned* milliwatts) {
  return give(milliwatts, 700000U);
}
int nvmlDeviceGetTemperature(const Gpu*, int sensor, unsigned* celsius) {
  return sensor == 0 ? give(celsius, 61U) : kInvalidArgument;
}
#ifdef FAKE_NVML_OLD
int nvmlDeviceGetCurrentClocksThrottleReasons(const Gpu*, unsigned long long* bits) {
  return give(bits, told("throttled") ? 0x25ULL : 0x1ULL);
}
#else
int nvmlDeviceGetCurrentClocksEventReasons(const Gpu*, unsigned long long* bits) {
  return give(bits, told("throttled") ? 0x25ULL : 0x1ULL);
}
int nvmlDeviceGetFieldValues(const Gpu*, int count, FieldValue* values) {
  for (int i = 0; i < count; ++i) {
    values[i].result = values[i].field == 186 ? reading() : kNotSupported;
    values[i].type = 1;
    values[i].value.whole = 412500;
  }
  return kSuccess;
}
#endif
int nvmlDeviceGetEccMode(const Gpu*, unsigned* current, unsigned* pending) {
  *pending = 1;
  return give(current, 1U);
}
int nvmlDeviceGetMigMode(const Gpu*, unsigned* current, unsigned* pending) {
  *pending = 0;
  return give(current, 0U);
}
}
