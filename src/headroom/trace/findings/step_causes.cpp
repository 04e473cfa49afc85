// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "headroom/base/units.h"
#include "headroom/stats/quantile.h"
#include "headroom/trace/findings/finding_search.h"
#include "headroom/trace/work/allocations.h"

// Causes that no what-if is about: steps that are slow, memory in pieces.

namespace headroom::trace {
namespace {

/// Idle times in which the host was late: what it did then is another cause's.
Spans late_host(const FindingSearch& search) {
  std::vector<Span> spans;
  for (const DeviceGap& gap : search.culprits().gaps) spans.push_back({gap.time.start, gap.host_until_ns});
  return merged(std::move(spans));
}

}  // namespace

void find_slow_steps(FindingSearch& search) {
  constexpr std::size_t kLeastSteps = 4;
  constexpr double kSlow = 1.3;
  const std::vector<Step>& steps = search.steps();
  if (steps.size() < kLeastSteps) return;
  Spans computing;
  for (const DeviceTimes& device : search.devices()) computing = unite(computing, device.compute);
  // Steps that compute more are longer for a reason. What the host did while the devices had nothing to do is
  // another cause's, found or too small.
  const Spans known = unite(computing, late_host(search));
  std::vector<double> lengths, others;
  for (const Step& step : steps) {
    const Span span{step.start_ns, step.end_ns};
    lengths.push_back(static_cast<double>(span.end - span.start));
    others.push_back(lengths.back() - static_cast<double>(length_within(known, span)));
  }
  const double usual = median(lengths), usual_other = median(others);
  Suspicion suspicion;
  suspicion.kind = FindingKind::kSlowStep;
  double lost = 0;
  std::size_t slow = 0;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (lengths[i] < kSlow * usual || others[i] <= usual_other) continue;
    ++slow;
    lost += others[i] - usual_other;
    suspicion.time.push_back({steps[i].start_ns, steps[i].end_ns});
  }
  const double gain = std::min(lost / search.step_count(), search.allowed_ns());
  if (gain <= 0 || !search.is_enough(gain, 0.02)) return;
  suspicion.time = merged(std::move(suspicion.time));
  suspicion.evidence = fmt::format(
      "{} of {} steps take over {} times the usual {}, and neither because of more computing nor of the host",
      slow, steps.size(), kSlow, format_time_ns(usual));
  suspicion.fix =
      "`headroom trace diff` of a slow step and a usual one (--step) shows which work is longer or more";
  search.add(std::move(suspicion), gain);
}

void find_fragmentation(FindingSearch& search) {
  constexpr std::int32_t kCpu = 0;
  constexpr double kMuch = 0.3, kFull = 0.5;
  for (const DeviceMemory& memory : memory_history(search.trace()).devices) {
    if (memory.device_type == kCpu || memory.peak_reserved_bytes <= 0) continue;
    const auto reserved = static_cast<double>(memory.peak_reserved_bytes),
               used = static_cast<double>(memory.allocated_at_peak_reserved_bytes);
    const auto device = std::ranges::find(search.trace().devices, memory.device, &DeviceProperties::id);
    const double total = device == search.trace().devices.end() ? 0 : device->total_memory_bytes;
    if (total <= 0 || reserved < kFull * total || reserved - used < kMuch * reserved) continue;
    Suspicion suspicion;
    suspicion.kind = FindingKind::kFragmentation;
    suspicion.evidence = fmt::format("device {} held {} of its {} and used {} of them then", memory.device,
                                     format_bytes(reserved), format_bytes(total), format_bytes(used));
    suspicion.time = {{memory.peak_reserved_at_ns, memory.peak_reserved_at_ns + 1}};
    suspicion.fix =
        "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True, or sizes that repeat; it costs no time until "
        "memory ends";
    search.add(std::move(suspicion), 0);
  }
}

}  // namespace headroom::trace
