// SPDX-License-Identifier: Apache-2.0
#include "headroom_cuda/limits/bandwidth_kernels.h"

#include <algorithm>

#include "headroom_cuda_device/cuda_check.h"

namespace headroom::cuda {
inline namespace bandwidth_kernels_cu {

/// Volatile: a second pass must read the memory again.
__device__ __forceinline__ uint4 load_once(const uint4* from) {
  uint4 value;
  asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(value.x), "=r"(value.y), "=r"(value.z), "=r"(value.w)
               : "l"(from));
  return value;
}

template <bool kEvictFirst>
__device__ __forceinline__ void store(uint4* to, uint4 value) {
  if constexpr (kEvictFirst) {
    asm volatile("st.global.cs.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(to), "r"(value.x), "r"(value.y),
                 "r"(value.z), "r"(value.w));
  } else {
    asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(to), "r"(value.x), "r"(value.y),
                 "r"(value.z), "r"(value.w));
  }
}

/// Calls batch(offset, step, is_there) for kVectors of this thread's vectors at a time.
template <unsigned kVectors, typename Batch>
__device__ __forceinline__ void walk_vectors(const Walk& walk, Batch batch) {
  const unsigned rank = blockIdx.x % walk.team;
  const std::size_t step = walk.chunk > 0 ? blockDim.x : std::size_t{walk.team} * blockDim.x;
  const std::size_t first =
      (walk.chunk > 0 ? rank * walk.chunk : std::size_t{rank} * blockDim.x) + threadIdx.x;
  const std::size_t end = walk.chunk > 0 ? min(walk.vectors, (rank + 1) * walk.chunk) : walk.vectors;
  for (unsigned pass = blockIdx.x / walk.team; pass < walk.passes; pass += gridDim.x / walk.team) {
    const std::size_t base = pass * walk.stride;
    std::size_t at = first;
    for (; at + (kVectors - 1) * step < end; at += kVectors * step) {
      batch(base + at, step, [](unsigned) { return true; });
    }
    if (at < end) batch(base + at, step, [&](unsigned i) { return at + i * step < end; });
  }
}

__global__ void fill_kernel(std::uint32_t* to, std::size_t count) {
  const std::size_t step = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step)
    to[i] = word_at(i);
}

__global__ void __launch_bounds__(kWalkThreads)
    read_kernel(const uint4* from, Walk walk, std::uint32_t* sums) {
  std::uint32_t sum = 0;
  walk_vectors<kVectorsInFlight>(walk, [&](std::size_t offset, std::size_t step, auto is_there) {
    uint4 values[kVectorsInFlight];
#pragma unroll
    for (unsigned i = 0; i < kVectorsInFlight; ++i) {
      values[i] = is_there(i) ? load_once(from + offset + i * step) : uint4{0, 0, 0, 0};
    }
#pragma unroll
    for (unsigned i = 0; i < kVectorsInFlight; ++i)
      sum += values[i].x + values[i].y + values[i].z + values[i].w;
  });
  sum = __reduce_add_sync(0xffffffffU, sum);
  if (threadIdx.x % 32 == 0) sums[(std::size_t{blockIdx.x} * kWalkThreads + threadIdx.x) / 32] = sum;
}

template <bool kEvictFirst>
__global__ void __launch_bounds__(kWalkThreads) write_kernel(uint4* to, Walk walk, std::uint32_t value) {
  walk_vectors<kVectorsInFlight>(walk, [&](std::size_t offset, std::size_t step, auto is_there) {
#pragma unroll
    for (unsigned i = 0; i < kVectorsInFlight; ++i) {
      if (is_there(i)) store<kEvictFirst>(to + offset + i * step, uint4{value, value, value, value});
    }
  });
}

template <bool kEvictFirst, unsigned kVectors>
__global__ void __launch_bounds__(kWalkThreads) copy_kernel(const uint4* from, uint4* to, Walk walk) {
  walk_vectors<kVectors>(walk, [&](std::size_t offset, std::size_t step, auto is_there) {
    uint4 values[kVectors];
#pragma unroll
    for (unsigned i = 0; i < kVectors; ++i) {
      if (is_there(i)) values[i] = load_once(from + offset + i * step);
    }
#pragma unroll
    for (unsigned i = 0; i < kVectors; ++i) {
      if (is_there(i)) store<kEvictFirst>(to + offset + i * step, values[i]);
    }
  });
}

}  // namespace bandwidth_kernels_cu

unsigned resident_blocks(int multiprocessors) {
  int blocks = 0;
  check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, read_kernel, kWalkThreads, 0),
        "cudaOccupancyMaxActiveBlocksPerMultiprocessor");
  return static_cast<unsigned>(std::max(1, blocks) * multiprocessors);
}

std::uint32_t sum_of_words(std::size_t first, std::size_t count) {
  // The sum of the indices modulo 2^32 needs first modulo 2^32 and count (count - 1) modulo 2^33.
  const std::uint64_t n = count;
  const std::uint64_t pairs = n % 2 == 0 ? n / 2 * (n - 1) : (n - 1) / 2 * n;
  const auto indices = static_cast<std::uint32_t>(static_cast<std::uint64_t>(first) * n + pairs);
  return indices * 2654435761U + static_cast<std::uint32_t>(n);
}

void fill_words(std::uint32_t* to, std::size_t count, cudaStream_t stream) {
  fill_kernel<<<1024, 256, 0, stream>>>(to, count);
  check_launch("fill_kernel");
}

void read_walk(const std::byte* from, const Walk& walk, std::uint32_t* sums, cudaStream_t stream) {
  read_kernel<<<walk.blocks, kWalkThreads, 0, stream>>>(reinterpret_cast<const uint4*>(from), walk, sums);
  check_launch("read_kernel");
}

void write_walk(std::byte* to, const Walk& walk, std::uint32_t value, bool evict_first, cudaStream_t stream) {
  const auto kernel = evict_first ? write_kernel<true> : write_kernel<false>;
  kernel<<<walk.blocks, kWalkThreads, 0, stream>>>(reinterpret_cast<uint4*>(to), walk, value);
  check_launch("write_kernel");
}

void copy_walk(const std::byte* from, std::byte* to, const Walk& walk, bool evict_first,
               cudaStream_t stream) {
  const auto kernel = walk.threads == kCopyTileThreads ? copy_kernel<true, kCopyTileVectors>
                      : evict_first                    ? copy_kernel<true, kVectorsInFlight>
                                                       : copy_kernel<false, kVectorsInFlight>;
  kernel<<<walk.blocks, walk.threads, 0, stream>>>(reinterpret_cast<const uint4*>(from),
                                                   reinterpret_cast<uint4*>(to), walk);
  check_launch("copy_kernel");
}

}  // namespace headroom::cuda
