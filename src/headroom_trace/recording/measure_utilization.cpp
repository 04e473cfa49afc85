// SPDX-License-Identifier: Apache-2.0
#include "headroom_trace/recording/measure_utilization.h"

#include <chrono>
#include <filesystem>
#include <utility>
#include <variant>

#include "headroom/base/error.h"
#include "headroom_trace/readers/read.h"

namespace headroom::trace {
namespace {

void call(const std::function<void()>& function) {
  if (function) function();
}

double seconds(const MeasureOptions& options) {
  if (options.now_s) return options.now_s();
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void run(const std::function<void()>& function, const MeasureOptions& options, int times) {
  for (int i = 0; i < times; ++i) {
    function();
    call(options.synchronize);
  }
}

Trace record(const std::function<void()>& function, Recorder& recorder, const MeasureOptions& options) {
  recorder.start();
  try {
    call(options.synchronize);
    call(options.reset);
    run(function, options, options.runs);
  } catch (...) {
    recorder.stop();
    throw;
  }
  Recording recording = recorder.stop();
  if (auto* const trace = std::get_if<Trace>(&recording)) return std::move(*trace);
  ReadOptions reading;
  reading.needs = kPyTorchUtilizationNeeds;
  return read(std::get<std::filesystem::path>(recording), reading);
}

}  // namespace

MeasuredUtilization measure_utilization(const std::function<void()>& function, Recorder& recorder,
                                        const MeasureOptions& options) {
  if (!function) throw Error("measure_utilization: no function to run");
  if (options.runs < 1 || options.warm_up < 0)
    throw Error("measure_utilization: give at least 1 run, and 0 or more warm-up runs");
  call(options.reset);
  run(function, options, options.warm_up);
  call(options.reset);
  MeasuredUtilization measured;
  const double start = seconds(options);
  run(function, options, options.runs);
  measured.length_s = seconds(options) - start;
  if (!(measured.length_s > 0))
    throw Error("measure_utilization: the runs are too short for the clock: give more runs");
  measured.trace = record(function, recorder, options);
  measured.as_pytorch = pytorch_utilization(measured.trace, measured.length_s);
  measured.devices = breakdown(measured.trace);
  return measured;
}

}  // namespace headroom::trace
