// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace headroom::cuda {

/// `passes` passes over `vectors` vectors of 16 bytes. A team of blocks shares a pass.
struct Walk {
  std::size_t vectors = 0;  ///< in one pass
  std::size_t stride = 0;   ///< from the start of one pass to the next; 0: the same memory
  std::size_t chunk = 0;    ///< consecutive vectors of one block; 0: neighbouring blocks alternate
  unsigned passes = 1;
  unsigned team = 1;     ///< blocks per pass
  unsigned blocks = 1;   ///< total; a multiple of team
  unsigned threads = 0;  ///< per block
};

constexpr unsigned kWalkThreads = 256;
/// 4 to 8 blocks have 128 KiB per multiprocessor in flight, about HBM bandwidth times latency.
constexpr unsigned kVectorsInFlight = 8;
/// Copies are fastest in small tiles.
constexpr unsigned kCopyTileThreads = 128, kCopyTileVectors = 2, kCopyTileTurns = 2;

/// "linear": `resident` blocks, neighbours on neighbouring vectors. "blocked": each block on its own range.
/// "tiles": a block per 32 KiB; "copy_tiles": per 8 KiB. `vectors`, `passes` and `resident` must be positive.
Walk walk_of(std::string_view pattern, std::size_t vectors, std::size_t stride, std::size_t passes,
             unsigned resident);

/// Of the bandwidth kernels. Throws Error.
unsigned resident_blocks(int multiprocessors);

/// All bits vary, and the sum of a range has a closed form.
constexpr std::uint32_t word_at(std::size_t index) {
  return static_cast<std::uint32_t>(index) * 2654435761U + 1U;
}
/// Modulo 2^32.
std::uint32_t sum_of_words(std::size_t first, std::size_t count);

void fill_words(std::uint32_t* to, std::size_t count, cudaStream_t stream);

/// sums[w]: of the words that warp w read, modulo 2^32 (warps_of(walk) sums).
void read_walk(const std::byte* from, const Walk& walk, std::uint32_t* sums, cudaStream_t stream);
constexpr std::size_t warps_of(const Walk& walk) {
  return std::size_t{walk.blocks} * (walk.threads / 32);
}

/// `evict_first` marks the lines for early eviction from L2.
void write_walk(std::byte* to, const Walk& walk, std::uint32_t value, bool evict_first, cudaStream_t stream);

void copy_walk(const std::byte* from, std::byte* to, const Walk& walk, bool evict_first, cudaStream_t stream);

}  // namespace headroom::cuda
