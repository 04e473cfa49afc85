// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "headroom/experiment/state.h"
#include "headroom_cuda_device/device.h"
#include "headroom_cuda_device/launch.h"
#include "headroom_cuda_device/launch_graphs.h"
#include "headroom_cuda_device/stream_gate.h"

namespace headroom::cuda {

/// Whether short iterations may be captured into graphs. Not where launches depend on those before them, or
/// are graphs themselves.
enum class Capture { kShort, kNone };

/// Times iterations between two events on the device: short ones as graphs, long ones launched one by one.
/// The copies of the inputs take turns from call to call.
class LaunchTimer {
 public:
  /// All must outlive this. `around_capture` as LaunchGraphs has it. Launches once, to find out whether an
  /// iteration is long.
  LaunchTimer(Device& device, const Launch& launch, std::size_t copies, Surround around_capture = {},
              Capture capture = Capture::kShort);
  ~LaunchTimer();
  LaunchTimer(const LaunchTimer&) = delete;
  LaunchTimer& operator=(const LaunchTimer&) = delete;

  /// Nanoseconds that `iterations` took on the device, together. A single one is launched as it is, with
  /// nothing around it but the events: what records a trace sees the kernels and the calls that started them.
  double time(std::uint64_t iterations);
  /// Whether iterations are so long that graphs would gain nothing.
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

}  // namespace headroom::cuda
