// SPDX-License-Identifier: Apache-2.0
#include "headroom/trace/work/python_work.h"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "headroom/trace/columns/attribution.h"
#include "headroom/trace/cost/roofline.h"
#include "headroom/trace/tables/duration_stats.h"
#include "headroom/trace/work/allocations.h"
#include "headroom/trace/work/idle_culprits.h"

namespace headroom::trace {
namespace {

/// Python itself stops at 1000 calls within one another.
constexpr std::size_t kMostFrames = 1000;

/// The innermost event of the host that is open on its thread at each allocation; kNone for none.
std::vector<std::uint32_t> around_allocations(const Trace& trace, const HostOrder& host) {
  const Events& events = trace.events;
  std::vector<std::uint32_t> order(trace.memory.size()), around(trace.memory.size(), kNone);
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::stable_sort(order, {}, [&](std::uint32_t row) {
    return std::tuple(trace.memory[row].thread, trace.memory[row].at_ns);
  });
  std::vector<std::uint32_t> open;
  std::size_t next = 0;
  for (const std::uint32_t row : order) {
    const MemoryEvent& memory = trace.memory[row];
    const auto is_before = [&](std::uint32_t event) {
      return std::tuple(events.thread[event], events.start_ns[event]) <=
             std::tuple(memory.thread, memory.at_ns);
    };
    for (; next < host.events.size() && is_before(host.events[next]); ++next) {
      const std::uint32_t event = host.events[next];
      // What was open on another thread, or has ended, is around nothing that comes now.
      while (!open.empty() && (events.thread[open.back()] != events.thread[event] ||
                               events.end_ns(open.back()) <= events.start_ns[event]))
        open.pop_back();
      open.push_back(event);
    }
    while (!open.empty() &&
           (events.thread[open.back()] != memory.thread || events.end_ns(open.back()) <= memory.at_ns))
      open.pop_back();
    if (!open.empty()) around[row] = open.back();
  }
  return around;
}

class PythonWorkBuilder {
 public:
  explicit PythonWorkBuilder(const Trace& trace) : trace_(trace), places_(trace) {}

  PythonWork build() {
    work_.source = places_.source();
    work_.modules = places_.modules();
    work_.lines = places_.lines();
    work_.module_times.resize(work_.modules.size());
    work_.line_times.resize(work_.lines.size());
    last_stack_.assign(work_.lines.size(), 0);
    if (work_.source == StackSource::kNothing) return std::move(work_);
    if (work_.source == StackSource::kFunctions) add_calls();
    const std::vector<std::uint32_t> launch = launches(trace_);
    const HostOrder host = host_order(trace_);
    add_device_work(launch);
    add_flops();
    add_idle_times(launch, host);
    add_memory(host);
    for (const auto& [key, amounts] : sums_) add_to_stack(places_.stack_of(key), amounts);
    return std::move(work_);
  }

 private:
  void add(PythonPlaces::Place place, const PythonAmounts& amounts) {
    work_.total.add(amounts);
    (place.key == kNone ? work_.elsewhere : work_.placed).add(amounts);
    if (place.key == kNone) return;
    const auto [found, is_new] = places_of_sums_.try_emplace(place.key, sums_.size());
    if (is_new) sums_.emplace_back(place.key, PythonAmounts{});
    sums_[found->second].second.add(amounts);
    if (place.is_of_backward) work_.backward_ns = saturating_add(work_.backward_ns, amounts.device_ns);
  }

  /// To each place of the stack once, however often a function is in it.
  void add_to_stack(const PythonStack& stack, const PythonAmounts& amounts) {
    ++stack_;
    for (const std::uint32_t line : stack.lines) {
      if (std::exchange(last_stack_[line], stack_) == stack_) continue;
      work_.line_times[line].all.add(amounts);
    }
    if (!stack.lines.empty()) work_.line_times[stack.lines.front()].own.add(amounts);
    if (stack.module != kNone) work_.module_times[stack.module].own.add(amounts);
    for (std::uint32_t module = stack.module; module != kNone; module = work_.modules[module].parent)
      work_.module_times[module].all.add(amounts);
  }

  void add_calls() {
    for (const std::uint32_t event : nesting_order(trace_, mask_of(Category::kPython))) {
      if (const std::uint32_t module = places_.own_module(event); module != kNone)
        add_call(work_.module_times[module], event, false);
      if (const std::uint32_t line = places_.own_line(event); line != kNone)
        add_call(work_.line_times[line], event, is_within(event, line));
    }
  }

  bool is_within(std::uint32_t event, std::uint32_t line) const {
    std::size_t frames = 0;
    for (event = places_.around(event); event != kNone && ++frames < kMostFrames;
         event = places_.around(event)) {
      if (places_.own_line(event) == line) return true;
    }
    return false;
  }

  void add_call(PythonTimes& times, std::uint32_t event, bool is_inside) const {
    if (times.calls < 0) times.calls = times.host_ns = 0;
    ++times.calls;
    if (!is_inside) times.host_ns = saturating_add(times.host_ns, trace_.events.duration_ns[event]);
  }

  void add_device_work(const std::vector<std::uint32_t>& launch) {
    const std::vector<std::uint32_t> op = launching_ops(trace_);
    std::unordered_set<std::uint32_t> known;  // launches: a graph has many kernels
    for (std::size_t row = 0; row < trace_.gpu.size(); ++row) {
      PythonPlaces::Place place = places_.place_of(launch[row]);
      if (place.key == kNone) place = places_.place_of(op[row]);
      PythonAmounts amounts;
      amounts.launches = launch[row] == kNone || known.insert(launch[row]).second ? 1 : 0;
      amounts.device_ns = trace_.events.duration_ns[trace_.gpu[row].event];
      add(place, amounts);
    }
  }

  void add_flops() {
    for (const RooflineRow& row : roofline(trace_, DevicePeaks{}).rows) {
      PythonAmounts amounts;
      amounts.flops = row.flops / static_cast<double>(row.calls);
      for (const std::uint32_t call : row.call_events) add(places_.place_of(call), amounts);
    }
  }

  void add_idle_times(const std::vector<std::uint32_t>& launch, const HostOrder& host) {
    for (const IdlePart& part : idle_culprits(trace_, device_work(trace_), launch, host).parts) {
      PythonAmounts amounts;
      amounts.idle_ns = part.length_ns();
      add(places_.place_of(part.event), amounts);
    }
  }

  void add_memory(const HostOrder& host) {
    const MemoryHistory history = memory_history(trace_);
    const bool has_devices = std::ranges::any_of(
        history.devices, [](const DeviceMemory& memory) { return memory.device_type != 0; });
    const auto is_counted = [&](std::int32_t type) { return (type != 0) == has_devices; };
    const std::vector<std::uint32_t> around = around_allocations(trace_, host);
    const auto place_of = [&](std::uint32_t row) {
      const PythonPlaces::Place place = places_.place_of_stack(trace_.memory[row].stack);
      return place.key == kNone ? places_.place_of(around[row]) : place;
    };
    for (std::uint32_t row = 0; row < trace_.memory.size(); ++row) {
      if (!is_counted(trace_.memory[row].device_type)) continue;
      PythonAmounts amounts;
      amounts.kept_bytes = trace_.memory[row].bytes;
      add(place_of(row), amounts);
    }
    for (std::size_t i = 0; i < history.devices.size(); ++i) {
      const DeviceMemory& memory = history.devices[i];
      if (!is_counted(memory.device_type)) continue;
      std::int64_t known = 0;
      for (const std::uint32_t row : history.of_device[i]) {
        const Allocation& one = history.allocations[row];
        if (!one.is_held_at(memory.peak_place)) continue;
        PythonAmounts amounts;
        amounts.peak_bytes = one.bytes;
        known = saturating_add(known, one.bytes);
        add(place_of(one.event), amounts);
      }
      // The rest is from before the trace.
      PythonAmounts rest;
      rest.peak_bytes = std::max<std::int64_t>(memory.peak_allocated_bytes - known, 0);
      add({}, rest);
    }
  }

  const Trace& trace_;
  PythonPlaces places_;
  PythonWork work_;
  std::vector<std::pair<std::uint32_t, PythonAmounts>>
      sums_;  ///< by place, in the order of their first sight
  std::unordered_map<std::uint32_t, std::size_t> places_of_sums_;
  std::size_t stack_ = 0;                ///< number of the stack at hand
  std::vector<std::size_t> last_stack_;  ///< by line: the last one that it was in
};

}  // namespace

void PythonAmounts::add(const PythonAmounts& more) {
  launches += more.launches;
  device_ns = saturating_add(device_ns, more.device_ns);
  flops += more.flops;
  idle_ns = saturating_add(idle_ns, more.idle_ns);
  kept_bytes = saturating_add(kept_bytes, more.kept_bytes);
  peak_bytes = saturating_add(peak_bytes, more.peak_bytes);
}

PythonWork python_work(const Trace& trace) {
  return PythonWorkBuilder(trace).build();
}

}  // namespace headroom::trace
