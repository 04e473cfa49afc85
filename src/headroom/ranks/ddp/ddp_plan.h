// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace headroom {

/// What a sweep of data-parallel training goes over.
struct DdpSweep {
  std::vector<std::string> models{"resnet18"};
  std::vector<std::int64_t> bucket_bytes{25LL << 20};
  std::vector<int> ranks;            ///< empty: those of PyTorch's benchmark, as far as the world has them
  int world = 1;                     ///< ranks that there are
  std::string reducer = "headroom";  ///< or "c10d", libtorch's own
  std::string trace;                 ///< folder for traces; empty: none
};

/// One way to train a model.
struct DdpStep {
  std::string label;  ///< "no ddp", "1M/2G" as PyTorch's benchmark has it, "4 ranks"
  int ranks = 1;
  bool ddp = true;
  std::int64_t bucket_bytes = 0;  ///< without DDP of no meaning
  std::string trace{};            ///< folder for a trace of each rank; empty: none
};

/// PyTorch's benchmark: rank 0 without DDP, then 1, 2 and 4 ranks, and every multiple of 8, as far as the
/// world has them. With a list of ranks these take the place of the latter. Of several bucket sizes only what
/// reduces is repeated. Throws Error where the world cannot hold a rank count.
std::vector<DdpStep> ddp_steps(const DdpSweep& sweep, const std::string& model);

}  // namespace headroom
