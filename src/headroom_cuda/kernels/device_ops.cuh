// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#ifndef __CUDACC__
#include <cmath>
#include <cstring>

#include "headroom/experiment/bf16.h"
#endif

/// What the kernels need of a device beyond C++ and CUDA's own functions. All that is PTX is here; each has a
/// twin for the host, for the tests that run the kernels without a device.
namespace headroom::cuda {

/// 16 bytes: the widest load of a thread.
struct alignas(16) Vector {
  std::uint32_t words[4];
};
constexpr unsigned kVectorBytes = sizeof(Vector);
constexpr unsigned kWarp = 32;

#ifdef __CUDACC__

/// Reads what is read once and no launch writes: it leaves the first-level cache to others, and asks for the
/// sectors beside it.
__device__ inline Vector load_once(const void* from) {
  Vector read;
  asm volatile("ld.global.nc.L1::no_allocate.L2::256B.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(read.words[0]), "=r"(read.words[1]), "=r"(read.words[2]), "=r"(read.words[3])
               : "l"(from));
  return read;
}

/// Reads what every block reads, and no kernel that runs at the same time writes.
__device__ inline Vector load_common(const void* from) {
  Vector read;
  asm volatile("ld.global.nc.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(read.words[0]), "=r"(read.words[1]), "=r"(read.words[2]), "=r"(read.words[3])
               : "l"(from));
  return read;
}

/// Reads what another block or the launch before this one has written: from the second-level cache. Never
/// before a barrier or a wait that stands before it, as loads that are said to be of constant memory may be.
__device__ inline float load_written(const float* from) {
  return __ldcg(from);
}
__device__ inline std::uint16_t load_written(const std::uint16_t* from) {
  return __ldcg(from);
}
__device__ inline Vector load_written_vector(const void* from) {
  Vector read;
  asm volatile("ld.global.cg.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(read.words[0]), "=r"(read.words[1]), "=r"(read.words[2]), "=r"(read.words[3])
               : "l"(from)
               : "memory");
  return read;
}
/// The same of what is read once: as load_once.
__device__ inline Vector load_written_once(const void* from) {
  Vector read;
  asm volatile("ld.global.L1::no_allocate.L2::256B.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(read.words[0]), "=r"(read.words[1]), "=r"(read.words[2]), "=r"(read.words[3])
               : "l"(from)
               : "memory");
  return read;
}

/// Writes what is not read again soon: first to leave the caches.
__device__ inline void store_once(void* to, const Vector& written) {
  asm volatile("st.global.cs.v4.u32 [%0], {%1, %2, %3, %4};"
               :
               : "l"(to), "r"(written.words[0]), "r"(written.words[1]), "r"(written.words[2]),
                 "r"(written.words[3])
               : "memory");
}

/// Two floats as two bf16, rounded to nearest even; `low` in the lower half.
__device__ inline std::uint32_t bf16_pair(float low, float high) {
  std::uint32_t pair = 0;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
}

/// 1 / sqrt(value), rounded to nearest at each step.
__device__ inline float reciprocal_root(float value) {
  return __frcp_rn(__fsqrt_rn(value));
}

/// Lets the launch behind this one in its stream start where it was asked to start early; what it reads of
/// this one's it waits for.
__device__ inline void let_next_launch_start() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;");
#endif
}

/// Until all that the launch before this one in its stream has written can be read. Does nothing where this
/// one did not start early.
__device__ inline void wait_for_launch_before() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

#else

inline void let_next_launch_start() {}
inline void wait_for_launch_before() {
  emulated::wait_for_launch_before();
}
inline Vector load_once(const void* from) {
  Vector read;
  std::memcpy(&read, from, sizeof read);
  return read;
}
inline Vector load_common(const void* from) {
  return load_once(from);
}
inline float load_written(const float* from) {
  return *from;
}
inline std::uint16_t load_written(const std::uint16_t* from) {
  return *from;
}
inline Vector load_written_vector(const void* from) {
  return load_once(from);
}
inline Vector load_written_once(const void* from) {
  return load_once(from);
}
inline void store_once(void* to, const Vector& written) {
  std::memcpy(to, &written, sizeof written);
}
inline std::uint32_t bf16_pair(float low, float high) {
  return to_bf16(low).bits | (std::uint32_t{to_bf16(high).bits} << 16);
}
inline float reciprocal_root(float value) {
  return 1 / std::sqrt(value);
}

#endif

__device__ inline float low_bf16(std::uint32_t pair) {
  return __uint_as_float(pair << 16);
}
__device__ inline float high_bf16(std::uint32_t pair) {
  return __uint_as_float(pair & 0xffff0000U);
}
__device__ inline float bf16_value(std::uint16_t bits) {
  return __uint_as_float(std::uint32_t{bits} << 16);
}
__device__ inline std::uint16_t bf16_bits(float value) {
  return static_cast<std::uint16_t>(bf16_pair(value, 0));
}

}  // namespace headroom::cuda
