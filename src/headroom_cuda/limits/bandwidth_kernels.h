// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "headroom_cuda/limits/walk.h"

namespace headroom::cuda {

/// Blocks of the bandwidth kernels that the device runs at a time. Throws Error.
unsigned resident_blocks(int multiprocessors);

/// Word i of what fill_words writes: all bits vary, and the sum of any range is known.
constexpr std::uint32_t word_at(std::size_t index) {
  return static_cast<std::uint32_t>(index) * 2654435761U + 1U;
}
/// The sum of `count` words from word `first` on, modulo 2^32.
std::uint32_t sum_of_words(std::size_t first, std::size_t count);

/// Writes word_at(0), word_at(1), … to `count` words.
void fill_words(std::uint32_t* to, std::size_t count, cudaStream_t stream);

/// Reads what `walk` says. sums[w] becomes the sum, modulo 2^32, of the words that warp w read: one for each
/// warp of the walk's blocks.
void read_walk(const std::byte* from, const Walk& walk, std::uint32_t* sums, cudaStream_t stream);
constexpr std::size_t warps_of(const Walk& walk) {
  return std::size_t{walk.blocks} * (walk.threads / 32);
}

/// Writes `value` to every word; `evict_first` marks the lines as those that the L2 gives up first.
void write_walk(std::byte* to, const Walk& walk, std::uint32_t value, bool evict_first, cudaStream_t stream);

/// Copies; pass p of `to` from pass p of `from`.
void copy_walk(const std::byte* from, std::byte* to, const Walk& walk, bool evict_first, cudaStream_t stream);

}  // namespace headroom::cuda
