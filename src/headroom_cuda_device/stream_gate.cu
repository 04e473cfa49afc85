// SPDX-License-Identifier: Apache-2.0
#include "headroom_cuda_device/stream_gate.h"

#include "headroom_cuda_device/cuda_check.h"

namespace headroom::cuda {
inline namespace stream_gate_cu {

constexpr unsigned long long kPatienceNs = 100'000'000;

__device__ unsigned long long now_ns() {
  unsigned long long now = 0;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

__global__ void hold(const volatile unsigned* is_open, volatile unsigned* gave_up) {
  const unsigned long long deadline = now_ns() + kPatienceNs;
  while (*is_open == 0) {
    if (now_ns() < deadline) continue;
    *gave_up = 1;
    return;
  }
}

}  // namespace stream_gate_cu

StreamGate::StreamGate() {
  check(cudaHostAlloc(&flags_, sizeof *flags_, cudaHostAllocMapped), "cudaHostAlloc");
  *flags_ = {};
  check(cudaHostGetDevicePointer(&device_flags_, flags_, 0), "cudaHostGetDevicePointer");
}

StreamGate::~StreamGate() {
  // A failed launch may have left the gate closed; its kernel reads the flags.
  open();
  cudaDeviceSynchronize();
  cudaFreeHost(flags_);
}

void StreamGate::close(cudaStream_t stream) {
  if (is_disabled_) return;
  __atomic_store_n(&flags_->is_open, 0U, __ATOMIC_RELEASE);
  hold<<<1, 1, 0, stream>>>(&device_flags_->is_open, &device_flags_->gave_up);
  check_launch("the kernel that holds a stream");
}

void StreamGate::open() {
  __atomic_store_n(&flags_->is_open, 1U, __ATOMIC_RELEASE);
}

bool StreamGate::timed_out() {
  const bool gave_up = __atomic_load_n(&flags_->gave_up, __ATOMIC_ACQUIRE) != 0;
  if (gave_up) is_disabled_ = true;
  __atomic_store_n(&flags_->gave_up, 0U, __ATOMIC_RELEASE);
  return gave_up;
}

}  // namespace headroom::cuda
