// SPDX-License-Identifier: Apache-2.0
#include "headroom_cuda/kernels/stream_plan.h"

#include <fmt/format.h>

#include <utility>

namespace headroom::cuda {

std::size_t StreamPlan::shared_bytes(std::size_t rows, std::size_t columns) const {
  constexpr std::size_t kOfUnit = 32, kValueBytes = 2;
  const std::size_t groups = rows / kStreamGroup;
  const std::size_t rows_of_block = kStreamGroup * ((groups + blocks() - 1) / blocks());
  return depth * kOfUnit * threads + kValueBytes * columns +
         rows_of_block * (warps_of_team() + 1) * sizeof(float);
}

std::string StreamPlan::name() const {
  return fmt::format("{} block{} of {}, {} team{}, {} deep{}{}", blocks_each, blocks_each == 1 ? "" : "s",
                     threads, teams, teams == 1 ? "" : "s", depth, start == Start::kEarly ? kEarlySuffix : "",
                     late ? ", lets go late" : "");
}

std::vector<StreamPlan> stream_plans(unsigned processors, bool starts_early) {
  std::vector<StreamPlan> plans;
  for (const auto& [threads, blocks] : {std::pair{512U, 1U}, {256U, 2U}}) {
    for (const unsigned depth : kStreamDepths) {
      if (blocks > 1 && depth == kShallowStream) continue;
      for (const unsigned teams : {1U, 2U}) {
        StreamPlan plan;
        plan.threads = threads;
        plan.blocks_each = blocks;
        plan.teams = teams;
        plan.depth = depth;
        plan.start = starts_early ? Start::kEarly : Start::kBehindOther;
        plan.processors = processors;
        plans.push_back(plan);
      }
    }
  }
  return plans;
}

}  // namespace headroom::cuda
