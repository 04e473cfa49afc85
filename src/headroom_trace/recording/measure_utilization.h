// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "headroom_trace/columns/trace.h"
#include "headroom_trace/peers/pytorch_utilization.h"
#include "headroom_trace/recording/recorder.h"
#include "headroom_trace/work/device_work.h"

namespace headroom::trace {

struct MeasureOptions {
  int runs = 1;                       ///< of the function: timed, and again recorded
  int warm_up = 5;                    ///< runs before the timed ones
  std::function<void()> synchronize;  ///< waits for the devices, after each run; may be empty
  std::function<void()> reset;    ///< before the warm-up, the timing and the recording: seeds; may be empty
  std::function<double()> now_s;  ///< a steady clock, seconds; empty: the system's
};

struct MeasuredUtilization {
  double length_s = 0;            ///< of the timed runs, without the recorder
  PyTorchUtilization as_pytorch;  ///< as benchmark_utilization of PyTorch computes it
  Breakdown devices;              ///< time of the recorded devices over their spans
  Trace trace;
  /// Busy time of the devices (summed) over the run time without the recorder.
  double busy_share() const { return static_cast<double>(devices.busy_ns) / 1e9 / length_s; }
};

/// Measures like PyTorch's benchmark_utilization (torch/_functorch/benchmark_utils.py): warms the function
/// up, times its runs without the recorder, then records as many runs. Throws Error for runs below 1, a
/// warm-up below 0, or a clock that stands still, and passes on errors of the recorder, read() and the
/// function; the recorder is stopped first.
MeasuredUtilization measure_utilization(const std::function<void()>& function, Recorder& recorder,
                                        const MeasureOptions& options = {});

}  // namespace headroom::trace
