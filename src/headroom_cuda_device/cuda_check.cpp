// SPDX-License-Identifier: Apache-2.0
// Apart from its header, which nvcc reads several times for each file with kernels: <string> alone takes it
// two seconds.
#include "headroom_cuda_device/cuda_check.h"

#include <string>

#include "headroom/base/error.h"

namespace headroom::cuda {

void check(cudaError_t status, const char* call) {
  if (status == cudaSuccess) return;
  // The runtime also keeps what is no fault of the context, and the next check of a launch would tell it
  // again.
  cudaGetLastError();
  throw Error(std::string(call) + " failed: " + cudaGetErrorString(status) + " (" + cudaGetErrorName(status) +
              ")");
}

void check_launch(const char* kernel) {
  check(cudaGetLastError(), kernel);
}

}  // namespace headroom::cuda
