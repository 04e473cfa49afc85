// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "headroom/base/text.h"
#include "headroom/base/units.h"
#include "headroom/trace/columns/kernel_category.h"
#include "headroom/trace/columns/short_name.h"
#include "headroom/trace/columns/tensor_arguments.h"
#include "headroom/trace/cost/device_peaks.h"
#include "headroom/trace/cost/roofline.h"
#include "headroom/trace/findings/finding_search.h"
#include "headroom/trace/tables/duration_stats.h"
#include "headroom/trace/work/kernel_sequences.h"

// Operators far from what the device could do with their shapes: computing, which no what-if is about.

namespace headroom::trace {
namespace {

/// Of the device that computes most; nullptr where it is not in the table.
const DevicePeaks* peaks_of_busiest(const FindingSearch& search) {
  if (search.devices().empty()) return nullptr;
  const DeviceTimes& busiest = *std::ranges::max_element(
      search.devices(), {}, [](const DeviceTimes& device) { return device.breakdown.compute_ns; });
  const auto of_device = std::ranges::find(search.trace().devices, busiest.device, &DeviceProperties::id);
  if (of_device == search.trace().devices.end()) return nullptr;
  return find_device_peaks(of_device->name, of_device->total_memory_bytes);
}

/// All calls of an operator whose shapes are far from their roof.
struct FarOperator {
  NameId op = kNoName;
  double device_ns = 0, roof_ns = 0;
  const RooflineRow* longest = nullptr;                       ///< the shapes with the most time
  std::vector<Span> times;                                    ///< of their kernels, in no order
  std::map<NameId, std::int64_t> kernels;                     ///< time by name
  std::vector<std::pair<std::uint32_t, std::int64_t>> calls;  ///< time by the operator's event
  double above_ns() const { return device_ns - roof_ns; }
};

bool is_far(const Trace& trace, const RooflineRow& row) {
  // Operators that move memory reach most of the bandwidth when they are large; products reach a fraction of
  // the peak that hangs on their shapes, which a roof does not know.
  constexpr double kFarMemory = 0.6, kFarProduct = 0.15;
  constexpr double kLargeNs = 20'000;
  if (row.roof_ns <= 0 || row.calls == 0 || row.device_ns / static_cast<double>(row.calls) < kLargeNs)
    return false;
  const bool is_product = row.is_product || contains(trace.names[row.op], "attention");
  return row.roof_ns / row.device_ns < (is_product ? kFarProduct : kFarMemory);
}

/// Those that lose the most first.
std::vector<FarOperator> far_operators(const Trace& trace, const Roofline& found) {
  std::map<NameId, FarOperator> by_op;
  std::unordered_map<std::uint32_t, FarOperator*> of_call;
  for (const RooflineRow& row : found.rows) {
    if (!is_far(trace, row)) continue;
    FarOperator& far = by_op[row.op];
    far.op = row.op;
    far.device_ns += row.device_ns;
    far.roof_ns += row.roof_ns;
    if (far.longest == nullptr) far.longest = &row;
    for (const std::uint32_t call : row.call_events) of_call[call] = &far;
  }
  for (std::uint32_t row = 0; row < trace.gpu.size(); ++row) {
    const auto call = of_call.find(found.call_of[row]);
    if (call == of_call.end()) continue;
    FarOperator& far = *call->second;
    const std::uint32_t event = trace.gpu[row].event;
    far.times.push_back({trace.events.start_ns[event], trace.events.end_ns(event)});
    std::int64_t& of_kernel = far.kernels[trace.events.name[event]];
    of_kernel = saturating_add(of_kernel, trace.events.duration_ns[event]);
    far.calls.emplace_back(call->first, trace.events.duration_ns[event]);
  }
  std::vector<FarOperator> sorted;
  for (auto& [op, far] : by_op) sorted.push_back(std::move(far));
  std::ranges::sort(sorted, std::greater{},
                    [](const FarOperator& far) { return std::pair(far.above_ns(), far.op); });
  return sorted;
}

NameId main_kernel(const FarOperator& far) {
  return std::ranges::max_element(far.kernels, {}, [](const auto& entry) { return entry.second; })->first;
}

/// The sequence that takes most of those with the kernel; empty where it has no neighbours again and again.
std::string neighbours_text(const FindingSearch& search, const std::vector<KernelSequence>& sequences,
                            NameId kernel) {
  for (const KernelSequence& sequence : sequences) {
    if (std::ranges::find(sequence.names, kernel) == sequence.names.end()) continue;
    return fmt::format("; {} follow one another {} times and take {}",
                       sequence_text(search.trace(), sequence), sequence.count,
                       search.per_step(static_cast<double>(sequence.total_ns)));
  }
  return "";
}

std::string shapes_text(const Trace& trace, NameId dims) {
  constexpr std::size_t kMostShapes = 80;
  const std::string text = on_one_line(trace.names[dims]);
  return text.size() <= kMostShapes ? text : text.substr(0, kMostShapes) + "...";
}

Suspicion suspicion_of(const FindingSearch& search, FarOperator far) {
  const Trace& trace = search.trace();
  const RooflineRow& row = *far.longest;
  Suspicion suspicion;
  suspicion.kind = FindingKind::kKernelBelowRoof;
  suspicion.place = trace.names[far.op];
  suspicion.event = search.main_event(far.calls);
  suspicion.evidence = fmt::format(
      "{}: {} of {} are above the roof of {} ({} of it reached), in {}, most of it with {}", suspicion.place,
      format_time_ns(far.above_ns() / search.step_count()), search.per_step(far.device_ns),
      row.compute_ns > row.memory_ns ? "arithmetic" : "memory", format_percent(far.roof_ns / far.device_ns),
      telling_name(trace.names[main_kernel(far)]), shapes_text(trace, row.dims));
  suspicion.time = merged(std::move(far.times));
  suspicion.fix = row.is_product
                      ? "another type (TF32, bf16), padding to multiples of 8, larger batches"
                      : "fuse it with its neighbours (torch.compile), or a kernel made for these shapes";
  return suspicion;
}

}  // namespace

void find_kernels_below_roof(FindingSearch& search) {
  constexpr std::size_t kMostOps = 3, kMostSequences = 50;
  const Trace& trace = search.trace();
  const DevicePeaks* peaks = peaks_of_busiest(search);
  const bool has_shapes =
      std::ranges::any_of(trace.ops, [](const OpDetail& op) { return op.dims != kNoName; });
  if (peaks == nullptr || !has_shapes) return;
  const Roofline found = roofline(trace, *peaks);
  std::vector<FarOperator> far = far_operators(trace, found);
  if (far.size() > kMostOps) far.resize(kMostOps);
  std::erase_if(far, [&](const FarOperator& one) {
    return !search.is_enough(one.above_ns() / search.step_count(), 0.03);
  });
  if (far.empty()) return;
  const std::vector<KernelSequence> sequences =
      kernel_sequences(trace, kernel_categories(trace, search.types()), kMostSequences);
  for (FarOperator& one : far) {
    const double gain = one.above_ns() / search.step_count();
    const std::string neighbours =
        one.longest->is_product ? "" : neighbours_text(search, sequences, main_kernel(one));
    Suspicion suspicion = suspicion_of(search, std::move(one));
    suspicion.evidence += neighbours;
    search.add(std::move(suspicion), gain);
  }
}

}  // namespace headroom::trace
