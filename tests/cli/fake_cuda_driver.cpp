// SPDX-License-Identifier: Apache-2.0
// A libcuda.so.1 for queries only. Environment: FAKE_CUDA_VERSION (13000), FAKE_CUDA_INIT (a status),
// FAKE_CUDA_DEVICES, FAKE_CUDA_CAPABILITY (90).
#include <cstdio>
#include <cstdlib>

namespace {

int number(const char* variable, int otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : std::atoi(text);
}

}  // namespace

extern "C" {

int cuInit(unsigned) {
  return number("FAKE_CUDA_INIT", 0);
}

int cuDriverGetVersion(int* version) {
  *version = number("FAKE_CUDA_VERSION", 13000);
  return 0;
}

int cuDeviceGetCount(int* count) {
  *count = number("FAKE_CUDA_DEVICES", 1);
  return 0;
}

int cuDeviceGet(int* device, int) {
  *device = 0;
  return 0;
}

int cuDeviceGetName(char* name, int length, int) {
  std::snprintf(name, static_cast<std::size_t>(length), "Fake GPU");
  return 0;
}

int cuDeviceGetAttribute(int* value, int attribute, int) {
  const int capability = number("FAKE_CUDA_CAPABILITY", 90);
  constexpr int kMajor = 75;  // CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR
  *value = attribute == kMajor ? capability / 10 : capability % 10;
  return 0;
}

int cuGetErrorName(int, const char** name) {
  *name = "CUDA_ERROR_OF_THE_TEST";
  return 0;
}
}
