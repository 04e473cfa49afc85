// SPDX-License-Identifier: Apache-2.0
#include "headroom_cuda/limits/walk.h"

#include <algorithm>

namespace headroom::cuda {
namespace {

constexpr std::size_t kTile = std::size_t{kWalkThreads} * kVectorsInFlight;
constexpr std::size_t kCopyTile = std::size_t{kCopyTileThreads} * kCopyTileVectors * kCopyTileTurns;

std::size_t rounded_up_quotient(std::size_t value, std::size_t divisor) {
  return (value + divisor - 1) / divisor;
}

}  // namespace

Walk walk_of(std::string_view pattern, std::size_t vectors, std::size_t stride, std::size_t passes,
             unsigned resident) {
  const bool copies = pattern == "copy_tiles";
  const std::size_t tile = copies ? kCopyTile : kTile;
  const std::size_t tiles = rounded_up_quotient(vectors, tile);
  Walk walk{
      vectors, stride, 0, static_cast<unsigned>(passes), 1, 1, copies ? kCopyTileThreads : kWalkThreads};
  if (copies || pattern == "tiles") {
    walk.chunk = tile;
    walk.team = static_cast<unsigned>(tiles);
    walk.blocks = static_cast<unsigned>(tiles * passes);
    return walk;
  }
  walk.team = static_cast<unsigned>(std::min<std::size_t>(resident, tiles));
  const std::size_t teams = std::min<std::size_t>(passes, resident / walk.team);
  walk.blocks = static_cast<unsigned>(teams * walk.team);
  if (pattern == "blocked") walk.chunk = rounded_up_quotient(tiles, walk.team) * kTile;
  return walk;
}

}  // namespace headroom::cuda
