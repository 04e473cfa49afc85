// SPDX-License-Identifier: Apache-2.0
// Prints the utilization of each device in a profiler trace: trace_utilization FILE. Without a file it uses
// two made-up kernels.
#include <cstdio>
#include <exception>

#include "headroom_trace/readers/read.h"
#include "headroom_trace/work/device_work.h"

namespace trace = headroom::trace;

constexpr const char* kTwoKernels = R"([
  {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 0, "dur": 30},
  {"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce", "pid": 0, "tid": 8, "ts": 20, "dur": 20}])";

int main(int count, char** arguments) {
  try {
    trace::ReadOptions options;
    options.needs = trace::Needs::kGpuWork;  // the rest is skipped, not parsed
    const trace::Trace read = count > 1 ? trace::read(arguments[1], options)
                                        : trace::read_text(kTwoKernels, "two kernels", options);
    const trace::Breakdown time = trace::breakdown(read);
    std::printf("busy %.1f %% of %.3f ms, exposed communication %.3f ms, %zu events left out\n",
                100 * time.utilization(), 1e-6 * static_cast<double>(time.span_ns),
                1e-6 * static_cast<double>(time.exposed_communication_ns),
                static_cast<std::size_t>(read.problems.events_skipped));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
}
