// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <vector>

#include "headroom/base/text.h"
#include "headroom/base/units.h"
#include "headroom/stats/quantile.h"
#include "headroom/trace/columns/tensor_arguments.h"
#include "headroom/trace/cost/device_peaks.h"
#include "headroom/trace/cost/roofline.h"
#include "headroom/trace/findings/finding_search.h"
#include "headroom/trace/work/allocations.h"

// Causes that no what-if is about: steps that are slow, operators far from their roof, memory in pieces.

namespace headroom::trace {
namespace {

/// Idle times in which the host was late: what it did then is another cause's.
Spans late_host(const FindingSearch& search) {
  std::vector<Span> spans;
  for (const DeviceGap& gap : search.culprits().gaps) spans.push_back({gap.time.start, gap.host_until_ns});
  return merged(std::move(spans));
}

/// Of the device that computes most; nullptr where it is not in the table.
const DevicePeaks* peaks_of_busiest(const FindingSearch& search) {
  if (search.devices().empty()) return nullptr;
  const DeviceTimes& busiest = *std::ranges::max_element(
      search.devices(), {}, [](const DeviceTimes& device) { return device.breakdown.compute_ns; });
  const auto of_device = std::ranges::find(search.trace().devices, busiest.device, &DeviceProperties::id);
  if (of_device == search.trace().devices.end()) return nullptr;
  return find_device_peaks(of_device->name, of_device->total_memory_bytes);
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

void find_kernels_below_roof(FindingSearch& search) {
  // Operators that move memory reach most of the bandwidth when they are large; products reach a fraction of
  // the peak that hangs on their shapes, which a roof does not know.
  constexpr double kFarMemory = 0.6, kFarProduct = 0.15;
  constexpr double kLargeNs = 20'000;
  constexpr std::size_t kMostShapes = 80, kMostOps = 3;
  const DevicePeaks* peaks = peaks_of_busiest(search);
  const bool has_shapes =
      std::ranges::any_of(search.trace().ops, [](const OpDetail& op) { return op.dims != kNoName; });
  if (peaks == nullptr || !has_shapes) return;
  const Roofline found = roofline(search.trace(), *peaks);
  std::map<NameId, double> above_by_op;
  std::map<NameId, const RooflineRow*> longest;
  for (const RooflineRow& row : found.rows) {
    if (row.roof_ns <= 0 || row.calls == 0 || row.device_ns / static_cast<double>(row.calls) < kLargeNs)
      continue;
    const double reached = row.roof_ns / row.device_ns;
    const bool is_product = row.is_product || contains(search.trace().names[row.op], "attention");
    if (reached >= (is_product ? kFarProduct : kFarMemory)) continue;
    above_by_op[row.op] += row.device_ns - row.roof_ns;
    longest.try_emplace(row.op, &row);
  }
  std::vector<std::pair<double, NameId>> order;
  for (const auto& [op, above_ns] : above_by_op) order.emplace_back(above_ns, op);
  std::ranges::sort(order, std::greater{});
  if (order.size() > kMostOps) order.resize(kMostOps);
  for (const auto& [above_ns, op] : order) {
    const double gain = above_ns / search.step_count();
    if (!search.is_enough(gain, 0.03)) continue;
    const RooflineRow& row = *longest.at(op);
    Suspicion suspicion;
    suspicion.kind = FindingKind::kKernelBelowRoof;
    suspicion.evidence = fmt::format(
        "{} takes {} for {} that the {} of the device would allow ({} reached), most of it with {}",
        search.trace().names[op], format_time_ns(row.device_ns), format_time_ns(row.roof_ns),
        row.compute_ns > row.memory_ns ? "arithmetic" : "memory", format_percent(row.roof_ns / row.device_ns),
        on_one_line(search.trace().names[row.dims]).substr(0, kMostShapes));
    suspicion.fix = row.is_product
                        ? "another type (TF32, bf16), padding to multiples of 8, larger batches"
                        : "fuse it with its neighbours (torch.compile), or a kernel made for these shapes";
    search.add(std::move(suspicion), gain);
  }
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
