// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "headroom/trace/recording/recorder.h"
#include "headroom/trace/recording/seed_utilization.h"
#include "headroom/trace/work/device_work.h"

namespace headroom::trace {

struct MeasureOptions {
  int runs = 1;                       ///< of the function: timed, and again recorded
  int warm_up = 5;                    ///< runs before the timed ones
  std::function<void()> synchronize;  ///< waits for the devices, after each run; may be empty
  std::function<void()> reset;    ///< before the warm-up, the timing and the recording: seeds; may be empty
  std::function<double()> now_s;  ///< a steady clock, seconds; empty: the system's
};

struct MeasuredUtilization {
  double length_s = 0;         ///< of the timed runs, without the recorder
  SeedUtilization as_pytorch;  ///< what benchmark_utilization of PyTorch would answer
  Breakdown devices;           ///< where the time of the recorded devices went, over their spans
  Trace trace;
  /// Time in which the devices worked, over the time that the runs take without the recorder: what a user of
  /// the function sees. Of several devices, their sum.
  double busy_share() const { return static_cast<double>(devices.busy_ns) / 1e9 / length_s; }
};

/// The C++ twin of PyTorch's benchmark_utilization (torch/_functorch/benchmark_utils.py): warms the function
/// up, times its runs without the recorder, records the same number of runs, and says how busy the devices
/// were. Throws Error for runs below 1, a warm-up below 0, a clock that stands still, and what the recorder
/// and read() throw; what the function throws comes through after the recorder was stopped.
MeasuredUtilization measure_utilization(const std::function<void()>& function, Recorder& recorder,
                                        const MeasureOptions& options = {});

}  // namespace headroom::trace
