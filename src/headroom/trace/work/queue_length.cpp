// SPDX-License-Identifier: Apache-2.0
#include "headroom/trace/work/queue_length.h"

#include <algorithm>
#include <utility>

#include "headroom/trace/work/gpu_work.h"

namespace headroom::trace {
namespace {

/// Sums changes (time, +1 or -1) into steps.
std::vector<QueueStep> steps_of(std::vector<std::pair<std::int64_t, int>> changes) {
  std::ranges::sort(changes);
  std::vector<QueueStep> steps;
  std::int64_t length = 0;
  for (std::size_t i = 0; i < changes.size();) {
    const std::int64_t at = changes[i].first;
    const std::int64_t before = length;
    for (; i < changes.size() && changes[i].first == at; ++i) length += changes[i].second;
    if (length != before) steps.push_back({at, length});
  }
  return steps;
}

}  // namespace

std::vector<StreamQueue> queue_lengths(const Trace& trace, std::span<const std::uint32_t> launch) {
  std::vector<StreamQueue> queues;
  for (const GpuWork& work : work_by_stream(trace)) {
    StreamQueue& queue = queues.emplace_back();
    queue.device = work.device;
    queue.stream = work.stream;
    std::vector<std::pair<std::int64_t, int>> changes;
    for (const std::uint32_t row : work.rows) {
      if (launch[row] == kNone) {
        ++queue.without_launch;
        continue;
      }
      ++queue.works;
      const std::int64_t launched = trace.events.start_ns[launch[row]];
      const std::int64_t started = trace.events.start_ns[trace.gpu[row].event];
      if (started <= launched) continue;
      changes.emplace_back(launched, 1);
      changes.emplace_back(started, -1);
    }
    queue.steps = steps_of(std::move(changes));
  }
  return queues;
}

QueueSummary summarize(const std::vector<QueueStep>& steps, std::int64_t limit) {
  QueueSummary summary;
  if (steps.empty()) return summary;
  summary.span_ns = steps.back().at_ns - steps.front().at_ns;
  for (std::size_t i = 0; i + 1 < steps.size(); ++i) {
    const std::int64_t time = steps[i + 1].at_ns - steps[i].at_ns;
    const std::int64_t length = steps[i].length;
    summary.max_length = std::max(summary.max_length, length);
    summary.length_ns += static_cast<double>(length) * static_cast<double>(time);
    if (length == 0) summary.empty_ns += time;
    if (length >= limit) summary.blocked_ns += time;
  }
  return summary;
}

}  // namespace headroom::trace
