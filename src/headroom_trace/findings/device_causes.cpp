// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "headroom/base/text.h"
#include "headroom/base/units.h"
#include "headroom/tables/width.h"
#include "headroom_trace/collectives/collective_calls.h"
#include "headroom_trace/columns/kernel_names.h"
#include "headroom_trace/columns/tensor_arguments.h"
#include "headroom_trace/columns/trace_facts.h"
#include "headroom_trace/cost/roofline.h"
#include "headroom_trace/findings/finding_search.h"
#include "headroom_trace/tables/data_table.h"
#include "headroom_trace/work/idle_culprits.h"
#include "headroom_trace/work/kernel_sequences.h"
#include "headroom_trace/work/stream_order.h"

namespace headroom::trace {

namespace {

/// Shorter copies count as synchronisation: their cost is the wait.
constexpr std::int64_t kLongCopyNs = 10'000;
/// Approximate cost of a launch.
constexpr std::int64_t kTinyKernelNs = 5'000;
constexpr std::size_t kLeastRun = 4;
/// Longer gaps hold other work of the program.
constexpr std::int64_t kFarApartNs = 100'000;

bool is_host_device_copy(std::string_view name) {
  return !contains(name, "DtoD") && !contains(name, "DeviceToDevice") && !contains(name, "PtoP");
}

/// All-to-all collectives consist of such kernels too.
std::set<std::uint32_t> sends_and_receives(const FindingSearch& search) {
  std::set<std::uint32_t> events;
  for (const CollectiveCall& call : search.calls()) {
    if (call.collective == "send" || call.collective == "recv") events.insert(call.event);
  }
  return events;
}

struct Exposed {
  std::vector<Span> times;
  std::map<NameId, std::int64_t> by_name;
  std::map<NameId, std::uint32_t> longest_row;
  double bytes = 0;
  std::int64_t total_ns = 0, pageable_ns = 0;
  WhatIf what_if;
};

template <typename Wanted>
Exposed exposed_rows(const FindingSearch& search, bool is_communication, Wanted wanted) {
  const Trace& trace = search.trace();
  std::map<std::int32_t, Spans> hiding;
  for (const DeviceTimes& device : search.devices())
    hiding[device.device] = is_communication ? device.compute : unite(device.compute, device.communication);
  Exposed exposed;
  for (std::uint32_t row = 0; row < trace.gpu.size(); ++row) {
    const std::uint32_t event = trace.gpu[row].event;
    const Span span{trace.events.start_ns[event], trace.events.end_ns(event)};
    if (!search.is_in_window(row) || !wanted(row)) continue;
    const std::int64_t hidden = length_within(hiding[device_of(trace, trace.gpu[row])], span);
    const std::int64_t open = span.end - span.start - hidden;
    if (open <= 0) continue;
    if (exposed.what_if.duration_ns.empty()) exposed.what_if.duration_ns = recorded_durations(trace);
    exposed.what_if.duration_ns[row] = hidden == 0 ? WhatIf::kRemoved : hidden;
    exposed.times.push_back(span);
    const NameId name = trace.events.name[event];
    std::int64_t& of_name = exposed.by_name[name];
    of_name = saturating_add(of_name, open);
    exposed.total_ns = saturating_add(exposed.total_ns, open);
    const auto [longest, is_new] = exposed.longest_row.try_emplace(name, row);
    if (!is_new &&
        trace.events.duration_ns[event] > trace.events.duration_ns[trace.gpu[longest->second].event])
      longest->second = row;
    exposed.bytes += std::max(0.0, trace.gpu[row].bytes);
    if (contains(trace.names[name], "Pageable"))
      exposed.pageable_ns = saturating_add(exposed.pageable_ns, open);
  }
  return exposed;
}

CandidateCause candidate_cause(const FindingSearch& search, FindingKind kind, const Exposed& exposed,
                               const char* what) {
  const NameId name =
      std::ranges::max_element(exposed.by_name, {}, [](const auto& entry) { return entry.second; })->first;
  CandidateCause candidate{.kind = kind, .least_gain = 0.02};
  candidate.event = search.launch()[exposed.longest_row.at(name)];
  candidate.time = merged(exposed.times);
  candidate.what_if = exposed.what_if;
  candidate.evidence =
      fmt::format("{} {} are exposed for {}{} ({} runs at the same time), mostly {}", exposed.times.size(),
                  what, search.per_step(static_cast<double>(exposed.total_ns)), search.on_devices(),
                  kind == FindingKind::kExposedCopy ? "nothing else" : "no compute",
                  kernel_base_name(search.trace().names[name]));
  return candidate;
}

void take_communication(FindingSearch& search, FindingKind kind, const std::set<std::uint32_t>& of_pipeline) {
  const bool of_stages = kind == FindingKind::kPipelineBubble;
  const Trace& trace = search.trace();
  const Exposed exposed = exposed_rows(search, true, [&](std::uint32_t row) {
    return search.types()[row] == KernelType::kCommunication &&
           of_pipeline.contains(trace.gpu[row].event) == of_stages;
  });
  if (exposed.times.empty()) return;
  CandidateCause candidate = candidate_cause(search, kind, exposed, "communication kernels");
  candidate.fix = search.advice(of_stages ? Advice::kFillPipeline : Advice::kOverlapCommunication);
  search.take(std::move(candidate));
}

struct Run {
  std::vector<std::uint32_t> rows;
  std::int64_t total_ns = 0, longest_ns = 0;
};

std::vector<Run> fusible_runs(const FindingSearch& search) {
  const Trace& trace = search.trace();
  NamePredicate is_generic(trace, is_generic_kernel);
  const auto is_fusible = [&](std::uint32_t row) {
    const std::uint32_t event = trace.gpu[row].event;
    return trace.events.category[event] == Category::kKernel &&
           trace.events.duration_ns[event] < kTinyKernelNs && is_generic(trace.events.name[event]);
  };
  std::vector<Run> runs;
  Run run;
  const auto end_run = [&] {
    if (run.rows.size() >= kLeastRun) runs.push_back(std::move(run));
    run = {};
  };
  for (const StreamOrder& stream : search.streams()) {
    for (const std::uint32_t row : stream.rows) {
      const std::int64_t start = trace.events.start_ns[trace.gpu[row].event];
      // The kernels of a graph share one launch.
      const bool is_of_graph = !run.rows.empty() && search.launch()[row] != kNone &&
                               search.launch()[row] == search.launch()[run.rows.back()];
      if (!search.is_in_window(row) || is_of_graph || !is_fusible(row)) {
        end_run();
        continue;
      }
      if (!run.rows.empty() && start - trace.events.end_ns(trace.gpu[run.rows.back()].event) > kFarApartNs)
        end_run();
      const std::int64_t duration = trace.events.duration_ns[trace.gpu[row].event];
      run.rows.push_back(row);
      run.total_ns += duration;
      run.longest_ns = std::max(run.longest_ns, duration);
    }
    end_run();
  }
  return runs;
}

/// Host time that a single launch would save.
Span launching_time(const FindingSearch& search, const Run& run) {
  const std::uint32_t first = search.launch()[run.rows.front()], last = search.launch()[run.rows.back()];
  if (first == kNone || last == kNone) return {};
  const Events& events = search.trace().events;
  if (events.thread[first] != events.thread[last]) return {};
  return {events.end_ns(first), events.end_ns(last)};
}

void name_sequences(const FindingSearch& search, const std::vector<Run>& runs, CandidateCause& candidate) {
  constexpr std::size_t kMostNamed = 2;
  std::vector<std::vector<std::uint32_t>> rows;
  for (const Run& run : runs) rows.push_back(run.rows);
  std::string named;
  for (const KernelSequence& sequence : kernel_sequences(search.trace(), rows, kMostNamed)) {
    std::vector<std::pair<std::uint32_t, std::int64_t>> calls;
    for (const std::uint32_t row : sequence.first_rows) calls.emplace_back(search.launch()[row], 1);
    const std::uint32_t event = search.main_event(calls);
    if (named.empty()) candidate.event = event;
    const std::string where = search.where(event);
    named += fmt::format("{}{} ({} times{}{})", named.empty() ? "; mostly " : ", ",
                         sequence_text(search.trace(), sequence), sequence.count,
                         where.empty() ? "" : ", most in ", where);
  }
  candidate.evidence += named;
}

/// For traces without devices: gloo and MPI outside operators.
void take_host_communication(FindingSearch& search) {
  const Trace& trace = search.trace();
  CandidateCause candidate{.kind = FindingKind::kExposedCommunication, .least_gain = 0.02};
  candidate.time = intersect(subtract(host_communication(trace), operators(trace)), {search.window()});
  if (candidate.time.empty()) return;
  candidate.what_if.host_removed = candidate.time;
  candidate.evidence =
      fmt::format("CPU communication (gloo, MPI) is exposed for {} (no operator runs at the same time)",
                  search.per_step(static_cast<double>(length(candidate.time))));
  candidate.fix =
      "overlap it with compute, send less (gradient accumulation, a narrower dtype) or use a faster network";
  search.take(std::move(candidate));
}

}  // namespace

void find_exposed_copies(FindingSearch& search) {
  const Trace& trace = search.trace();
  const Exposed exposed = exposed_rows(search, false, [&](std::uint32_t row) {
    const std::uint32_t event = trace.gpu[row].event;
    return trace.events.category[event] == Category::kGpuMemcpy &&
           trace.events.duration_ns[event] >= kLongCopyNs && is_host_device_copy(trace.event_name(event));
  });
  if (exposed.times.empty()) return;
  CandidateCause candidate =
      candidate_cause(search, FindingKind::kExposedCopy, exposed, "copies between CPU and GPU");
  if (exposed.bytes > 0)
    candidate.evidence += fmt::format(", {} in all, {:.1f} GB/s", format_bytes(exposed.bytes),
                                      exposed.bytes / static_cast<double>(length(candidate.time)));
  candidate.fix =
      search.advice(exposed.pageable_ns > exposed.total_ns / 2 ? Advice::kPinMemory : Advice::kCopyAhead);
  search.take(std::move(candidate));
}

void find_exposed_communication(FindingSearch& search) {
  if (search.devices().empty()) return take_host_communication(search);
  const std::set<std::uint32_t> of_pipeline = sends_and_receives(search);
  take_communication(search, FindingKind::kPipelineBubble, of_pipeline);
  take_communication(search, FindingKind::kExposedCommunication, of_pipeline);
}

void find_fusions(FindingSearch& search) {
  const Trace& trace = search.trace();
  const std::vector<Run> runs = fusible_runs(search);
  if (runs.empty()) return;
  CandidateCause candidate{.kind = FindingKind::kLaunchBound, .least_gain = 0.02};
  candidate.what_if.duration_ns = recorded_durations(trace);
  std::vector<Span> host, device;
  std::size_t kernels = 0;
  const Run* longest = &runs.front();
  for (const Run& run : runs) {
    bool has_kept = false;
    for (const std::uint32_t row : run.rows) {
      std::int64_t& duration = candidate.what_if.duration_ns[row];
      if (!has_kept && duration == run.longest_ns) {
        has_kept = true;
      } else {
        duration = WhatIf::kRemoved;
      }
    }
    kernels += run.rows.size();
    candidate.fused_ns += run.total_ns - run.longest_ns;
    if (const Span span = launching_time(search, run); span.end > span.start) host.push_back(span);
    device.push_back({trace.events.start_ns[trace.gpu[run.rows.front()].event],
                      trace.events.end_ns(trace.gpu[run.rows.back()].event)});
    if (run.rows.size() > longest->rows.size()) longest = &run;
  }
  candidate.what_if.host_removed = merged(std::move(host));
  candidate.time = merged(std::move(device));
  candidate.evidence = fmt::format(
      "{} element-wise kernels under {} run in {} sequences, the longest of {}: each takes about as long as "
      "its launch",
      kernels, format_time_ns(static_cast<double>(kTinyKernelNs)), runs.size(), longest->rows.size());
  candidate.event = search.launch()[longest->rows.front()];
  name_sequences(search, runs, candidate);
  candidate.fix = search.advice(Advice::kFuseKernels);
  search.take(std::move(candidate));
}

namespace {

/// Nullptr if unknown.
const DevicePeaks* peaks_of_busiest(const FindingSearch& search) {
  if (search.devices().empty()) return nullptr;
  const DeviceTimes& busiest = *std::ranges::max_element(
      search.devices(), {}, [](const DeviceTimes& device) { return device.breakdown.compute_ns; });
  const auto of_device = std::ranges::find(search.trace().devices, busiest.device, &DeviceProperties::id);
  if (of_device == search.trace().devices.end()) return nullptr;
  return find_device_peaks(of_device->name, of_device->total_memory_bytes);
}

struct SlowOperator {
  NameId op = kNoName;
  double device_ns = 0, roof_ns = 0;
  const RooflineRow* longest = nullptr;  ///< the shapes with the most time
  std::vector<Span> times;               ///< unsorted
  std::map<NameId, std::int64_t> kernels;
  std::vector<std::pair<std::uint32_t, std::int64_t>> calls;  ///< by operator event
  double above_ns() const { return device_ns - roof_ns; }
};

bool is_far(const Trace& trace, const RooflineRow& row) {
  // Large memory-bound operators reach most of the bandwidth; the peak share of products depends on their
  // shapes.
  constexpr double kFarMemory = 0.6, kFarProduct = 0.15;
  constexpr double kLargeNs = 20'000;
  if (row.roof_ns <= 0 || row.calls == 0 || row.device_ns / static_cast<double>(row.calls) < kLargeNs)
    return false;
  const bool is_product = row.is_product || contains(trace.names[row.op], "attention");
  return row.roof_ns / row.device_ns < (is_product ? kFarProduct : kFarMemory);
}

std::vector<SlowOperator> far_operators(const Trace& trace, const Roofline& found) {
  std::map<NameId, SlowOperator> by_op;
  std::unordered_map<std::uint32_t, SlowOperator*> of_call;
  for (const RooflineRow& row : found.rows) {
    if (!is_far(trace, row)) continue;
    SlowOperator& far = by_op[row.op];
    far.op = row.op;
    far.device_ns += row.device_ns;
    far.roof_ns += row.roof_ns;
    if (far.longest == nullptr) far.longest = &row;
    for (const std::uint32_t call : row.call_events) of_call[call] = &far;
  }
  for (std::uint32_t row = 0; row < trace.gpu.size(); ++row) {
    const auto call = of_call.find(found.call_of[row]);
    if (call == of_call.end()) continue;
    SlowOperator& far = *call->second;
    const std::uint32_t event = trace.gpu[row].event;
    far.times.push_back({trace.events.start_ns[event], trace.events.end_ns(event)});
    std::int64_t& of_kernel = far.kernels[trace.events.name[event]];
    of_kernel = saturating_add(of_kernel, trace.events.duration_ns[event]);
    far.calls.emplace_back(call->first, trace.events.duration_ns[event]);
  }
  std::vector<SlowOperator> sorted;
  for (auto& [op, far] : by_op) sorted.push_back(std::move(far));
  std::ranges::sort(sorted, std::greater{},
                    [](const SlowOperator& far) { return std::pair(far.above_ns(), far.op); });
  return sorted;
}

NameId main_kernel(const SlowOperator& far) {
  return std::ranges::max_element(far.kernels, {}, [](const auto& entry) { return entry.second; })->first;
}

std::string neighbours_text(const FindingSearch& search, const std::vector<KernelSequence>& sequences,
                            NameId kernel) {
  for (const KernelSequence& sequence : sequences) {
    if (std::ranges::find(sequence.names, kernel) == sequence.names.end()) continue;
    return fmt::format("; the sequence {} occurs {} times and takes {}",
                       sequence_text(search.trace(), sequence), sequence.count,
                       search.per_step(static_cast<double>(sequence.total_ns)));
  }
  return "";
}

std::string shapes_text(const Trace& trace, NameId dims) {
  constexpr std::size_t kMostShapes = 80;
  return shortened(single_line(trace.names[dims]), kMostShapes);
}

CandidateCause candidate_cause(const FindingSearch& search, SlowOperator far) {
  const Trace& trace = search.trace();
  const RooflineRow& row = *far.longest;
  CandidateCause candidate{.kind = FindingKind::kKernelBelowRoof};
  candidate.place = trace.names[far.op];
  candidate.event = search.main_event(far.calls);
  candidate.evidence =
      fmt::format("{0} runs at {4} of {3}; {1} of {2} recoverable, mostly in {5} with {6}", candidate.place,
                  format_time_ns(far.above_ns() / search.step_count()), search.per_step(far.device_ns),
                  row.compute_ns > row.memory_ns ? "peak compute" : "peak bandwidth",
                  format_percent(far.roof_ns / far.device_ns), readable_name(trace.names[main_kernel(far)]),
                  shapes_text(trace, row.dims));
  candidate.time = merged(std::move(far.times));
  candidate.fix = search.advice(row.is_product ? Advice::kFasterProduct : Advice::kFuseNeighbours);
  return candidate;
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
  std::vector<SlowOperator> far = far_operators(trace, found);
  if (far.size() > kMostOps) far.resize(kMostOps);
  std::erase_if(far, [&](const SlowOperator& one) {
    return !search.is_enough(one.above_ns() / search.step_count(), 0.03);
  });
  if (far.empty()) return;
  const std::vector<KernelSequence> sequences =
      kernel_sequences(trace, kernel_categories(trace, search.types()), kMostSequences);
  for (SlowOperator& one : far) {
    const double gain = one.above_ns() / search.step_count();
    const std::string neighbours =
        one.longest->is_product ? "" : neighbours_text(search, sequences, main_kernel(one));
    CandidateCause candidate = candidate_cause(search, std::move(one));
    candidate.evidence += neighbours;
    search.add(std::move(candidate), gain);
  }
}

}  // namespace headroom::trace
