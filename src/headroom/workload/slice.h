// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace headroom {

/// Units [begin, end) of some work.
struct Slice {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::size_t size() const { return end - begin; }
};

/// What `worker` of `workers` handles of `count` units: slices are contiguous, in order, and differ by one
/// unit at most. Every kernel and every limit splits in this way, so that they touch the same pages from the
/// same CPUs.
inline Slice slice_of(std::size_t count, int worker, int workers) {
  const auto index = static_cast<std::size_t>(worker);
  const auto parts = static_cast<std::size_t>(workers);
  const std::size_t share = count / parts;
  const std::size_t longer = count % parts;  // the first slices are one unit longer
  const std::size_t begin = index * share + (index < longer ? index : longer);
  return {begin, begin + share + (index < longer ? 1 : 0)};
}

}  // namespace headroom
