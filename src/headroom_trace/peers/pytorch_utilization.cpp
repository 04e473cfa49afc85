// SPDX-License-Identifier: Apache-2.0
#include "headroom_trace/peers/pytorch_utilization.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <string>
#include <unordered_set>
#include <vector>

#include "headroom/base/error.h"

namespace headroom::trace {
namespace {

struct Event {
  double ts = 0, dur = 0;  // microseconds, as Python's float
  bool is_matmul_or_convolution = false;
};

/// The double nearest to ns / 1000, as Python reads decimal microseconds. The long double's quotient cannot
/// cross a tie: other multiples of 1/1000 are at least 1/125 of a double's half step away.
double to_microseconds(std::int64_t ns) {
  static_assert(std::numeric_limits<long double>::digits >= 64);
  return static_cast<double>(static_cast<long double>(ns) / 1000.0L);
}

/// As Python compares them: 1, 1.0 and true are equal.
std::string python_pid(const std::string& pid) {
  if (pid == "true") return "1";
  if (pid == "false") return "0";
  double number = 0;
  const char* const end = pid.data() + pid.size();
  const auto [stop, error] = std::from_chars(pid.data(), end, number);
  constexpr double kExact = 9'007'199'254'740'992;  // doubles below represent every integer
  const bool is_whole =
      error == std::errc{} && stop == end && std::abs(number) < kExact && number == std::trunc(number);
  return is_whole ? fmt::format("{}", static_cast<std::int64_t>(number)) : pid;
}

std::vector<bool> gpu_threads(const Trace& trace) {
  std::unordered_set<std::string> pids;
  for (const Thread& thread : trace.threads) {
    if (thread.process_labels.find("GPU") != std::string::npos) pids.insert(python_pid(thread.pid));
  }
  std::vector<bool> is_gpu;
  for (const Thread& thread : trace.threads) is_gpu.push_back(pids.contains(python_pid(thread.pid)));
  return is_gpu;
}

std::vector<Event> timed_events(const Trace& trace) {
  std::vector<Event> events(trace.events.size());
  for (std::size_t i = 0; i < events.size(); ++i) {
    events[i].ts = to_microseconds(trace.events.start_ns[i] - trace.base_time_ns);
    events[i].dur = to_microseconds(trace.events.duration_ns[i]);
  }
  for (const PreciseTime& time : trace.precise_times) {
    events[time.event].ts = time.start_us;
    events[time.event].dur = time.duration_us;
  }
  return events;
}

/// Sums and rounds after each event, in the order of the starts, like the original.
double busy_microseconds(const std::vector<Event>& by_start, bool only_matmul_or_convolution) {
  double total = 0, end = -std::numeric_limits<double>::infinity();
  for (const Event& event : by_start) {
    if (only_matmul_or_convolution && !event.is_matmul_or_convolution) continue;
    const double event_end = event.ts + event.dur;
    total += std::isinf(end) ? event.dur : std::max(event_end - std::max(event.ts, end), 0.0);
    end = std::max(end, event_end);
  }
  return total;
}

}  // namespace

bool is_pytorch_matmul_or_convolution(std::string_view name) {
  constexpr std::string_view kParts[] = {"gemm", "conv", "cutlass", "wgrad"};
  return std::ranges::any_of(
      kParts, [&](std::string_view part) { return name.find(part) != std::string_view::npos; });
}

PyTorchUtilization pytorch_utilization(const Trace& trace, double length_s) {
  if (!(length_s > 0) || std::isinf(length_s))
    throw Error(
        fmt::format("invalid length {} s: give the time of the run without the profiler, above 0", length_s));
  const Events& events = trace.events;
  const std::vector<bool> is_gpu = gpu_threads(trace);
  std::vector<Event> found = timed_events(trace);
  std::size_t kept = 0;
  for (std::size_t i = 0; i < events.size(); ++i) {
    if (!is_gpu[events.thread[i]]) continue;
    found[kept] = found[i];
    found[kept++].is_matmul_or_convolution = is_pytorch_matmul_or_convolution(trace.names[events.name[i]]);
  }
  found.resize(kept);
  std::ranges::stable_sort(found, {}, &Event::ts);
  const double length_us = length_s * 1e6;
  return {busy_microseconds(found, false) / length_us, busy_microseconds(found, true) / length_us};
}

}  // namespace headroom::trace
