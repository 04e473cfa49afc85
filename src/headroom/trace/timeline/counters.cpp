// SPDX-License-Identifier: Apache-2.0
#include "headroom/trace/timeline/counters.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <utility>

#include "headroom/trace/tables/duration_stats.h"
#include "headroom/trace/work/allocations.h"
#include "headroom/trace/work/queue_length.h"

namespace headroom::trace {
namespace {

/// A counter before it is known how many buckets it may have.
struct Series {
  Counter counter;
  std::vector<CounterPoint> points;
  std::int64_t before = 0;
};

std::vector<Series> queue_series(const Trace& trace, std::span<const std::uint32_t> launch) {
  std::vector<Series> found;
  for (const StreamQueue& queue : queue_lengths(trace, launch)) {
    if (queue.steps.empty()) continue;
    Series& series = found.emplace_back();
    series.counter.kind = CounterKind::kQueue;
    series.counter.name = fmt::format("stream {}", queue.stream);
    series.counter.device = queue.device;
    for (const QueueStep& step : queue.steps) series.points.push_back({step.at_ns, step.length});
  }
  return found;
}

/// What one device says of its memory.
struct MemorySeries {
  std::vector<CounterPoint> allocated, summed, reserved;
  std::int64_t sum = 0;

  void add(const MemoryEvent& event) {
    sum = saturating_add(sum, event.bytes);
    summed.push_back({event.at_ns, sum});
    if (event.total_allocated >= 0) allocated.push_back({event.at_ns, event.total_allocated});
    if (event.total_reserved > 0) reserved.push_back({event.at_ns, event.total_reserved});
  }
};

void add_memory_series(const Trace& trace, std::vector<Series>& found) {
  std::vector<std::uint32_t> order(trace.memory.size());
  std::iota(order.begin(), order.end(), 0U);
  const auto at = [&](std::uint32_t row) { return trace.memory[row].at_ns; };
  if (!std::ranges::is_sorted(order, {}, at)) std::ranges::stable_sort(order, {}, at);
  std::map<std::pair<std::int32_t, std::int32_t>, MemorySeries> devices;
  for (const std::uint32_t row : order)
    devices[{trace.memory[row].device_type, trace.memory[row].device}].add(trace.memory[row]);
  for (auto& [device, memory] : devices) {
    const auto add = [&, device = device](CounterKind kind, std::vector<CounterPoint>& points) {
      Series& series = found.emplace_back();
      series.counter.kind = kind;
      series.counter.name = device_type_name(device.first);
      if (device.second >= 0) series.counter.name += fmt::format(" {}", device.second);
      series.counter.device = device.second;
      // What was there before the trace is in the allocator's totals, and not in the sum.
      series.before = &points == &memory.summed ? 0 : points.front().value;
      series.points = std::move(points);
    };
    add(CounterKind::kAllocated, memory.allocated.empty() ? memory.summed : memory.allocated);
    if (!memory.reserved.empty()) add(CounterKind::kReserved, memory.reserved);
  }
}

}  // namespace

void fill_buckets(std::span<const CounterPoint> points, std::int64_t before, Extent extent,
                  std::size_t buckets, Counter& counter) {
  const std::int64_t most = static_cast<std::int64_t>(std::max<std::size_t>(buckets, 1));
  counter.start_ns = extent.start_ns;
  counter.bucket_ns = std::max<std::int64_t>(1, extent.length_ns() / most + 1);
  std::int64_t value = before;
  for (const CounterPoint& point : points) {
    const std::int64_t at = std::clamp(point.at_ns, extent.start_ns, extent.end_ns);
    const auto bucket = static_cast<std::uint32_t>((at - extent.start_ns) / counter.bucket_ns);
    if (counter.bucket.empty() || counter.bucket.back() != bucket) {
      counter.bucket.push_back(bucket);
      // A bucket that begins with its first point has nothing of the value before.
      const bool begins = (at - extent.start_ns) % counter.bucket_ns == 0;
      counter.least.push_back(begins ? point.value : value);
      counter.most.push_back(counter.least.back());
      counter.last.push_back(value);
    }
    value = point.value;
    counter.least.back() = std::min(counter.least.back(), value);
    counter.most.back() = std::max(counter.most.back(), value);
    counter.last.back() = value;
  }
}

std::vector<Counter> counters_of(const Trace& trace, std::span<const std::uint32_t> launch, Extent extent,
                                 std::size_t points) {
  constexpr std::size_t kLeastBuckets = 50, kMostBuckets = 4000;
  std::vector<Series> found = queue_series(trace, launch);
  add_memory_series(trace, found);
  if (found.empty()) return {};
  if (found.size() > points / kLeastBuckets) found.resize(std::max<std::size_t>(points / kLeastBuckets, 1));
  const std::size_t buckets = std::clamp(points / found.size(), kLeastBuckets, kMostBuckets);
  std::vector<Counter> counters;
  for (Series& series : found) {
    fill_buckets(series.points, series.before, extent, buckets, series.counter);
    counters.push_back(std::move(series.counter));
  }
  return counters;
}

}  // namespace headroom::trace
