// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#ifndef __CUDACC__
#include <cmath>
#include <cstring>

#include "headroom/experiment/bf16.h"
#endif

/// All PTX; host twins let tests run the kernels without a device.

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

/// For data read once and not written by any launch: not kept in L1. (L2::256B costs a twentieth of an H200's
/// bandwidth.)
__device__ inline Vector load_once(const void* from) {
  Vector read;
  asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(read.words[0]), "=r"(read.words[1]), "=r"(read.words[2]), "=r"(read.words[3])
               : "l"(from));
  return read;
}

/// For data that every block reads and no running kernel writes.
__device__ inline Vector load_common(const void* from) {
  Vector read;
  asm volatile("ld.global.nc.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(read.words[0]), "=r"(read.words[1]), "=r"(read.words[2]), "=r"(read.words[3])
               : "l"(from));
  return read;
}

/// Loads writes of another block or the previous launch from L2. Unlike constant loads, stays behind a
/// barrier or wait.
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
/// For data that is read once.
__device__ inline Vector load_written_once(const void* from) {
  Vector read;
  asm volatile("ld.global.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(read.words[0]), "=r"(read.words[1]), "=r"(read.words[2]), "=r"(read.words[3])
               : "l"(from)
               : "memory");
  return read;
}

__device__ inline void* dynamic_shared_memory() {
  extern __shared__ Vector dynamic_shared[];
  return dynamic_shared;
}

/// Copies 16 bytes to shared memory; complete after wait_for_copies.
__device__ inline void copy_async(Vector* to_shared, const void* from) {
  const auto to = static_cast<std::uint32_t>(__cvta_generic_to_shared(to_shared));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" : : "r"(to), "l"(from) : "memory");
}
__device__ inline void commit_copies() {
  asm volatile("cp.async.commit_group;" : : : "memory");
}
/// Leaves at most kLeft groups of this thread's copies in flight.
template <int kLeft>
__device__ inline void wait_for_copies() {
  asm volatile("cp.async.wait_group %0;" : : "n"(kLeft) : "memory");
}

/// Marks the line for early eviction.
__device__ inline void store_once(void* to, const Vector& written) {
  asm volatile("st.global.cs.v4.u32 [%0], {%1, %2, %3, %4};"
               :
               : "l"(to), "r"(written.words[0]), "r"(written.words[1]), "r"(written.words[2]),
                 "r"(written.words[3])
               : "memory");
}

/// Rounds to nearest even; `low` goes to the lower half.
__device__ inline std::uint32_t bf16_pair(float low, float high) {
  std::uint32_t pair = 0;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
}

/// Rounds to nearest even; `low` goes to the lower half.
__device__ inline std::uint32_t f16_pair(float low, float high) {
  std::uint32_t pair = 0;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
}

/// Bytes kFirst and kFirst + 1, each an int8 plus 128, to f16, as the low mantissa bits of 1024.
template <unsigned kFirst>
__device__ inline std::uint32_t f16_of_bytes(std::uint32_t raised) {
  constexpr std::uint32_t kRaised = 0x64806480U;  // 1024 + 128, twice
  std::uint32_t pair = 0;
  asm("sub.f16x2 %0, %1, %2;"
      : "=r"(pair)
      : "r"(__byte_perm(raised, 0x64646464U, 0x4140U + 0x101U * kFirst)), "r"(kRaised));
  return pair;
}

/// d += a b on tensor cores, in the layout of mma.m16n8k16 (PTX ISA).
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

/// Rounds to nearest at each step.
__device__ inline float reciprocal_root(float value) {
  return __frcp_rn(__fsqrt_rn(value));
}

/// The next launch waits before it reads our results.
__device__ inline void trigger_next_launch() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;");
#endif
}

/// No effect unless this launch started early.
__device__ inline void wait_for_previous_launch() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

#else

inline void trigger_next_launch() {}
inline void wait_for_previous_launch() {
  emulated::wait_for_previous_launch();
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
inline void commit_copies() {}
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

// Sums over a warp or block. Every thread must call, and gets the result unless stated.

constexpr unsigned kAllLanes = 0xffffffffU;
constexpr unsigned kMostWarps = 32;  ///< per block

__device__ inline float warp_sum(float value) {
#pragma unroll
  for (unsigned apart = kWarp / 2; apart > 0; apart /= 2) {
    value += __shfl_xor_sync(kAllLanes, value, static_cast<int>(apart));
  }
  return value;
}

/// Lane l gets row l / (32 / kRows) of kRows (a power of two), summed over the warp, by at most kRows + 4
/// exchanges instead of 5 kRows.
template <int kRows>
__device__ inline float warp_sums(float (&sums)[kRows], unsigned lane) {
  unsigned apart = kWarp / 2;
#pragma unroll
  for (int kept = kRows / 2; kept > 0; kept /= 2, apart /= 2) {
    const bool upper = (lane & apart) != 0;
#pragma unroll
    for (int i = 0; i < kept; ++i) {
      const float sent = upper ? sums[i] : sums[i + kept];
      const float own = upper ? sums[i + kept] : sums[i];
      sums[i] = own + __shfl_xor_sync(kAllLanes, sent, static_cast<int>(apart));
    }
  }
  float sum = sums[0];
#pragma unroll
  for (; apart > 0; apart /= 2) sum += __shfl_xor_sync(kAllLanes, sum, static_cast<int>(apart));
  return sum;
}

/// `shared` may be reused after a barrier.
__device__ inline float block_sum(float value, float (&shared)[kMostWarps]) {
  const unsigned warp = threadIdx.x / kWarp;
  const unsigned lane = threadIdx.x % kWarp;
  value = warp_sum(value);
  if (lane == 0) shared[warp] = value;
  __syncthreads();
  return warp_sum(lane < blockDim.x / kWarp ? shared[lane] : 0.0F);
}

// Products of weights with x of bf16, summed in f32.

struct Int8Weights {
  static constexpr unsigned kBytes = 1;
};
struct Bf16Weights {
  static constexpr unsigned kBytes = 2;
};
template <typename Weights>
constexpr unsigned kLength = kVectorBytes / Weights::kBytes;

template <unsigned kCount>
__device__ inline void unpack(const std::uint32_t (&pairs)[kCount / 2], float (&values)[kCount]) {
#pragma unroll
  for (unsigned i = 0; i < kCount / 2; ++i) {
    values[2 * i] = low_bf16(pairs[i]);
    values[2 * i + 1] = high_bf16(pairs[i]);
  }
}

/// Byte `kByte`, an int8 plus 128, as the low mantissa bits of 2^23: conversions are several times slower.
template <unsigned kByte>
__device__ inline float int8_value(std::uint32_t raised) {
  return __uint_as_float(__byte_perm(raised, 0x4B000000U, 0x7650U + kByte)) - 8388736.0F;
}

/// Two sums: a shorter chain of additions.
__device__ inline void add_products(Int8Weights /*of*/, const Vector& weights, const float (&x)[16],
                                    float (&sums)[2]) {
#pragma unroll
  for (unsigned i = 0; i < 4; ++i) {
    const std::uint32_t raised = weights.words[i] ^ 0x80808080U;
    sums[0] = fmaf(int8_value<0>(raised), x[4 * i], sums[0]);
    sums[1] = fmaf(int8_value<1>(raised), x[4 * i + 1], sums[1]);
    sums[0] = fmaf(int8_value<2>(raised), x[4 * i + 2], sums[0]);
    sums[1] = fmaf(int8_value<3>(raised), x[4 * i + 3], sums[1]);
  }
}
__device__ inline void add_products(Bf16Weights /*of*/, const Vector& weights, const float (&x)[8],
                                    float (&sums)[2]) {
#pragma unroll
  for (unsigned i = 0; i < 4; ++i) {
    sums[0] = fmaf(low_bf16(weights.words[i]), x[2 * i], sums[0]);
    sums[1] = fmaf(high_bf16(weights.words[i]), x[2 * i + 1], sums[1]);
  }
}

// Rows at any alignment, as vectors of 16 bytes.

/// 16 bytes from byte `shift` (0 to 15) of `low`, `high`; the same for a whole row: no divergence.
__device__ inline Vector joined(const Vector& low, const Vector& high, unsigned shift) {
  const std::uint32_t words[8] = {low.words[0],  low.words[1],  low.words[2],  low.words[3],
                                  high.words[0], high.words[1], high.words[2], high.words[3]};
  Vector result{};
#pragma unroll
  for (unsigned start = 0; start < 4; ++start) {
    if (start != shift / 4) continue;
#pragma unroll
    for (unsigned i = 0; i < 4; ++i) {
      result.words[i] = __funnelshift_r(words[start + i], words[start + i + 1], 8 * (shift % 4));
    }
  }
  return result;
}

__device__ inline void keep_first(Vector& vector, unsigned bytes) {
#pragma unroll
  for (unsigned i = 0; i < 4; ++i) {
    if (bytes < 4 * i + 4) {
      vector.words[i] = bytes > 4 * i ? vector.words[i] & ((1U << (8 * (bytes - 4 * i))) - 1) : 0;
    }
  }
}

/// Pads with zeros.
__device__ inline Vector load_bytes(const std::byte* from, unsigned bytes) {
  Vector result{};
#pragma unroll
  for (unsigned i = 0; i < kVectorBytes; ++i) {
    if (i < bytes) result.words[i / 4] |= static_cast<std::uint32_t>(from[i]) << (8 * (i % 4));
  }
  return result;
}

/// Vector `index` of a row of `row_bytes` bytes, zero past its end. Reads nothing from `end` on, the end of
/// an allocation aligned to 16 bytes. kAligned: `row` and `row_bytes` are multiples of 16 bytes.
template <bool kAligned>
__device__ inline Vector row_vector(const std::byte* row, std::size_t row_bytes, unsigned index,
                                    const std::byte* end) {
  const std::byte* from = row + std::size_t{kVectorBytes} * index;
  if constexpr (kAligned) {
    return load_once(from);
  } else {
    const std::size_t left = row_bytes - std::size_t{kVectorBytes} * index;
    const unsigned bytes = left < kVectorBytes ? static_cast<unsigned>(left) : kVectorBytes;
    const auto shift = static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(from) % kVectorBytes);
    if (static_cast<std::size_t>(end - from) + shift < 2 * kVectorBytes) return load_bytes(from, bytes);
    const Vector low = load_common(from - shift);
    Vector result = joined(low, load_common(from - shift + kVectorBytes), shift);
    if (bytes < kVectorBytes) keep_first(result, bytes);
    return result;
  }
}

/// Stores bytes [first, last) of a vector of bf16.
__device__ inline void store_bf16(std::byte* to, const Vector& vector, unsigned first, unsigned last) {
#pragma unroll
  for (unsigned i = 0; i < kVectorBytes / 2; ++i) {
    if (2 * i < first || 2 * i >= last) continue;
    const auto value = static_cast<std::uint16_t>(vector.words[i / 2] >> (16 * (i % 2)));
    *reinterpret_cast<std::uint16_t*>(to + 2 * i) = value;
  }
}

/// Each lane takes from the lane before it the bytes missing to an aligned store.
__device__ inline void store_shifted(std::byte* row, std::size_t row_bytes, unsigned index, unsigned vectors,
                                     const Vector& vector) {
  const unsigned lane = threadIdx.x % kWarp;
  Vector before;
#pragma unroll
  for (unsigned i = 0; i < 4; ++i) {
    before.words[i] = __shfl_sync(0xffffffffU, vector.words[i], static_cast<int>((lane + kWarp - 1) % kWarp));
  }
  if (index >= vectors) return;
  std::byte* const to = row + std::size_t{kVectorBytes} * index;
  const std::size_t left = row_bytes - std::size_t{kVectorBytes} * index;
  const unsigned bytes = left < kVectorBytes ? static_cast<unsigned>(left) : kVectorBytes;
  const auto shift = static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(to) % kVectorBytes);
  const unsigned own = kVectorBytes - shift;  // bytes before the next multiple of 16
  if (shift == 0 && bytes == kVectorBytes) return store_once(to, vector);
  if (shift > 0 && lane > 0 && bytes >= own) {
    store_once(to - shift, joined(before, vector, own));
  } else {
    if (lane > 0) store_bf16(to - kVectorBytes, before, own, kVectorBytes);
    store_bf16(to, vector, 0, bytes < own ? bytes : own);
  }
  if (lane == kWarp - 1 || index + 1 == vectors) store_bf16(to, vector, own, bytes);
}

/// Stores nothing past the end of a row of `vectors`. All lanes of a warp must call, with consecutive
/// indices.
template <bool kAligned>
__device__ inline void store_row_vector(std::byte* row, std::size_t row_bytes, unsigned index,
                                        unsigned vectors, const Vector& vector) {
  if constexpr (kAligned) {
    if (index < vectors) store_once(row + std::size_t{kVectorBytes} * index, vector);
  } else {
    store_shifted(row, row_bytes, index, vectors, vector);
  }
}

}  // namespace headroom::cuda
