// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "headroom/experiment/state.h"
#include "headroom_cuda_device/device.h"
#include "headroom_cuda_device/stream_gate.h"

namespace headroom::cuda {

/// Enqueues an iteration on input copy `copy`. May be captured: must not allocate or synchronise.
using Launch = std::function<void(std::size_t copy, cudaStream_t stream)>;

/// Launches on input copies first_copy, first_copy + 1, ... modulo their number.
struct GraphShape {
  std::size_t first_copy = 0;
  std::size_t launches = 0;

  auto operator<=>(const GraphShape&) const = default;
};
struct GraphRuns {
  GraphShape shape;
  std::uint64_t runs = 0;

  bool operator==(const GraphRuns&) const = default;
};

/// Splits a sample into graphs of at most `most` launches: full ones start at fixed copies, shorter ones fill
/// both ends. Requires copies > 0, most > 0, first_copy < copies.
std::vector<GraphRuns> plan_sample(std::uint64_t iterations, std::size_t first_copy, std::size_t copies,
                                   std::size_t most);

std::size_t copy_after(std::size_t first_copy, std::uint64_t iterations, std::size_t copies);

struct DestroyGraph {
  void operator()(cudaGraph_t graph) const { cudaGraphDestroy(graph); }
  void operator()(cudaGraphExec_t graph) const { cudaGraphExecDestroy(graph); }
};
using CapturedGraph = std::unique_ptr<std::remove_pointer_t<cudaGraph_t>, DestroyGraph>;
using GraphExecutable = std::unique_ptr<std::remove_pointer_t<cudaGraphExec_t>, DestroyGraph>;

/// Ends the capture if `launches` throws.
CapturedGraph capture(cudaStream_t stream, const std::function<void()>& launches);
/// Instantiates and uploads; ready when `stream` is done. Throws Error.
GraphExecutable executable_of(const CapturedGraph& graph, cudaStream_t stream);

/// Graphs by shape. A kernel of a few microseconds takes longer to launch than to run; graphs of hundreds
/// keep the device busy.
class LaunchGraphs {
 public:
  /// `launch` and the stream must outlive this. `around_capture` wraps captures, for allocators that must
  /// know.
  LaunchGraphs(const Launch& launch, std::size_t copies, cudaStream_t stream, RunWrapper around_capture = {})
      : launch_(launch), copies_(copies), stream_(stream), around_capture_(std::move(around_capture)) {}

  /// Drops earlier graphs when many are kept. Throws Error.
  void prepare(std::span<const GraphRuns> plan);
  void run(const GraphShape& shape);

 private:
  GraphExecutable captured(const GraphShape& shape);
  void drop_others(std::span<const GraphRuns> plan);

  const Launch& launch_;
  std::size_t copies_;
  cudaStream_t stream_;
  RunWrapper around_capture_;
  std::map<GraphShape, GraphExecutable> graphs_;
  std::size_t launches_ = 0;  ///< in all graphs
};

/// kNone: for launches that depend on earlier ones or are graphs themselves.
enum class Capture { kShort, kNone };

/// Times between two device events: short iterations as graphs, long ones one by one. Rotates the input
/// copies from call to call.
class LaunchTimer {
 public:
  /// `device` and `launch` must outlive this. Launches some iterations to see whether they are long.
  LaunchTimer(Device& device, const Launch& launch, std::size_t copies, RunWrapper around_capture = {},
              Capture capture = Capture::kShort);
  ~LaunchTimer();
  LaunchTimer(const LaunchTimer&) = delete;
  LaunchTimer& operator=(const LaunchTimer&) = delete;

  /// Total device ns. A single iteration is launched directly: a tracer sees its kernels and runtime calls.
  double time(std::uint64_t iterations);
  bool launches_one_by_one() const { return is_long_; }

 private:
  double time_one();
  double time_launches(std::uint64_t iterations);
  double time_graphs(std::uint64_t iterations);
  void launch_next();
  double elapsed_ns();

  Device& device_;
  const Launch& launch_;
  std::size_t copies_;
  std::size_t next_copy_ = 0;
  LaunchGraphs graphs_;
  StreamGate gate_;
  cudaEvent_t start_ = nullptr;
  cudaEvent_t stop_ = nullptr;
  bool is_long_ = false;
};

/// Measures until the case is released, rotating over state.copies(). Notes whether launches are captured.
void measure_on_device(State& state, Device& device, const Launch& launch, RunWrapper around_capture = {},
                       Capture capture = Capture::kShort);

}  // namespace headroom::cuda
