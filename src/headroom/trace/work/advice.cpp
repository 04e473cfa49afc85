// SPDX-License-Identifier: Apache-2.0
#include "headroom/trace/work/advice.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "headroom/base/units.h"
#include "headroom/trace/work/host_activity.h"

namespace headroom::trace {
namespace {

using Sentences = std::vector<std::string>;

/// Which device a sentence is about; nothing to say where there is only one.
std::string of_device(const DeviceTimes& times, std::size_t devices) {
  return devices > 1 ? fmt::format("device {}", device_text(times.device)) : "the device";
}

void about_idleness(const DeviceTimes& times, std::size_t devices, Sentences& say) {
  const Breakdown sums = breakdown(times);
  const double idle = Breakdown::share_of(sums.idle_ns, sums.span_ns);
  if (sums.utilization() < kLowUtilization) {
    say.push_back(fmt::format(
        "{} works {} of the time, less than {}: `headroom trace idle` says what it waits for",
        of_device(times, devices), format_percent(sums.utilization()), format_percent(kLowUtilization)));
  }
  if (idle <= kMuchIdle) return;
  std::int64_t in_short_gaps = 0;
  const Spans busy = times.busy();
  for (std::size_t i = 1; i < busy.size(); ++i) {
    const std::int64_t gap = busy[i].start - busy[i - 1].end;
    if (gap < kShortGapNs) in_short_gaps += gap;
  }
  const double is_short = Breakdown::share_of(in_short_gaps, sums.idle_ns);
  if (is_short >= 0.5) {
    say.push_back(
        fmt::format("{} of the idle time of {} is in gaps under {}: the host launches too slowly for the "
                    "device (`headroom trace launch`); larger batches, compiled or captured graphs help",
                    format_percent(is_short), of_device(times, devices),
                    format_time_ns(static_cast<double>(kShortGapNs))));
  } else {
    say.push_back(
        fmt::format("{} of the idle time of {} is in gaps of {} and more: waits for input, for a "
                    "synchronisation or for other ranks (`headroom trace idle`, `headroom trace steps`)",
                    format_percent(1 - is_short), of_device(times, devices),
                    format_time_ns(static_cast<double>(kShortGapNs))));
  }
}

void about_tiny_kernels(const Trace& trace, Sentences& say) {
  std::size_t kernels = 0, tiny = 0;
  for (const GpuDetail& work : trace.gpu) {
    if (trace.events.category[work.event] != Category::kKernel) continue;
    ++kernels;
    if (trace.events.duration_ns[work.event] < kTinyKernelNs) ++tiny;
  }
  constexpr std::size_t kEnough = 100;
  if (kernels < kEnough || 2 * tiny < kernels) return;
  say.push_back(
      fmt::format("{} of {} kernels run for less than {}, about what a launch costs: fusing them "
                  "or capturing them in a graph would help (`headroom trace kernels`)",
                  tiny, kernels, format_time_ns(static_cast<double>(kTinyKernelNs))));
}

void about_communication(const Breakdown& sum, Sentences& say) {
  const double exposed = Breakdown::share_of(sum.exposed_communication_ns, sum.span_ns);
  if (exposed <= kMuchCommunication) return;
  say.push_back(
      fmt::format("communication that hides behind no computing takes {} of the time, more than {}: "
                  "`headroom trace overlap`, and over all ranks `collectives` and `stragglers`",
                  format_percent(exposed), format_percent(kMuchCommunication)));
}

void about_data_loading(const Trace& trace, Sentences& say) {
  const Spans loading = data_loading(trace);
  if (loading.empty()) return;
  std::vector<Span> spans;
  for (const Step& step : steps(trace)) spans.push_back({step.start_ns, step.end_ns});
  if (spans.empty()) {
    const Extent whole = whole_extent(trace);
    spans.push_back({whole.start_ns, whole.end_ns});
  }
  const Spans steps_time = merged(std::move(spans));
  const double share = Breakdown::share_of(length(intersect(loading, steps_time)), length(steps_time));
  if (share <= kMuchDataLoading) return;
  say.push_back(
      fmt::format("the DataLoader takes {} of the steps' time, more than {}: more workers, pinned memory or "
                  "prefetching may hide it (`headroom trace steps`)",
                  format_percent(share), format_percent(kMuchDataLoading)));
}

void about_memory(const Trace& trace, Sentences& say) {
  constexpr std::int32_t kCuda = 1;
  std::map<std::int32_t, std::int64_t> peak;
  for (const MemoryEvent& event : trace.memory) {
    if (event.device_type == kCuda)
      peak[event.device] = std::max({peak[event.device], event.total_reserved, event.total_allocated});
  }
  for (const auto& [device, bytes] : peak) {
    const auto found = std::ranges::find(trace.devices, device, &DeviceProperties::id);
    if (found == trace.devices.end() || found->total_memory_bytes <= 0) continue;
    const double share = static_cast<double>(bytes) / found->total_memory_bytes;
    if (share <= kFullMemory) continue;
    say.push_back(
        fmt::format("device {} held {} of its memory at the peak, more than {} (`headroom trace memory`)",
                    device, format_percent(share), format_percent(kFullMemory)));
  }
}

}  // namespace

std::vector<std::string> advice(const Trace& trace, std::span<const DeviceTimes> devices) {
  Sentences say;
  const auto by_utilization = [](const DeviceTimes& times) { return breakdown(times).utilization(); };
  if (!devices.empty())
    about_idleness(*std::ranges::min_element(devices, {}, by_utilization), devices.size(), say);
  about_tiny_kernels(trace, say);
  about_communication(total(devices), say);
  about_data_loading(trace, say);
  about_memory(trace, say);
  return say;
}

}  // namespace headroom::trace
