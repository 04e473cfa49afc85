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

__device__ inline float low_bf16(std::uint32_t pair) {
  return __uint_as_float(pair << 16);
}
__device__ inline float high_bf16(std::uint32_t pair) {
  return __uint_as_float(pair & 0xffff0000U);
}
__device__ inline float bf16_value(std::uint16_t bits) {
  return __uint_as_float(std::uint32_t{bits} << 16);
}

#ifdef __CUDACC__

/// Reads what is read once and no launch writes: it leaves the first-level cache to others. (To ask for the
/// sectors beside it, as L2::256B does, costs a twentieth of an H200's bandwidth.)
__device__ inline Vector load_once(const void* from) {
  Vector read;
  asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
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
__device__ inline std::uint32_t load_written(const std::uint32_t* from) {
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
/// The same of 4, 8 or 16 bytes.
__device__ inline void load_written_words(const void* from, std::uint32_t (&words)[1]) {
  words[0] = load_written(static_cast<const std::uint32_t*>(from));
}
__device__ inline void load_written_words(const void* from, std::uint32_t (&words)[2]) {
  asm volatile("ld.global.cg.v2.u32 {%0, %1}, [%2];" : "=r"(words[0]), "=r"(words[1]) : "l"(from) : "memory");
}
__device__ inline void load_written_words(const void* from, std::uint32_t (&words)[4]) {
  const Vector read = load_written_vector(from);
#pragma unroll
  for (unsigned i = 0; i < 4; ++i) words[i] = read.words[i];
}
/// The same of what is read once: as load_once.
__device__ inline Vector load_written_once(const void* from) {
  Vector read;
  asm volatile("ld.global.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(read.words[0]), "=r"(read.words[1]), "=r"(read.words[2]), "=r"(read.words[3])
               : "l"(from)
               : "memory");
  return read;
}

/// Memory that a launch asked for beside what its kernel declares.
__device__ inline void* dynamic_shared_memory() {
  extern __shared__ Vector dynamic_shared[];
  return dynamic_shared;
}

/// Copies 16 bytes to shared memory; they are there once the thread has waited for the group of copies that
/// ends behind them.
__device__ inline void copy_async(Vector* to_shared, const void* from) {
  const auto to = static_cast<std::uint32_t>(__cvta_generic_to_shared(to_shared));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" : : "r"(to), "l"(from) : "memory");
}
__device__ inline void end_of_copies() {
  asm volatile("cp.async.commit_group;" : : : "memory");
}
/// Until no more than kLeft groups of this thread's copies are under way.
template <int kLeft>
__device__ inline void wait_for_copies() {
  asm volatile("cp.async.wait_group %0;" : : "n"(kLeft) : "memory");
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

/// Two floats as two f16, rounded to nearest even; `low` in the lower half.
__device__ inline std::uint32_t f16_pair(float low, float high) {
  std::uint32_t pair = 0;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
}

/// Bytes kFirst and kFirst + 1 of four, each 128 more than the int8 that it stands for, as f16: behind the
/// exponent of 2^10 they are the integer part.
template <unsigned kFirst>
__device__ inline std::uint32_t f16_of_bytes(std::uint32_t raised) {
  constexpr std::uint32_t kRaised = 0x64806480U;  // 1024 + 128, twice
  std::uint32_t pair = 0;
  asm("sub.f16x2 %0, %1, %2;"
      : "=r"(pair)
      : "r"(__byte_perm(raised, 0x64646464U, 0x4140U + 0x101U * kFirst)), "r"(kRaised));
  return pair;
}

/// d += a b on tensor cores, of 16 x 16 and 16 x 8, laid out as mma.m16n8k16 of the PTX ISA has it.
#define HEADROOM_MULTIPLY(type)                                                       \
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32." type "." type                 \
               ".f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};" \
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])                       \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1))
__device__ inline void multiply_f16(const std::uint32_t (&a)[4], std::uint32_t b0, std::uint32_t b1,
                                    float (&d)[4]) {
  HEADROOM_MULTIPLY("f16");
}
__device__ inline void multiply_bf16(const std::uint32_t (&a)[4], std::uint32_t b0, std::uint32_t b1,
                                     float (&d)[4]) {
  HEADROOM_MULTIPLY("bf16");
}
#undef HEADROOM_MULTIPLY

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
inline std::uint32_t load_written(const std::uint32_t* from) {
  return *from;
}
inline Vector load_written_vector(const void* from) {
  return load_once(from);
}
template <std::size_t kCount>
inline void load_written_words(const void* from, std::uint32_t (&words)[kCount]) {
  std::memcpy(words, from, sizeof words);
}
inline void* dynamic_shared_memory() {
  return emulated::dynamic_shared_memory();
}
inline void copy_async(Vector* to_shared, const void* from) {
  std::memcpy(to_shared, from, sizeof *to_shared);
}
inline void end_of_copies() {}
template <int kLeft>
inline void wait_for_copies() {}
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
inline std::uint32_t f16_pair(float low, float high) {
  return emulated::f16_bits(low) | std::uint32_t{emulated::f16_bits(high)} << 16;
}
template <unsigned kFirst>
inline std::uint32_t f16_of_bytes(std::uint32_t raised) {
  const auto value = [&](unsigned byte) {
    return static_cast<float>(static_cast<int>(raised >> (8 * byte) & 0xff) - 128);
  };
  return f16_pair(value(kFirst), value(kFirst + 1));
}
inline void multiply_f16(const std::uint32_t (&a)[4], std::uint32_t b0, std::uint32_t b1, float (&d)[4]) {
  emulated::multiply_tiles(a, {b0, b1}, d, emulated::f16_value);
}
inline void multiply_bf16(const std::uint32_t (&a)[4], std::uint32_t b0, std::uint32_t b1, float (&d)[4]) {
  emulated::multiply_tiles(a, {b0, b1}, d, bf16_value);
}

#endif

__device__ inline std::uint16_t bf16_bits(float value) {
  return static_cast<std::uint16_t>(bf16_pair(value, 0));
}

}  // namespace headroom::cuda
