// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>

#include "headroom/experiment/state.h"
#include "headroom_cuda_device/launch.h"
#include "headroom_cuda_device/sample_plan.h"

namespace headroom::cuda {

struct DestroyGraph {
  void operator()(cudaGraph_t graph) const { cudaGraphDestroy(graph); }
  void operator()(cudaGraphExec_t graph) const { cudaGraphExecDestroy(graph); }
};
using CapturedGraph = std::unique_ptr<std::remove_pointer_t<cudaGraph_t>, DestroyGraph>;
using GraphExecutable = std::unique_ptr<std::remove_pointer_t<cudaGraphExec_t>, DestroyGraph>;

/// What `launches` puts into the stream, as a graph. A stream does not stay in capture where they throw.
CapturedGraph capture(cudaStream_t stream, const std::function<void()>& launches);
/// Ready to be launched, once what `stream` has is done. Throws Error.
GraphExecutable executable_of(const CapturedGraph& graph, cudaStream_t stream);

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
  GraphExecutable captured(const GraphShape& shape);
  void drop_others(std::span<const GraphRuns> plan);

  const Launch& launch_;
  std::size_t copies_;
  cudaStream_t stream_;
  Surround around_capture_;
  std::map<GraphShape, GraphExecutable> graphs_;
  std::size_t launches_ = 0;  ///< in all graphs together
};

}  // namespace headroom::cuda
