// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace headroom::cuda {

/// Replaces the CUDA runtime: one device, one stream, given work times.
struct FakeRuntime {
  double work_ns = 1000;           ///< time of one piece of work
  std::vector<std::size_t> ran{};  ///< arguments of put_work() in order of execution
  /// "hold" (our kernel), "event", "begin capture", "end capture", "upload", "graph".
  std::vector<std::string> calls{};

  void put_work(std::size_t which);
};

FakeRuntime& fake_runtime();
void reset_fake_runtime();

}  // namespace headroom::cuda
