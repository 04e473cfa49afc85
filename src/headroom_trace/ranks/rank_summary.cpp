// SPDX-License-Identifier: Apache-2.0
#include "headroom_trace/ranks/rank_summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "headroom/base/error.h"
#include "headroom_trace/columns/attribution.h"
#include "headroom_trace/columns/kernel_names.h"
#include "headroom_trace/columns/trace_facts.h"

namespace headroom::trace {
namespace {

Span recorded_span(const TraceIndex& index) {
  const std::vector<Step>& steps = index.steps().steps;
  if (steps.empty()) {
    const Extent extent = gpu_extent(index.trace());
    return {extent.start_ns, extent.end_ns};
  }
  Span recorded{steps.front().start_ns, steps.front().end_ns};
  for (const Step& step : steps) recorded.end = std::max(recorded.end, step.end_ns);
  return recorded;
}

/// Step annotations and host names of communication.
bool is_collective_or_step(std::string_view name) {
  return is_step_name(name) || name == "record_param_comms" || !collective_name(name).empty();
}

class OpTimes {
 public:
  explicit OpTimes(const TraceIndex& index)
      : index_(index),
        trace_(index.trace()),
        window_(index.window()),
        host_ns_(trace_.names.size()),
        device_ns_(trace_.names.size()) {
    add_host();
    add_devices();
  }

  std::vector<OpTime> longest() const {
    constexpr std::size_t kMostOps = 200;
    const auto steps = static_cast<double>(std::max<std::size_t>(1, index_.steps().measured().size()));
    std::vector<OpTime> ops;
    for (NameId name = 0; name < host_ns_.size(); ++name) {
      const auto host = static_cast<double>(host_ns_[name]), device = static_cast<double>(device_ns_[name]);
      if (host > 0 || device > 0)
        ops.push_back({std::string(trace_.names[name]), device / steps, host / steps});
    }
    const std::size_t kept = std::min(ops.size(), kMostOps);
    std::ranges::partial_sort(ops, ops.begin() + static_cast<std::ptrdiff_t>(kept), std::greater{},
                              [](const OpTime& op) { return op.device_ns + op.host_ns; });
    ops.resize(kept);
    return ops;
  }

 private:
  bool is_inside(std::uint32_t event) const {
    const std::int64_t start = trace_.events.start_ns[event];
    return start >= window_.start && start < window_.end && trace_.events.name[event] != kNoName;
  }

  void add_host() {
    const std::vector<std::int64_t> self_ns = self_times(trace_, index_.host());
    for (const std::uint32_t event : index_.host().events) {
      if (is_inside(event)) host_ns_[trace_.events.name[event]] += self_ns[event];
    }
    for (NameId name = 0; name < host_ns_.size(); ++name) {
      if (host_ns_[name] > 0 && is_collective_or_step(trace_.names[name])) host_ns_[name] = 0;
    }
  }

  void add_devices() {
    const Events& events = trace_.events;
    for (std::uint32_t row = 0; row < trace_.gpu.size(); ++row) {
      const std::uint32_t event = trace_.gpu[row].event, op = op_of(row);
      if (index_.types()[row] == KernelType::kCommunication || !is_inside(event)) continue;
      device_ns_[events.name[op == kNone ? event : op]] += events.duration_ns[event];
    }
  }

  std::uint32_t op_of(std::uint32_t row) const {
    std::uint32_t event = index_.launches()[row];
    while (event != kNone && trace_.events.category[event] != Category::kCpuOp)
      event = index_.host().parent[event];
    return event;
  }

  const TraceIndex& index_;
  const Trace& trace_;
  Span window_;
  std::vector<std::int64_t> host_ns_, device_ns_;  ///< by name
};

}  // namespace

RankSummary rank_summary(const TraceIndex& index) {
  RankSummary summary;
  summary.steps = std::ssize(index.steps().steps);
  summary.recorded = recorded_span(index);
  const auto measured = static_cast<double>(std::max<std::size_t>(1, index.steps().measured().size()));
  summary.shares.step_ns = static_cast<double>(index.device_windows().length_ns) / measured;
  summary.calls = index.calls();
  return summary;
}

RankSummary rank_summary(const TraceIndex& index, TraceFindings found) {
  RankSummary summary = rank_summary(index);
  summary.shares = found.shares;
  summary.findings = std::move(found.findings);
  if (!summary.calls.empty()) summary.ops = OpTimes(index).longest();
  return summary;
}

const RankSummary& summary_of(const RankResult& rank) {
  if (rank.result.summary == nullptr)
    throw Error(fmt::format("the result of rank {} has nothing to combine; was it made by another version?",
                            rank.rank));
  return *rank.result.summary;
}

std::vector<std::vector<CollectiveCall>> calls_of(std::span<const RankResult> ranks) {
  std::vector<std::vector<CollectiveCall>> calls;
  for (const RankResult& rank : ranks) calls.push_back(summary_of(rank).calls);
  return calls;
}

}  // namespace headroom::trace
