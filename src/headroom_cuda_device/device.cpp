// SPDX-License-Identifier: Apache-2.0
#include "headroom_cuda_device/device.h"

#include <cuda.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <iterator>

#include "headroom/base/error.h"
#include "headroom/process/loaded_library.h"
#include "headroom_cuda_device/cuda_check.h"
#include "headroom_nvml/nvml.h"

namespace headroom::cuda {
namespace {

constexpr const char* kDriver = "libcuda.so.1";
constexpr int kLeastComputeCapability = 80;

void query_first_device(const LoadedLibrary& library, DriverInfo& answers) {
  const auto get = library.function<decltype(cuDeviceGet)>("cuDeviceGet");
  const auto name_of = library.function<decltype(cuDeviceGetName)>("cuDeviceGetName");
  const auto attribute_of = library.function<decltype(cuDeviceGetAttribute)>("cuDeviceGetAttribute");
  CUdevice device = 0;
  if (get == nullptr || name_of == nullptr || attribute_of == nullptr || get(&device, 0) != CUDA_SUCCESS)
    return;
  char name[256] = "";
  if (name_of(name, sizeof name, device) == CUDA_SUCCESS) answers.device_name = name;
  int major = 0, minor = 0;
  attribute_of(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);
  attribute_of(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);
  answers.compute_capability = 10 * major + minor;
}

std::string version_text(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

std::string no_visible_device(const std::optional<std::string>& visible) {
  if (!visible) return "no CUDA device: the driver finds none; run nvidia-smi for the reason";
  if (visible->empty()) {
    return "no CUDA device is visible: CUDA_VISIBLE_DEVICES is empty; unset it, or name a device (0)";
  }
  return fmt::format(
      "no CUDA device is visible: CUDA_VISIBLE_DEVICES={} selects no device; unset it, or name one of "
      "nvidia-smi -L",
      *visible);
}

void ask(const LoadedLibrary& library, DriverInfo& answers) {
  const auto version = library.function<decltype(cuDriverGetVersion)>("cuDriverGetVersion");
  const auto init = library.function<decltype(cuInit)>("cuInit");
  const auto count = library.function<decltype(cuDeviceGetCount)>("cuDeviceGetCount");
  const auto error_name = library.function<decltype(cuGetErrorName)>("cuGetErrorName");
  if (version == nullptr || init == nullptr || count == nullptr) {
    answers.load_error = "it lacks cuInit, cuDriverGetVersion or cuDeviceGetCount";
    return;
  }
  version(&answers.version);
  const CUresult status = init(0);
  answers.init_status = status;
  if (status != CUDA_SUCCESS) {
    const char* name = nullptr;
    if (error_name != nullptr) error_name(status, &name);
    answers.init_error = name != nullptr ? name : fmt::format("error {}", answers.init_status);
    return;
  }
  count(&answers.devices);
  if (answers.devices > 0) query_first_device(library, answers);
}

constexpr int kDevice = 0;

/// NVML writes the PCI domain with eight digits, CUDA with four.
bool is_same_bus_id(const std::string& a, const std::string& b) {
  const std::string& longer = a.size() < b.size() ? b : a;
  const std::string& shorter = a.size() < b.size() ? a : b;
  if (shorter.empty()) return false;
  return std::equal(shorter.rbegin(), shorter.rend(), longer.rbegin(),
                    [](unsigned char x, unsigned char y) { return std::toupper(x) == std::toupper(y); });
}

}  // namespace

void check(cudaError_t status, const char* call) {
  if (status == cudaSuccess) return;
  // Otherwise the next check_launch would report even harmless errors.
  cudaGetLastError();
  throw Error(std::string(call) + " failed: " + cudaGetErrorString(status) + " (" + cudaGetErrorName(status) +
              ")");
}

void check_launch(const char* kernel) {
  check(cudaGetLastError(), kernel);
}

DriverInfo query_driver() {
  DriverInfo answers;
  if (const char* visible = std::getenv("CUDA_VISIBLE_DEVICES")) answers.visible = visible;
  try {
    LoadedLibrary library(kDriver);
    library.keep();
    ask(library, answers);
  } catch (const Error& error) {
    answers.load_error = error.what();
  }
  return answers;
}

std::string device_problem(const DriverInfo& driver, int built_with) {
  if (!driver.load_error.empty()) {
    return fmt::format("no CUDA device: {} was not found; install NVIDIA's driver ({})", kDriver,
                       driver.load_error);
  }
  // Drivers run all runtimes of their major version.
  const int needed = built_with / 1000;
  if (driver.version / 1000 < needed) {
    return fmt::format(
        "the CUDA driver is too old: it supports CUDA {}, this program needs {}; install a newer driver",
        version_text(driver.version), needed);
  }
  if (driver.init_status == CUDA_ERROR_NO_DEVICE) return no_visible_device(driver.visible);
  if (driver.init_status != CUDA_SUCCESS) {
    return fmt::format("no CUDA device: cuInit failed with {}; run nvidia-smi for the reason",
                       driver.init_error);
  }
  if (driver.devices == 0) return no_visible_device(driver.visible);
  if (driver.compute_capability < kLeastComputeCapability) {
    return fmt::format("{} has compute capability {}.{}, this program needs {}.{} (A100 or newer)",
                       driver.device_name, driver.compute_capability / 10, driver.compute_capability % 10,
                       kLeastComputeCapability / 10, kLeastComputeCapability % 10);
  }
  return {};
}

void require_device() {
  const std::string problem = device_problem(query_driver(), CUDART_VERSION);
  if (!problem.empty()) throw Error(problem);
}

std::vector<std::string> toolkit_roots() {
  std::vector<std::string> roots;
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"}) {
    const char* root = std::getenv(variable);
    if (root != nullptr && *root != '\0') roots.emplace_back(root);
  }
  roots.emplace_back("/usr/local/cuda");
  return roots;
}

Device::Device() {
  check(cudaSetDevice(kDevice), "cudaSetDevice");
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, kDevice), "cudaGetDeviceProperties");
  name_ = properties.name;
  compute_capability_ = 10 * properties.major + properties.minor;
  multiprocessors_ = properties.multiProcessorCount;
  l2_bytes_ = static_cast<std::size_t>(properties.l2CacheSize);
  memory_bytes_ = properties.totalGlobalMem;
  shared_memory_per_block_ = properties.sharedMemPerBlockOptin;
  check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
  std::array<char, 32> place{};
  check(cudaDeviceGetPCIBusId(place.data(), static_cast<int>(place.size()), kDevice),
        "cudaDeviceGetPCIBusId");
  watch_ = nvml::watch_gpu(place.data());
}

Device::~Device() {
  cudaStreamDestroy(stream_);
}

void Device::synchronize() const {
  check(cudaStreamSynchronize(stream_), "cudaStreamSynchronize");
}

std::string lost_context() {
  const cudaError_t status = cudaDeviceSynchronize();
  if (status == cudaSuccess) return {};
  return std::string("CUDA is unusable in this process after an error (") + cudaGetErrorName(status) + ")";
}

std::shared_ptr<Device> device_of(State& state) {
  // The current device is per thread.
  check(cudaSetDevice(kDevice), "cudaSetDevice");
  auto device = state.shared<Device>("0", [] { return std::make_shared<Device>(); });
  state.last_level_cache(device->l2_bytes());
  state.note("gpu", device->name());
  state.watch_device(device->watch());
  return device;
}

std::vector<DeviceDescription> visible_devices() {
  int count = 0;
  check(cudaGetDeviceCount(&count), "cudaGetDeviceCount");
  std::vector<DeviceDescription> devices;
  for (int index = 0; index < count; ++index) {
    cudaDeviceProp properties{};
    check(cudaGetDeviceProperties(&properties, index), "cudaGetDeviceProperties");
    std::array<char, 32> place{};
    check(cudaDeviceGetPCIBusId(place.data(), static_cast<int>(place.size()), index),
          "cudaDeviceGetPCIBusId");
    DeviceDescription device;
    device.name = properties.name;
    device.pci_bus_id = place.data();
    device.compute_capability = fmt::format("{}.{}", properties.major, properties.minor);
    device.memory_bytes = static_cast<std::int64_t>(properties.totalGlobalMem);
    device.l2_bytes = properties.l2CacheSize;
    device.multiprocessors = properties.multiProcessorCount;
    device.memory_bus_bits = properties.memoryBusWidth;
    devices.push_back(device);
  }
  return devices;
}

std::vector<DeviceDescription> merged(const std::vector<DeviceDescription>& from_cuda,
                                      std::vector<DeviceDescription> from_nvml) {
  std::vector<DeviceDescription> all;
  for (const DeviceDescription& device : from_cuda) {
    const auto same = std::ranges::find_if(from_nvml, [&](const DeviceDescription& other) {
      return is_same_bus_id(other.pci_bus_id, device.pci_bus_id);
    });
    if (same == from_nvml.end()) {
      all.push_back(device);
      continue;
    }
    DeviceDescription both = *same;
    // MIG instances share a bus id, but not the multiprocessors.
    both.multiprocessors = device.multiprocessors;
    both.l2_bytes = device.l2_bytes;
    if (both.mig == "on" || both.memory_bytes == 0) {
      both.name = device.name;
      both.memory_bytes = device.memory_bytes;
    }
    all.push_back(both);
  }
  std::ranges::copy_if(from_nvml, std::back_inserter(all), [&](const DeviceDescription& device) {
    return std::ranges::none_of(from_cuda, [&](const DeviceDescription& other) {
      return is_same_bus_id(other.pci_bus_id, device.pci_bus_id);
    });
  });
  return all;
}

std::vector<DeviceDescription> describe_devices() {
  std::vector<DeviceDescription> from_cuda;
  try {
    from_cuda = visible_devices();
  } catch (const Error&) {
    // The case's CUDA error matters more.
  }
  return merged(from_cuda, nvml::describe_gpus());
}

}  // namespace headroom::cuda
