// SPDX-License-Identifier: Apache-2.0
#include "headroom_cuda_device/launch_graphs.h"

#include <algorithm>

#include "headroom_cuda_device/cuda_check.h"

namespace headroom::cuda {
namespace {

/// A launch in a graph takes the driver about a kilobyte.
constexpr std::size_t kMostLaunchesKept = std::size_t{1} << 15;

}  // namespace

CapturedGraph capture(cudaStream_t stream, const std::function<void()>& launches) {
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
  cudaGraph_t graph = nullptr;
  try {
    launches();
  } catch (...) {
    cudaStreamEndCapture(stream, &graph);
    cudaGraphDestroy(graph);
    throw;
  }
  check(cudaStreamEndCapture(stream, &graph), "cudaStreamEndCapture");
  return CapturedGraph(graph);
}

GraphExecutable executable_of(const CapturedGraph& graph, cudaStream_t stream) {
  cudaGraphExec_t executable = nullptr;
  check(cudaGraphInstantiate(&executable, graph.get(), 0), "cudaGraphInstantiate");
  GraphExecutable owned(executable);
  // Else the first launch of it does.
  check(cudaGraphUpload(executable, stream), "cudaGraphUpload");
  return owned;
}

void LaunchGraphs::prepare(std::span<const GraphRuns> plan) {
  bool any = false;
  for (const GraphRuns& part : plan) {
    if (graphs_.contains(part.shape)) continue;
    if (launches_ + part.shape.launches > kMostLaunchesKept) drop_others(plan);
    graphs_.emplace(part.shape, captured(part.shape));
    launches_ += part.shape.launches;
    any = true;
  }
  if (any) check(cudaStreamSynchronize(stream_), "uploading graphs");
}

void LaunchGraphs::run(const GraphShape& shape) {
  check(cudaGraphLaunch(graphs_.at(shape).get(), stream_), "cudaGraphLaunch");
}

GraphExecutable LaunchGraphs::captured(const GraphShape& shape) {
  CapturedGraph graph;
  const auto take = [&] {
    graph = capture(stream_, [&] {
      for (std::size_t i = 0; i < shape.launches; ++i) launch_((shape.first_copy + i) % copies_, stream_);
    });
  };
  around_capture_ ? around_capture_(take) : take();
  return executable_of(graph, stream_);
}

void LaunchGraphs::drop_others(std::span<const GraphRuns> plan) {
  std::erase_if(graphs_, [&](const auto& entry) {
    if (std::ranges::find(plan, entry.first, &GraphRuns::shape) != plan.end()) return false;
    launches_ -= entry.first.launches;
    return true;
  });
}

}  // namespace headroom::cuda
