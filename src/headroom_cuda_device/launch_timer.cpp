// SPDX-License-Identifier: Apache-2.0
#include "headroom_cuda_device/launch_timer.h"

#include <utility>
#include <vector>

#include "headroom_cuda_device/cuda_check.h"

namespace headroom::cuda {
namespace {

/// From here on the microsecond between two launches from the host is below what is measured.
constexpr double kLongNs = 200e3;
/// More gain nothing, and take longer to capture.
constexpr std::size_t kMostLaunchesPerGraph = 256;
/// A stream takes a thousand or so before the host has to wait, which a closed gate would make endless.
constexpr std::uint64_t kBehindTheGate = 32;

}  // namespace

LaunchTimer::LaunchTimer(Device& device, const Launch& launch, std::size_t copies, Surround around_capture,
                         Capture capture)
    : device_(device),
      launch_(launch),
      copies_(copies),
      graphs_(launch, copies, device.stream(), std::move(around_capture)) {
  check(cudaEventCreate(&start_), "cudaEventCreate");
  check(cudaEventCreate(&stop_), "cudaEventCreate");
  time_one();  // code that is loaded at its first launch
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

}  // namespace headroom::cuda
