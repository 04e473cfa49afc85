// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace headroom::torch_runner {

/// What the first bucket holds at most, so that the first reduction starts early: as PyTorch's DDP has it.
inline constexpr std::int64_t kFirstBucketBytes = 1 << 20;

/// Which gradients share a bucket: `order` cut into buckets, each closed once it holds its limit or more
/// (kFirstBucketBytes or `limit` for the first, whichever is less). `bytes` is by index.
std::vector<std::vector<std::size_t>> plan_buckets(const std::vector<std::size_t>& order,
                                                   const std::vector<std::int64_t>& bytes,
                                                   std::int64_t limit);

}  // namespace headroom::torch_runner
