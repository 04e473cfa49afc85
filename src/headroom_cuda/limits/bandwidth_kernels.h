// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace headroom::cuda {

/// How the blocks of a bandwidth kernel walk over memory: `passes` passes over `vectors` vectors of 16 bytes.
/// A team of blocks shares a pass.
struct Walk {
  std::size_t vectors = 0;  ///< in one pass
  std::size_t stride = 0;   ///< from the start of one pass to that of the next; 0: the same memory again
  std::size_t chunk = 0;    ///< consecutive vectors of one block; 0: neighbouring blocks take turns
  unsigned passes = 1;
  unsigned team = 1;     ///< blocks of one pass
  unsigned blocks = 1;   ///< in all; a multiple of team
  unsigned threads = 0;  ///< of a block
};

constexpr unsigned kWalkThreads = 256;
/// Vectors in flight of a thread: with 4 to 8 blocks a multiprocessor has 128 KiB in flight, about the
/// product of HBM's bandwidth and latency.
constexpr unsigned kVectorsInFlight = 8;
/// Copies are fastest in small tiles: kCopyTileTurns times kCopyTileVectors vectors for each thread of a
/// block.
constexpr unsigned kCopyTileThreads = 128, kCopyTileVectors = 2, kCopyTileTurns = 2;

/// "linear": as many blocks as the device runs at a time (`resident`), neighbouring threads and blocks on
/// neighbouring vectors. "blocked": as many, each on memory of its own. "tiles": a block for each 32 KiB,
/// begun as others end; "copy_tiles": the same for each 8 KiB. `vectors`, `passes` and `resident` are
/// positive.
Walk walk_of(std::string_view pattern, std::size_t vectors, std::size_t stride, std::size_t passes,
             unsigned resident);

/// Number of resident blocks of the bandwidth kernels. Throws Error.
unsigned resident_blocks(int multiprocessors);

/// Word `index` of fill_words(): all bits vary, and the sum of any range is known.
constexpr std::uint32_t word_at(std::size_t index) {
  return static_cast<std::uint32_t>(index) * 2654435761U + 1U;
}
/// The sum of `count` words from word `first` on, modulo 2^32.
std::uint32_t sum_of_words(std::size_t first, std::size_t count);

/// Writes word_at(0), word_at(1), … to `count` words.
void fill_words(std::uint32_t* to, std::size_t count, cudaStream_t stream);

/// Reads by `walk`. sums[w] becomes the sum, modulo 2^32, of the words that warp w read; there is one for
/// each warp of all blocks.
void read_walk(const std::byte* from, const Walk& walk, std::uint32_t* sums, cudaStream_t stream);
constexpr std::size_t warps_of(const Walk& walk) {
  return std::size_t{walk.blocks} * (walk.threads / 32);
}

/// Writes `value` to every word; `evict_first` marks the lines for early eviction from the L2.
void write_walk(std::byte* to, const Walk& walk, std::uint32_t value, bool evict_first, cudaStream_t stream);

/// Copies pass p of `from` to pass p of `to`.
void copy_walk(const std::byte* from, std::byte* to, const Walk& walk, bool evict_first, cudaStream_t stream);

}  // namespace headroom::cuda
