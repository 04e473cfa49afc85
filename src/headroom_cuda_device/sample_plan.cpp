// SPDX-License-Identifier: Apache-2.0
#include "headroom_cuda_device/sample_plan.h"

#include <algorithm>

namespace headroom::cuda {
namespace {

/// Where the block of `position` ends, with `period` cut into `blocks` of about equal length.
std::size_t end_of_block(std::size_t position, std::size_t period, std::size_t blocks) {
  std::size_t next = position * blocks / period + 1;
  while (next * period / blocks <= position) ++next;
  return next * period / blocks;
}

}  // namespace

std::vector<GraphRuns> plan_sample(std::uint64_t iterations, std::size_t first_copy, std::size_t copies,
                                   std::size_t most) {
  // A period is as many turns through the copies as fit into a graph, or one turn cut into graphs.
  const std::size_t period = copies <= most ? most / copies * copies : copies;
  const std::size_t blocks = (period + most - 1) / most;
  std::vector<GraphRuns> plan;
  std::size_t position = first_copy;
  while (iterations > 0) {
    const std::size_t left = end_of_block(position, period, blocks) - position;
    const auto launches = static_cast<std::size_t>(std::min<std::uint64_t>(iterations, left));
    const std::uint64_t runs = launches == period ? iterations / period : 1;
    plan.push_back({{position % copies, launches}, runs});
    iterations -= launches * runs;
    position = (position + launches) % period;
  }
  return plan;
}

std::size_t copy_after(std::size_t first_copy, std::uint64_t iterations, std::size_t copies) {
  return static_cast<std::size_t>((first_copy + iterations % copies) % copies);
}

}  // namespace headroom::cuda
