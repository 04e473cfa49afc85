// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "headroom_cuda/kernels/device_ops.cuh"

/// A row of a matrix in vectors of 16 bytes from its own beginning, wherever in memory that is.
namespace headroom::cuda {

/// The 16 bytes that begin `shift` bytes (0 to 15) into `low`, which lies before `high`. `shift` is the same
/// for a whole row, so that the branches are not divergent.
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

/// Zero from byte `bytes` on.
__device__ inline void keep_first(Vector& vector, unsigned bytes) {
#pragma unroll
  for (unsigned i = 0; i < 4; ++i) {
    if (bytes < 4 * i + 4) {
      vector.words[i] = bytes > 4 * i ? vector.words[i] & ((1U << (8 * (bytes - 4 * i))) - 1) : 0;
    }
  }
}

/// Up to 16 bytes from `from`, byte by byte; zeros behind them.
__device__ inline Vector load_bytes(const std::byte* from, unsigned bytes) {
  Vector result{};
#pragma unroll
  for (unsigned i = 0; i < kVectorBytes; ++i) {
    if (i < bytes) result.words[i / 4] |= static_cast<std::uint32_t>(from[i]) << (8 * (i % 4));
  }
  return result;
}

/// Vector `index` of a row of `row_bytes` bytes from `row` on; what is behind the end of the row is zero.
/// Reads nothing from `end` on, the end of the memory that the row is in, which begins at a multiple of 16
/// bytes. kAligned: `row` and `row_bytes` are multiples of 16 bytes. Else two loads make one vector; the
/// second hits the first-level cache.
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

/// Bytes [first, last) of a vector of bf16, to where byte 0 would be `to`.
__device__ inline void store_bf16(std::byte* to, const Vector& vector, unsigned first, unsigned last) {
#pragma unroll
  for (unsigned i = 0; i < kVectorBytes / 2; ++i) {
    if (2 * i < first || 2 * i >= last) continue;
    const auto value = static_cast<std::uint16_t>(vector.words[i / 2] >> (16 * (i % 2)));
    *reinterpret_cast<std::uint16_t*>(to + 2 * i) = value;
  }
}

/// The part of store_row_vector for rows that begin anywhere: the lanes of a warp hold vectors that follow
/// one another. Each takes what its vector lacks to a multiple of 16 bytes from the lane before it.
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
  const unsigned own = kVectorBytes - shift;  // of its bytes come before the next multiple
  if (shift == 0 && bytes == kVectorBytes) return store_once(to, vector);
  if (shift > 0 && lane > 0 && bytes >= own) {
    store_once(to - shift, joined(before, vector, own));
  } else {
    if (lane > 0) store_bf16(to - kVectorBytes, before, own, kVectorBytes);
    store_bf16(to, vector, 0, bytes < own ? bytes : own);
  }
  if (lane == kWarp - 1 || index + 1 == vectors) store_bf16(to, vector, own, bytes);
}

/// Writes vector `index` of the `vectors` of a row of bf16; nothing for an index behind them. Every lane of a
/// warp calls, with indices that follow one another.
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
