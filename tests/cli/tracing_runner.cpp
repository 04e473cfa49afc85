// SPDX-License-Identifier: Apache-2.0
// A runner whose recorder invents GPU activity.
#include <chrono>
#include <fstream>
#include <functional>
#include <string>

#include "headroom/experiment/registry.h"
#include "headroom/experiment/state.h"
#include "headroom_trace/recording/recorder.h"

namespace {

using headroom::State;

void spin() {
  const auto until = std::chrono::steady_clock::now() + std::chrono::microseconds(100);
  while (std::chrono::steady_clock::now() < until) {
  }
}

void on_gpu(State& state) {
  state.measure(spin);
}
HEADROOM_EXPERIMENT(on_gpu);

void on_host(State& state) {
  state.measure(spin);
}
HEADROOM_EXPERIMENT(on_host);

void on_paper(State& state) {
  state.measure(spin);
}
HEADROOM_EXPERIMENT(on_paper);

void on_gpu_in_part(State& state) {
  state.measure(spin);
}
HEADROOM_EXPERIMENT(on_gpu_in_part);

headroom::trace::RecordedWork kernel(const std::string& name, std::int64_t from_ns, std::int64_t to_ns) {
  headroom::trace::RecordedWork work;
  work.shape = headroom::trace::KernelShape{};
  work.name = name;
  work.stream = 7;
  work.correlation = 1;
  work.start_ns = from_ns;
  work.end_ns = to_ns;
  return work;
}

/// Overlapping from 30 to 40 us: busy for 10 to 60 and 70 to 75 us.
void write_trace(const std::string& file, bool has_gpu, bool is_whole) {
  headroom::trace::DeviceActivity activity;
  activity.program = "tracing_runner";
  activity.recorded_by = "tracing_runner";
  activity.process = 900;
  activity.devices = {{.id = 0, .name = "Made Up 9000", .multiprocessors = 100}};
  activity.steps = {{901, 0, 100'000}};
  activity.calls = {{"cudaLaunchKernel", false, 211, 901, 1, 2'000, 5'000}};
  if (has_gpu) {
    activity.work = {kernel("cutlass_80_tensorop", 10'000, 40'000), kernel("scale", 30'000, 60'000),
                     kernel("softmax", 70'000, 75'000)};
    activity.work[1].stream = 13;
  }
  activity.dropped_records = is_whole ? 0 : 5;
  headroom::trace::write_device_activity(file, activity);
}

void record(const std::string& file, const std::function<void()>& run) {
  run();
  if (file.find("on_paper") != std::string::npos) {
    std::ofstream(file) << "this is no trace\n";
  } else {
    const bool is_whole = file.find("in_part") == std::string::npos;
    write_trace(file, file.find("on_gpu") != std::string::npos, is_whole);
  }
}

[[maybe_unused]] const bool traces = (headroom::registry().trace_with(record), true);

}  // namespace
