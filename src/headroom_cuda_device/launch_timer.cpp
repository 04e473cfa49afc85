// SPDX-License-Identifier: Apache-2.0
#include "headroom_cuda_device/launch_timer.h"

#include <algorithm>

#include "headroom_cuda_device/cuda_check.h"

namespace headroom::cuda {
namespace {

/// Cuts `period` into `blocks` of about equal length.
std::size_t end_of_block(std::size_t position, std::size_t period, std::size_t blocks) {
  std::size_t next = position * blocks / period + 1;
  while (next * period / blocks <= position) ++next;
  return next * period / blocks;
}

/// A launch in a graph costs the driver about a kilobyte.
constexpr std::size_t kMostLaunchesKept = std::size_t{1} << 15;

/// Above this, the microsecond between host launches is negligible.
constexpr double kLongNs = 200e3;
/// More gain nothing and take longer to capture.
constexpr std::size_t kMostLaunchesPerGraph = 256;
/// The host blocks after about a thousand launches, behind a closed gate until the time-out.
constexpr std::uint64_t kBehindTheGate = 32;

}  // namespace

std::vector<GraphRuns> plan_sample(std::uint64_t iterations, std::size_t first_copy, std::size_t copies,
                                   std::size_t most) {
  // Rounds of the copies that fit into a graph, or one round cut into graphs.
  const std::size_t period = copies <= most ? most / copies * copies : copies;
  const std::size_t blocks = (period + most - 1) / most;
  std::vector<GraphRuns> plan;
  std::size_t position = first_copy;
  while (iterations > 0) {
    const std::size_t left = end_of_block(position, period, blocks) - position;
    const auto launches = static_cast<std::size_t>(std::min<std::uint64_t>(iterations, left));
    const std::uint64_t runs = launches == period ? iterations / period : 1;
    plan.push_back({{position % copies, launches}, runs});
    iterations -= launches * runs;
    position = (position + launches) % period;
  }
  return plan;
}

std::size_t copy_after(std::size_t first_copy, std::uint64_t iterations, std::size_t copies) {
  return static_cast<std::size_t>((first_copy + iterations % copies) % copies);
}

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
  // Otherwise the first launch uploads it.
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

LaunchTimer::LaunchTimer(Device& device, const Launch& launch, std::size_t copies, RunWrapper around_capture,
                         Capture capture)
    : device_(device),
      launch_(launch),
      copies_(copies),
      graphs_(launch, copies, device.stream(), std::move(around_capture)) {
  check(cudaEventCreate(&start_), "cudaEventCreate");
  check(cudaEventCreate(&stop_), "cudaEventCreate");
  time_one();  // loads code
  is_long_ = capture == Capture::kNone || time_one() > kLongNs;
}

LaunchTimer::~LaunchTimer() {
  cudaEventDestroy(start_);
  cudaEventDestroy(stop_);
}

double LaunchTimer::time(std::uint64_t iterations) {
  if (iterations == 1) return time_one();
  return is_long_ ? time_launches(iterations) : time_graphs(iterations);
}

double LaunchTimer::time_one() {
  check(cudaEventRecord(start_, device_.stream()), "cudaEventRecord");
  launch_next();
  check(cudaEventRecord(stop_, device_.stream()), "cudaEventRecord");
  return elapsed_ns();
}

double LaunchTimer::time_launches(std::uint64_t iterations) {
  gate_.close(device_.stream());
  check(cudaEventRecord(start_, device_.stream()), "cudaEventRecord");
  for (std::uint64_t i = 0; i < iterations; ++i) {
    if (i == kBehindTheGate) gate_.open();
    launch_next();
  }
  check(cudaEventRecord(stop_, device_.stream()), "cudaEventRecord");
  gate_.open();
  return elapsed_ns();
}

double LaunchTimer::time_graphs(std::uint64_t iterations) {
  const std::vector<GraphRuns> plan = plan_sample(iterations, next_copy_, copies_, kMostLaunchesPerGraph);
  graphs_.prepare(plan);
  next_copy_ = copy_after(next_copy_, iterations, copies_);
  gate_.close(device_.stream());
  check(cudaEventRecord(start_, device_.stream()), "cudaEventRecord");
  std::uint64_t launched = 0;
  for (const GraphRuns& part : plan) {
    for (std::uint64_t run = 0; run < part.runs; ++run) {
      if (++launched > kBehindTheGate) gate_.open();
      graphs_.run(part.shape);
    }
  }
  check(cudaEventRecord(stop_, device_.stream()), "cudaEventRecord");
  gate_.open();
  return elapsed_ns();
}

void LaunchTimer::launch_next() {
  launch_(next_copy_, device_.stream());
  next_copy_ = copy_after(next_copy_, 1, copies_);
}

double LaunchTimer::elapsed_ns() {
  check(cudaEventSynchronize(stop_), "cudaEventSynchronize");
  gate_.timed_out();
  float milliseconds = 0;
  check(cudaEventElapsedTime(&milliseconds, start_, stop_), "cudaEventElapsedTime");
  return static_cast<double>(milliseconds) * 1e6;
}

void measure_on_device(State& state, Device& device, const Launch& launch, RunWrapper around_capture,
                       Capture capture) {
  LaunchTimer timer(device, launch, state.copies(), std::move(around_capture), capture);
  state.note("launches", timer.launches_one_by_one() ? "one by one" : "captured into graphs");
  state.measure_batches([&](std::uint64_t iterations) { return timer.time(iterations); });
}

}  // namespace headroom::cuda
