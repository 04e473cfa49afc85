// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <map>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>

#include "headroom/experiment/state.h"
#include "headroom_cuda_device/launch.h"
#include "headroom_cuda_device/sample_plan.h"

namespace headroom::cuda {

/// Graphs of captured launches, kept by what they are made of: a kernel of a few microseconds takes the host
/// longer to launch than the device to run, a graph of hundreds of them does not.
class LaunchGraphs {
 public:
  /// `launch` and the stream must outlive this. `around_capture` calls the function that it is given, which
  /// captures launches; empty: nothing needs to know.
  LaunchGraphs(const Launch& launch, std::size_t copies, cudaStream_t stream, Surround around_capture = {})
      : launch_(launch), copies_(copies), stream_(stream), around_capture_(std::move(around_capture)) {}

  /// Captures and instantiates what `plan` needs and is not there, so that run() only launches. Drops graphs
  /// of earlier plans where there are many. Throws Error.
  void prepare(std::span<const GraphRuns> plan);
  /// Launches a graph that was prepared.
  void run(const GraphShape& shape);

 private:
  struct Destroy {
    void operator()(cudaGraphExec_t graph) const { cudaGraphExecDestroy(graph); }
  };
  using Executable = std::unique_ptr<std::remove_pointer_t<cudaGraphExec_t>, Destroy>;

  Executable captured(const GraphShape& shape);
  void drop_others(std::span<const GraphRuns> plan);

  const Launch& launch_;
  std::size_t copies_;
  cudaStream_t stream_;
  Surround around_capture_;
  std::map<GraphShape, Executable> graphs_;
  std::size_t launches_ = 0;  ///< in all graphs together
};

}  // namespace headroom::cuda
