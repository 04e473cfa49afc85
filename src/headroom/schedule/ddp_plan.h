// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "headroom/runner/ddp_protocol.h"

namespace headroom {

/// What a sweep goes over.
struct DdpSweep {
  DdpSetup base;  ///< what no list below varies
  std::vector<std::string> models{"resnet18"};
  std::vector<std::int64_t> bucket_bytes{25LL << 20};
  std::vector<int> ranks;  ///< empty: those of PyTorch's benchmark, as far as the world has them
  int world = 1;           ///< ranks that there are
  std::string trace;       ///< folder for traces; empty: none
};

/// One thing to measure.
struct DdpStep {
  std::string label;  ///< "warm-up", "no ddp", "1M/2G" as PyTorch's benchmark has it, "4 ranks"
  DdpSetup setup;
  bool is_warmup = false;  ///< run, and not told
  std::string trace{};     ///< folder for a trace of each rank; empty: none
};

/// PyTorch's benchmark: each rank by itself as a warm-up, rank 0 without DDP, then 1, 2 and 4 ranks, and
/// every multiple of 8, as far as the world has them. With a list of ranks these take the place of the
/// latter. Of several bucket sizes only what reduces is repeated. Throws Error where the world cannot hold a
/// rank count.
std::vector<DdpStep> ddp_plan(const DdpSweep& sweep);

}  // namespace headroom
