// SPDX-License-Identifier: Apache-2.0
#include "headroom_torch/ddp/bucket_plan.h"

#include <algorithm>

namespace headroom::torch_runner {

std::vector<std::vector<std::size_t>> plan_buckets(const std::vector<std::size_t>& order,
                                                   const std::vector<std::int64_t>& bytes,
                                                   std::int64_t limit) {
  std::vector<std::vector<std::size_t>> buckets;
  std::int64_t held = 0;
  bool open = false;
  for (const std::size_t index : order) {
    if (!open) {
      buckets.emplace_back();
      held = 0;
    }
    buckets.back().push_back(index);
    held += bytes[index];
    const std::int64_t most = buckets.size() == 1 ? std::min(kFirstBucketBytes, limit) : limit;
    open = held < most;
  }
  return buckets;
}

}  // namespace headroom::torch_runner
