// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "headroom_trace/columns/trace.h"
#include "headroom_trace/readers/read.h"
#include "headroom_trace/recording/recorder.h"
#include "headroom_trace/work/device_work.h"

namespace headroom::trace {

struct SeedUtilization {
  double utilization = 0;          ///< busy time over the length
  double mm_conv_utilization = 0;  ///< same, for names with gemm, conv, cutlass or wgrad
};

/// Needs of seed_utilization, which counts annotations and Python calls too.
inline constexpr Needs kSeedUtilizationNeeds =
    Needs::kLaunches | Needs::kOps | Needs::kPython | Needs::kSyncs | Needs::kOthers | Needs::kPreciseTimes;

/// Computes the same as compute_utilization of PyTorch's torch/_functorch/benchmark_utils.py, bit for bit:
/// the union of every complete event of every process labelled as a GPU, over `length_s`, the run's seconds
/// without the profiler. Not the device's utilisation: see docs/trace.md. Needs kSeedUtilizationNeeds. Throws
/// Error for a length of zero or less.
SeedUtilization seed_utilization(const Trace& trace, double length_s);

/// Its naming rule, on which the golden figures of other tools rest.
bool is_seed_matmul_or_convolution(std::string_view name);

struct MeasureOptions {
  int runs = 1;                       ///< of the function: timed, and again recorded
  int warm_up = 5;                    ///< runs before the timed ones
  std::function<void()> synchronize;  ///< waits for the devices, after each run; may be empty
  std::function<void()> reset;    ///< before the warm-up, the timing and the recording: seeds; may be empty
  std::function<double()> now_s;  ///< a steady clock, seconds; empty: the system's
};

struct MeasuredUtilization {
  double length_s = 0;         ///< of the timed runs, without the recorder
  SeedUtilization as_pytorch;  ///< as benchmark_utilization of PyTorch computes it
  Breakdown devices;           ///< time of the recorded devices over their spans
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
