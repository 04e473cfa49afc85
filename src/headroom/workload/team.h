// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <thread>
#include <vector>

namespace headroom {

/// Units [begin, end).
struct Slice {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::size_t size() const { return end - begin; }
};

/// Slices are contiguous, in order, and differ by at most one unit. All kernels and limits split like this,
/// so that they touch the same pages from the same CPUs.
inline Slice slice_of(std::size_t count, int worker, int workers) {
  const auto index = static_cast<std::size_t>(worker);
  const auto parts = static_cast<std::size_t>(workers);
  const std::size_t share = count / parts;
  const std::size_t longer = count % parts;  // the first slices are one unit longer
  const std::size_t begin = index * share + (index < longer ? index : longer);
  return {begin, begin + share + (index < longer ? 1 : 0)};
}

/// Runs body(worker, workers) on several threads at once and returns when all are done. `body` must not
/// throw.
using Team = std::function<void(const std::function<void(int worker, int workers)>& body)>;

/// Makes a team with new threads for each task: for set-up, never for timed work.
inline Team fresh_threads(int workers) {
  return [workers](const std::function<void(int, int)>& body) {
    std::vector<std::jthread> others;
    for (int worker = 1; worker < workers; ++worker) {
      others.emplace_back([&body, worker, workers] { body(worker, workers); });
    }
    body(0, workers);
  };
}

}  // namespace headroom
