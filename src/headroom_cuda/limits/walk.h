// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>

namespace headroom::cuda {

/// How the blocks of a bandwidth kernel walk over memory, in vectors of 16 bytes: `passes` passes over
/// `vectors` of them, each of which a team of blocks shares.
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
/// Vectors that a thread has in flight: with 4 to 8 blocks a multiprocessor has 128 KiB on the way, which is
/// what HBM's bandwidth times its latency comes to.
constexpr unsigned kVectorsInFlight = 8;
/// Copies are fastest in small tiles: blocks of so many threads, each with two vectors at a time, twice.
constexpr unsigned kCopyTileThreads = 128, kCopyTileVectors = 2, kCopyTileTurns = 2;

/// "linear": as many blocks as the device runs at a time (`resident`), neighbouring threads and blocks on
/// neighbouring vectors. "blocked": as many, each on memory of its own. "tiles": a block for each 32 KiB,
/// begun as others end; "copy_tiles": the same for each 8 KiB. `vectors`, `passes` and `resident` are
/// positive.
Walk walk_of(std::string_view pattern, std::size_t vectors, std::size_t stride, std::size_t passes,
             unsigned resident);

}  // namespace headroom::cuda
