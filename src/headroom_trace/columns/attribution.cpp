// SPDX-License-Identifier: Apache-2.0
#include "headroom_trace/columns/attribution.h"

#include <algorithm>
#include <limits>
#include <unordered_map>

#include "headroom/base/text.h"
#include "headroom_trace/columns/kernel_names.h"
#include "headroom_trace/columns/process_spaces.h"
#include "headroom_trace/columns/trace_facts.h"

namespace headroom::trace {
namespace {

constexpr CategoryMask kLaunchers = mask_of(Category::kRuntime) | mask_of(Category::kDriver);

/// An array, or a hash table for sparse numbers.
class CallsByCorrelation {
 public:
  CallsByCorrelation(const Trace& trace, const ProcessSpaces& spaces, std::uint32_t space) {
    std::int64_t last = std::numeric_limits<std::int64_t>::min();
    first_ = std::numeric_limits<std::int64_t>::max();
    const auto for_each = [&](auto take) {
      for (const GpuDetail& work : trace.gpu) {
        const std::int64_t correlation = trace.events.correlation[work.event];
        if (correlation != kNoCorrelation && spaces.of(trace, work.event) == space) take(correlation);
      }
    };
    for_each([&](std::int64_t correlation) {
      first_ = std::min(first_, correlation);
      last = std::max(last, correlation);
    });
    if (first_ > last) return;
    constexpr std::uint64_t kMostApart = 32;
    const std::uint64_t apart = static_cast<std::uint64_t>(last) - static_cast<std::uint64_t>(first_);
    if (apart / kMostApart < trace.gpu.size()) {
      places_.assign(apart + 1, kNobodyAsks);
      for_each([&](std::int64_t correlation) { places_[place_of(correlation)] = kNone; });
    } else {
      for_each([&](std::int64_t correlation) { far_apart_.emplace(correlation, kNone); });
    }
  }

  /// Nullptr if no GPU work has the correlation; kNone until set.
  std::uint32_t* find(std::int64_t correlation) {
    if (places_.empty()) {
      const auto found = far_apart_.find(correlation);
      return found == far_apart_.end() ? nullptr : &found->second;
    }
    const std::uint64_t place = place_of(correlation);
    return place < places_.size() && places_[place] != kNobodyAsks ? &places_[place] : nullptr;
  }

 private:
  static constexpr std::uint32_t kNobodyAsks = kNone - 1;
  /// Lower numbers wrap beyond the last.
  std::uint64_t place_of(std::int64_t correlation) const {
    return static_cast<std::uint64_t>(correlation) - static_cast<std::uint64_t>(first_);
  }

  std::int64_t first_ = 0;
  std::vector<std::uint32_t> places_;
  std::unordered_map<std::int64_t, std::uint32_t> far_apart_;
};

}  // namespace

bool has_launchers(const Trace& trace) {
  return std::ranges::any_of(trace.events.category,
                             [](Category category) { return (mask_of(category) & kLaunchers) != 0; });
}

std::vector<std::uint32_t> launches(const Trace& trace) {
  const Events& events = trace.events;
  if (!has_launchers(trace)) return std::vector<std::uint32_t>(trace.gpu.size(), kNone);
  const ProcessSpaces spaces = process_spaces(trace);
  std::vector<CallsByCorrelation> calls;
  for (std::uint32_t space = 0; space < spaces.count; ++space) calls.emplace_back(trace, spaces, space);
  for (std::uint32_t i = 0; i < events.size(); ++i) {
    if ((mask_of(events.category[i]) & kLaunchers) == 0) continue;
    std::uint32_t* const call = calls[spaces.of(trace, i)].find(events.correlation[i]);
    // A driver call inside a runtime call may share the number: the outer one is the launch.
    if (call == nullptr) continue;
    if (*call == kNone || events.duration_ns[i] > events.duration_ns[*call]) *call = i;
  }
  std::vector<std::uint32_t> launch(trace.gpu.size(), kNone);
  for (std::size_t row = 0; row < trace.gpu.size(); ++row) {
    const std::uint32_t event = trace.gpu[row].event;
    const std::int64_t correlation = events.correlation[event];
    if (correlation != kNoCorrelation) launch[row] = *calls[spaces.of(trace, event)].find(correlation);
  }
  return launch;
}

void for_each_launch_call(const Trace& trace,
                          const std::function<void(std::uint32_t call, bool has_work)>& take) {
  const Events& events = trace.events;
  CallsByCorrelation launched(trace, {}, 0);
  NamePredicate is_launch(
      trace, [](std::string_view name) { return contains(name, "Launch") && !contains(name, "HostFunc"); });
  for (std::uint32_t event = 0; event < events.size(); ++event) {
    if ((mask_of(events.category[event]) & kLaunchers) == 0) continue;
    const std::int64_t correlation = events.correlation[event];
    if (correlation == kNoCorrelation || !is_launch(events.name[event])) continue;
    take(event, launched.find(correlation) != nullptr);
  }
}

std::vector<std::uint32_t> launching_ops(const Trace& trace, std::span<const std::uint32_t> launch) {
  return launching_ops(trace, launch, parents(trace, mask_of(Category::kCpuOp), kLaunchers));
}

std::vector<std::uint32_t> launching_ops(const Trace& trace, std::span<const std::uint32_t> launch,
                                         const std::vector<std::uint32_t>& parent) {
  const ProcessSpaces spaces = process_spaces(trace);
  NamePredicate is_graph_launch(trace, [](std::string_view name) { return contains(name, "GraphLaunch"); });
  std::vector<std::unordered_map<std::int64_t, std::uint32_t>> by_external_id(spaces.count);
  for (const OpDetail& op : trace.ops) {
    if (op.external_id > 0 && trace.events.category[op.event] == Category::kCpuOp)
      by_external_id[spaces.of(trace, op.event)].emplace(op.external_id, op.event);
  }
  // Graph nodes have the external id of the capture. A CANN call may launch several kernels.
  const bool may_have_several = trace.writer == Writer::kAscend;
  std::vector<bool> has_work(trace.events.size()), is_graph(trace.events.size());
  for (const std::uint32_t call : launch) {
    if (call == kNone) continue;
    is_graph[call] = (has_work[call] && !may_have_several) || is_graph_launch(trace.events.name[call]);
    has_work[call] = true;
  }
  std::vector<std::uint32_t> op(trace.gpu.size(), kNone);
  for (std::size_t row = 0; row < op.size(); ++row) {
    if (launch[row] != kNone) op[row] = parent[launch[row]];
    if (op[row] != kNone || (launch[row] != kNone && is_graph[launch[row]])) continue;
    const auto& ops = by_external_id[spaces.of(trace, trace.gpu[row].event)];
    const auto found = ops.find(trace.gpu[row].external_id);
    if (found != ops.end()) op[row] = found->second;
  }
  return op;
}

std::vector<bool> matmul_or_convolution(const Trace& trace) {
  const Events& events = trace.events;
  const std::vector<std::uint32_t> parent =
      parents(trace, mask_of(Category::kCpuOp),
              mask_of(Category::kCpuOp) | mask_of(Category::kRuntime) | mask_of(Category::kDriver));
  const std::vector<std::uint32_t> op = launching_ops(trace, launches(trace), parent);
  NamePredicate is_matmul_kernel(trace, is_matmul_or_convolution_kernel),
      is_matmul_op(trace, is_matmul_or_convolution_op), is_generic(trace, is_generic_kernel);
  std::vector<std::uint8_t> is_in_matmul_op(events.size(), 0);
  for (const std::uint32_t of : nesting_order(trace, mask_of(Category::kCpuOp)))
    is_in_matmul_op[of] =
        is_matmul_op(events.name[of]) || (parent[of] != kNone && is_in_matmul_op[parent[of]] != 0);
  std::vector<bool> rows(trace.gpu.size(), false);
  for (std::size_t row = 0; row < rows.size(); ++row) {
    const std::uint32_t event = trace.gpu[row].event;
    if (events.category[event] != Category::kKernel) continue;
    const NameId name = events.name[event];
    const bool is_of_op = op[row] != kNone && is_in_matmul_op[op[row]] != 0;
    rows[row] = is_of_op ? !is_generic(name) : is_matmul_kernel(name);
  }
  return rows;
}

std::vector<bool> matmul_or_convolution_by_name(const Trace& trace) {
  NamePredicate is_matmul_kernel(trace, is_matmul_or_convolution_kernel);
  std::vector<bool> rows(trace.gpu.size(), false);
  for (std::size_t row = 0; row < rows.size(); ++row) {
    const std::uint32_t event = trace.gpu[row].event;
    rows[row] =
        trace.events.category[event] == Category::kKernel && is_matmul_kernel(trace.events.name[event]);
  }
  return rows;
}

}  // namespace headroom::trace
