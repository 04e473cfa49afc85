// SPDX-License-Identifier: Apache-2.0
#include "headroom_cuda_device/driver.h"

#include <cuda.h>
#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <cstdlib>

#include "headroom/base/error.h"
#include "headroom/base/loaded_library.h"

namespace headroom::cuda {
namespace {

constexpr const char* kDriver = "libcuda.so.1";
constexpr int kLeastComputeCapability = 80;

void ask_first_device(const LoadedLibrary& library, DriverAnswers& answers) {
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
  if (!visible) return "no CUDA device: the driver finds none; see what nvidia-smi says";
  if (visible->empty()) {
    return "no CUDA device is visible: CUDA_VISIBLE_DEVICES is empty; unset it, or name a device (0)";
  }
  return fmt::format(
      "no CUDA device is visible: CUDA_VISIBLE_DEVICES={} selects none; unset it, or name one that "
      "nvidia-smi -L shows",
      *visible);
}

void ask(const LoadedLibrary& library, DriverAnswers& answers) {
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
  if (answers.devices > 0) ask_first_device(library, answers);
}

}  // namespace

DriverAnswers ask_driver() {
  DriverAnswers answers;
  if (const char* visible = std::getenv("CUDA_VISIBLE_DEVICES")) answers.visible = visible;
  try {
    LoadedLibrary library(kDriver);
    // The runtime loads the same one.
    library.keep();
    ask(library, answers);
  } catch (const Error& error) {
    answers.load_error = error.what();
  }
  return answers;
}

std::string device_problem(const DriverAnswers& driver, int built_with) {
  if (!driver.load_error.empty()) {
    return fmt::format("no CUDA device: {} was not found; install NVIDIA's driver ({})", kDriver,
                       driver.load_error);
  }
  // Within a major version every driver runs the runtime of every minor one.
  const int needed = built_with / 1000;
  if (driver.version / 1000 < needed) {
    return fmt::format(
        "the CUDA driver is too old: it supports CUDA {}, this program needs {}; install a newer driver",
        version_text(driver.version), needed);
  }
  if (driver.init_status == CUDA_ERROR_NO_DEVICE) return no_visible_device(driver.visible);
  if (driver.init_status != CUDA_SUCCESS) {
    return fmt::format("no CUDA device: cuInit failed with {}; see what nvidia-smi says", driver.init_error);
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
  const std::string problem = device_problem(ask_driver(), CUDART_VERSION);
  if (!problem.empty()) throw Error(problem);
}

}  // namespace headroom::cuda
