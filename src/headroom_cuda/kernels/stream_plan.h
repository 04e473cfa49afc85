// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "headroom_cuda/kernels/launch_start.h"

namespace headroom::cuda {

constexpr unsigned kStreamedThreads = 512;  ///< of a block, at most
constexpr unsigned kStreamGroup = 8;        ///< rows that a warp has at a time
constexpr unsigned kStreamUnit = 128;       ///< bytes of each of them
/// Units that it has under way, 32 bytes each for a lane: as many as fit the newer of devices, or the older,
/// or so few that the blocks of two launches fit a multiprocessor.
constexpr unsigned kDeepStream = 11, kMiddleStream = 8, kShallowStream = 5;
constexpr unsigned kStreamDepths[] = {kDeepStream, kMiddleStream, kShallowStream};

/// How rows are streamed: which is fastest, timing decides.
struct StreamPlan {
  unsigned threads = 512;    ///< of a block
  unsigned blocks_each = 1;  ///< blocks of a multiprocessor
  unsigned teams = 1;        ///< of a block
  unsigned depth = kDeepStream;
  Start start = Start::kBehindOther;
  bool late = false;  ///< lets the next launch start when the last loads are under way
  unsigned processors = 1;

  unsigned blocks() const { return processors * blocks_each; }
  unsigned warps_of_team() const { return threads / teams / 32; }
  /// Of shared memory for a block, where all of them stream `rows` of `columns` values.
  std::size_t shared_bytes(std::size_t rows, std::size_t columns) const;
  std::string name() const;  ///< "2 blocks of 256, 2 teams, 8 deep, early"
};

/// Those worth timing on a device of so many multiprocessors, which starts launches early or does not. Each
/// of the former may let go late, too.
std::vector<StreamPlan> stream_plans(unsigned processors, bool starts_early);

}  // namespace headroom::cuda
