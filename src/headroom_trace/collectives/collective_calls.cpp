// SPDX-License-Identifier: Apache-2.0
#include "headroom_trace/collectives/collective_calls.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "headroom_trace/columns/attribution.h"
#include "headroom_trace/columns/spans.h"
#include "headroom_trace/columns/tensor_arguments.h"
#include "headroom_trace/columns/trace_facts.h"

namespace headroom::trace {
namespace {

constexpr std::string_view kAnnotationPrefix = "nccl:";
/// Larger messages mean a damaged trace.
constexpr double kNoMessage = 0x1p63;

struct Around {
  std::uint32_t collective = kNone;  ///< row of Trace::collectives, of record_param_comms
  std::uint32_t annotation = kNone;  ///< event: "nccl:all_reduce"
  std::uint32_t call = kNone;        ///< event: the outer of the two
};

Around around(const Trace& trace, const std::vector<std::uint32_t>& parent, std::uint32_t launch) {
  Around found;
  if (launch == kNone) return found;
  for (std::uint32_t event = parent[launch]; event != kNone; event = parent[event]) {
    const std::uint32_t detail = trace.events.detail[event];
    if (found.collective == kNone && detail != kNone && trace.ops[detail].collective != kNone) {
      found.collective = trace.ops[detail].collective;
      found.call = event;
    }
    if (found.annotation == kNone && trace.event_name(event).starts_with(kAnnotationPrefix)) {
      found.annotation = event;
      found.call = event;
    }
  }
  return found;
}

void fill(const Trace& trace, std::uint32_t row, CollectiveCall& call) {
  if (row == kNone) return;
  const Collective& said = trace.collectives[row];
  if (call.collective.empty()) call.collective = collective_name(trace.names[said.name]);
  if (call.group.empty()) {
    call.group = trace.names[said.group];
    call.group_ranks = trace.names[said.ranks];
    call.group_size = said.group_size;
  }
  if (call.dtype.empty()) call.dtype = trace.names[said.dtype];
  if (call.elements_in < 0) call.elements_in = said.elements_in;
  if (call.elements_out < 0) call.elements_out = said.elements_out;
}

/// Uses "nccl:all_reduce" and its first argument.
void fill_from_annotation(const Trace& trace, std::uint32_t event, CollectiveCall& call) {
  if (event == kNone) return;
  if (call.collective.empty()) call.collective = collective_name(trace.event_name(event));
  const std::uint32_t detail = trace.events.detail[event];
  if (detail == kNone || call.elements_in >= 0 || !call.dtype.empty()) return;
  const OpDetail& op = trace.ops[detail];
  const std::vector<TensorArgument> arguments = tensor_arguments(trace.names[op.dims], trace.names[op.types]);
  if (arguments.empty() || !arguments.front().is_tensor()) return;
  call.dtype = arguments.front().type;
  call.elements_in = elements_of(arguments.front().shape());
}

/// "ncclDevKernel_Generic" for "ncclDevKernel_Generic(ncclDevKernelArgsStorage<4096ul>)".
std::string name_without_arguments(std::string_view kernel) {
  const std::string base = kernel_base_name(kernel);
  const std::size_t arguments = base.find('(');
  return arguments == 0 || arguments == std::string::npos ? base : base.substr(0, arguments);
}

std::int64_t iteration_at(std::span<const Step> all, std::int64_t at_ns) {
  const auto after = std::ranges::upper_bound(all, at_ns, {}, &Step::start_ns);
  return after != all.begin() && at_ns < std::prev(after)->end_ns ? std::prev(after)->number : -1;
}

class CallList {
 public:
  CallList(const Trace& trace, std::span<const std::uint32_t> launch, std::span<const KernelType> types,
           std::span<const Step> steps)
      : trace_(trace),
        launch_(launch),
        parent_(parents(trace, mask_of(Category::kCpuOp) | mask_of(Category::kUserAnnotation),
                        mask_of(Category::kRuntime) | mask_of(Category::kDriver))),
        steps_(steps),
        types_(types) {
    std::map<std::int32_t, std::vector<Span>> computing;
    std::map<std::int32_t, std::vector<Launched>> launched;
    for (std::uint32_t row = 0; row < trace.gpu.size(); ++row) {
      if (types_[row] != KernelType::kCompute) continue;
      const std::uint32_t event = trace.gpu[row].event;
      const std::int32_t device = device_of(trace, trace.gpu[row]);
      computing[device].push_back({trace.events.start_ns[event], trace.events.end_ns(event)});
      if (launch_[row] != kNone)
        launched[device].push_back({trace.events.start_ns[launch_[row]], trace.events.end_ns(event)});
    }
    for (auto& [device, spans] : computing) computing_[device] = merged(std::move(spans));
    for (auto& [device, all] : launched) {
      std::ranges::stable_sort(all, {}, &Launched::at_ns);
      for (std::size_t i = 1; i < all.size(); ++i) all[i].end_ns = std::max(all[i].end_ns, all[i - 1].end_ns);
      launched_[device] = std::move(all);
    }
  }

  std::vector<CollectiveCall> calls() {
    std::vector<std::pair<std::uint32_t, Around>> rows;
    std::unordered_map<std::uint32_t, int> kernels_of_call;
    for (std::uint32_t row = 0; row < trace_.gpu.size(); ++row) {
      if (types_[row] != KernelType::kCommunication) continue;
      rows.emplace_back(row, around(trace_, parent_, launch_[row]));
      ++kernels_of_call[rows.back().second.call];
    }
    std::ranges::stable_sort(
        rows, {}, [&](const auto& one) { return trace_.events.start_ns[trace_.gpu[one.first].event]; });
    std::vector<CollectiveCall> calls;
    calls.reserve(rows.size());
    for (const auto& [row, where] : rows)
      calls.push_back(call_of(row, where, where.call != kNone && kernels_of_call[where.call] == 1));
    std::map<std::pair<std::string_view, std::string_view>, std::int64_t> seen;
    for (CollectiveCall& call : calls) call.index = seen[{call.group, call.group_ranks}]++;
    return calls;
  }

 private:
  struct Launched {
    std::int64_t at_ns, end_ns;
  };

  void set_computing_around(std::uint32_t launch, CollectiveCall& call) const {
    call.exposed_ns = call.exposed_tail_ns = call.duration_ns;
    if (const auto found = computing_.find(call.device); found != computing_.end()) {
      const Spans& computing = found->second;
      call.exposed_ns -= length_within(computing, {call.start_ns, call.end_ns()});
      const auto after = std::ranges::upper_bound(computing, call.end_ns(), {}, &Span::start);
      if (after != computing.begin())
        call.exposed_tail_ns =
            std::clamp<std::int64_t>(call.end_ns() - std::prev(after)->end, 0, call.duration_ns);
    }
    const auto launched = launched_.find(call.device);
    if (launch == kNone || launched == launched_.end()) return;
    const auto later =
        std::ranges::upper_bound(launched->second, trace_.events.start_ns[launch], {}, &Launched::at_ns);
    if (later != launched->second.begin())
      call.ready_for_ns = std::max<std::int64_t>(0, call.start_ns - std::prev(later)->end_ns);
  }

  /// `is_alone`: the only communication kernel of its launch, so sizes apply.
  CollectiveCall call_of(std::uint32_t row, const Around& where, bool is_alone) const {
    const GpuDetail& work = trace_.gpu[row];
    CollectiveCall call;
    call.event = work.event;
    call.kernel = trace_.event_name(work.event);
    call.device = device_of(trace_, work);
    call.stream = work.stream;
    call.start_ns = trace_.events.start_ns[work.event];
    call.duration_ns = trace_.events.duration_ns[work.event];
    set_computing_around(launch_[row], call);
    fill(trace_, work.collective, call);
    const double own_in = call.elements_in, own_out = call.elements_out;
    fill(trace_, where.collective, call);
    fill_from_annotation(trace_, where.annotation, call);
    if (!is_alone) {
      call.elements_in = own_in;
      call.elements_out = own_out;
    }
    if (call.collective.empty()) call.collective = collective_name(call.kernel);
    if (call.collective.empty()) call.collective = name_without_arguments(call.kernel);
    if (call.group.empty()) call.group = fmt::format("stream {}", call.stream);
    call.bytes = message_bytes(call);
    const std::uint32_t launch = launch_[row];
    call.iteration = iteration_at(steps_, launch != kNone ? trace_.events.start_ns[launch] : call.start_ns);
    return call;
  }

  const Trace& trace_;
  std::span<const std::uint32_t> launch_;
  std::vector<std::uint32_t> parent_;
  std::span<const Step> steps_;
  std::span<const KernelType> types_;
  std::map<std::int32_t, Spans> computing_;  ///< by device
  std::map<std::int32_t, std::vector<Launched>> launched_;
};

}  // namespace

std::vector<CollectiveCall> collective_calls(const Trace& trace, std::span<const std::uint32_t> launch,
                                             std::span<const KernelType> types, std::span<const Step> steps) {
  if (std::ranges::find(types, KernelType::kCommunication) == types.end()) return {};
  return CallList(trace, launch, types, steps).calls();
}

DataTable collective_table(const std::vector<CollectiveCall>& calls) {
  DataTable table{
      "collective_calls",
      "communication kernels",
      {Column::text("group"), Column::text("group_ranks", "ranks").detail(),
       Column::count("group_size", "size").detail(), Column::count("index").identifying(),
       Column::text("collective").main(), Column::text("kernel").detail(), Column::text("dtype").detail(),
       Column::number("elements_in", "in").detail(), Column::number("elements_out", "out").detail(),
       Column::bytes("bytes").main(), Column::count("device").detail(), Column::count("stream").detail(),
       Column::count("iteration").detail(), Column::instant("start_ns"), Column::time("duration_ns").main(),
       Column::time("exposed_ns").main()},
      {},
      true};
  for (const CollectiveCall& call : calls) {
    table.rows.push_back({call.group, call.group_ranks, call.group_size, call.index, call.collective,
                          call.kernel, call.dtype, call.elements_in, call.elements_out, call.bytes,
                          std::int64_t{call.device}, call.stream, call.iteration, call.start_ns,
                          call.duration_ns, call.exposed_ns});
  }
  return table;
}

std::string collective_name(std::string_view name) {
  std::string letters;
  for (const char c : name) {
    if (c >= 'A' && c <= 'Z') letters += static_cast<char>(c - 'A' + 'a');
    if (c >= 'a' && c <= 'z') letters += c;
  }
  // vLLM: cross_device_reduce_1stage, _2stage.
  if (letters.find("crossdevicereduce") != std::string::npos) return "all_reduce";
  using Entry = std::pair<std::string_view, std::string_view>;
  static constexpr std::array kNames{
      Entry{"allreduce", "all_reduce"},   Entry{"reducescatter", "reduce_scatter"},
      Entry{"allgather", "all_gather"},   Entry{"alltoall", "all_to_all"},
      Entry{"broadcast", "broadcast"},    Entry{"sendrecv", "send_recv"},
      Entry{"barrier", "barrier"},        Entry{"devkernelreduce", "reduce"},
      Entry{"ncclkernelreduce", "reduce"}};
  for (const auto& [part, canonical] : kNames) {
    if (letters.find(part) != std::string::npos) return std::string(canonical);
  }
  if (letters.starts_with("nccl") && !letters.starts_with("nccldevkernel") &&
      !letters.starts_with("ncclkernel"))
    letters.erase(0, 4);
  for (const std::string_view whole : {"reduce", "gather", "scatter", "send", "recv"}) {
    if (letters == whole) return letters;
  }
  return "";
}

double message_bytes(const CollectiveCall& call) {
  const double width = element_bytes(call.dtype);
  double elements = std::max(call.elements_in, call.elements_out);
  const double ranks = call.group_size > 0 ? static_cast<double>(call.group_size) : -1;
  // One side is n times smaller.
  if (call.collective == "all_gather") {
    elements = call.elements_out >= 0 ? call.elements_out : call.elements_in * ranks;
  } else if (call.collective == "reduce_scatter") {
    elements = call.elements_in >= 0 ? call.elements_in : call.elements_out * ranks;
  } else if (call.elements_in >= 0) {
    elements = call.elements_in;
  }
  const double bytes = elements * width;
  const bool is_known = width > 0 && elements >= 0 && (call.elements_in >= 0 || call.elements_out >= 0);
  return is_known && bytes < kNoMessage ? bytes : -1;
}

}  // namespace headroom::trace
