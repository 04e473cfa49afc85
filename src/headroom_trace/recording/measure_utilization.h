// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "headroom_trace/columns/trace.h"
#include "headroom_trace/peers/pytorch_utilization.h"
#include "headroom_trace/recording/recorder.h"
#include "headroom_trace/work/device_work.h"

namespace headroom::trace {

struct MeasureOptions {
  int runs = 1;                       ///< timed, and again recorded
  int warm_up = 5;                    ///< before timing
  std::function<void()> synchronize;  ///< after each run; may be empty
  std::function<void()> reset;        ///< seeds, before each phase; may be empty
  std::function<double()> now_s;      ///< steady; empty: the system's
};

struct MeasuredUtilization {
  double length_s = 0;            ///< without the recorder
  PyTorchUtilization as_pytorch;  ///< benchmark_utilization of PyTorch
  Breakdown devices;              ///< over the devices' spans
  Trace trace;
  /// Summed over the devices, relative to length_s.
  double busy_share() const { return static_cast<double>(devices.busy_ns) / 1e9 / length_s; }
};

/// As PyTorch's benchmark_utilization (torch/_functorch/benchmark_utils.py): warm-up, timed runs, then as
/// many recorded runs. Throws Error for runs < 1, warm_up < 0 or a stopped clock. Other errors pass through
/// after stopping the recorder.
MeasuredUtilization measure_utilization(const std::function<void()>& function, Recorder& recorder,
                                        const MeasureOptions& options = {});

}  // namespace headroom::trace
