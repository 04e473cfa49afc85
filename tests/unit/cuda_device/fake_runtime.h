// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace headroom::cuda {

/// In place of CUDA's runtime, which a program that is linked with headroom_cuda_device chooses: one device,
/// one stream, on which work takes the time that it is said to take.
struct FakeRuntime {
  double work_ns = 1000;           ///< that one piece of work takes on the device
  std::vector<std::size_t> ran{};  ///< which work the device did, in order: what put_work() was given
  /// What was asked of it: "hold" (a kernel of ours), "event", "begin capture", "end capture", "upload",
  /// "graph".
  std::vector<std::string> calls{};

  /// Puts work into the stream, or into the graph that it captures.
  void put_work(std::size_t which);
};

FakeRuntime& fake_runtime();
/// Resets the runtime to its initial state.
void reset_fake_runtime();

}  // namespace headroom::cuda
