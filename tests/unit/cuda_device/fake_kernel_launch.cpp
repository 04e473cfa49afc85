// SPDX-License-Identifier: Apache-2.0
// Functions that nvcc's code for kernels calls (CUDA 12 and 13, undocumented).
#include "fake_runtime.h"

extern "C" {

void** __cudaRegisterFatBinary() {
  static void* handle = nullptr;
  return &handle;
}
void __cudaRegisterFatBinaryEnd() {}
void __cudaUnregisterFatBinary() {}
void __cudaRegisterFunction() {}
char __cudaInitModule() {
  return 1;
}
unsigned __cudaPushCallConfiguration() {
  return 0;
}
int __cudaPopCallConfiguration() {
  return 0;
}
int __cudaGetKernel() {
  return 0;
}
int __cudaLaunchKernel() {
  headroom::cuda::fake_runtime().calls.emplace_back("hold");
  return 0;
}
int cudaLaunchKernel() {
  return __cudaLaunchKernel();
}
}
