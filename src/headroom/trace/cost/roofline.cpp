// SPDX-License-Identifier: Apache-2.0
#include "headroom/trace/cost/roofline.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>
#include <unordered_map>

#include "headroom/base/text.h"
#include "headroom/trace/columns/attribution.h"
#include "headroom/trace/columns/kernel_type.h"

namespace headroom::trace {
namespace {

bool is_host_copy(std::string_view name) {
  return contains(name, "HtoD") || contains(name, "DtoH") || contains(name, "HtoH") ||
         contains(name, "HostToDevice") || contains(name, "DeviceToHost");
}

/// The kernel's name says that it rounds float32 to TF32: cuBLAS and cuDNN name it, CUTLASS names the
/// instruction (m16n8k8 of float32 inputs).
bool is_tf32_kernel(std::string_view name) {
  return contains(name, "tf32") || contains(name, "s1688gemm") || contains(name, "s1688fprop") ||
         contains(name, "s1688dgrad") || contains(name, "s1688wgrad");
}

/// The call of a known operator that launched something.
struct Instance {
  std::uint32_t event = 0;
  OpCost cost;
  double device_ns = 0;
  bool has_own_work = false;     ///< it is the innermost operator of some of its work
  bool is_around_known = false;  ///< another instance is inside it
};

class RooflineBuilder {
 public:
  RooflineBuilder(const Trace& trace, const DevicePeaks& peaks) : trace_(trace), peaks_(peaks) {}

  Roofline build() {
    assign();
    mark_outer();
    roofline_.call_of.assign(trace_.gpu.size(), kNone);
    for (std::uint32_t row = 0; row < trace_.gpu.size(); ++row) settle(row);
    add_rows();
    return std::move(roofline_);
  }

 private:
  double duration_of(std::uint32_t row) const {
    return static_cast<double>(trace_.events.duration_ns[trace_.gpu[row].event]);
  }
  const OpDetail* detail_of(std::uint32_t event) const {
    const std::uint32_t detail = event == kNone ? kNone : trace_.events.detail[event];
    return detail == kNone ? nullptr : &trace_.ops[detail];
  }
  OpCall call_of(std::uint32_t event) const {
    OpCall call;
    call.name = trace_.names[trace_.events.name[event]];
    if (const OpDetail* detail = detail_of(event)) {
      call.arguments = tensor_arguments(trace_.names[detail->dims], trace_.names[detail->types]);
      call.values = text_list(trace_.names[detail->values]);
    }
    return call;
  }

  /// The cost of the call, worked out once for each name and arguments.
  const std::optional<OpCost>& cost_of(std::uint32_t event) {
    const OpDetail* detail = detail_of(event);
    const std::uint32_t outer = parent_[event];
    const OpDetail* around = detail_of(outer);
    const CostKey key{trace_.events.name[event],
                      detail == nullptr ? kNoName : detail->dims,
                      detail == nullptr ? kNoName : detail->types,
                      detail == nullptr ? kNoName : detail->values,
                      around == nullptr ? kNoName : around->dims,
                      around == nullptr ? kNoName : around->types};
    const auto [place, is_new] = costs_.try_emplace(key);
    if (is_new) {
      const OpCall call = call_of(event);
      if (outer == kNone) {
        place->second = op_cost(call, nullptr);
      } else {
        const OpCall parent = call_of(outer);
        place->second = op_cost(call, &parent);
      }
    }
    return place->second;
  }

  /// Gives each piece of work its kind and, where there is one, its instance.
  void assign() {
    const std::vector<KernelType> types = kernel_types(trace_);
    parent_ = parents(trace_, mask_of(Category::kCpuOp),
                      mask_of(Category::kCpuOp) | mask_of(Category::kRuntime) | mask_of(Category::kDriver));
    op_ = launching_ops(trace_, parent_);
    instance_of_.assign(trace_.gpu.size(), kNone);
    kind_.assign(trace_.gpu.size(), Coverage::kUnknown);
    for (std::uint32_t row = 0; row < trace_.gpu.size(); ++row) {
      const std::uint32_t event = trace_.gpu[row].event;
      const std::string_view name = trace_.names[trace_.events.name[event]];
      if (types[row] == KernelType::kCommunication) {
        kind_[row] = Coverage::kCommunication;
      } else if (trace_.events.category[event] == Category::kGpuMemcpy && is_host_copy(name)) {
        kind_[row] = Coverage::kHostCopy;
      } else if (op_[row] == kNone) {
        kind_[row] = Coverage::kNoOp;
      } else {
        assign_to_op(row, name);
      }
    }
  }

  void assign_to_op(std::uint32_t row, std::string_view kernel) {
    for (std::uint32_t event = op_[row]; event != kNone; event = parent_[event]) {
      const std::optional<OpCost>& cost = cost_of(event);
      if (!cost) continue;
      const auto [place, is_new] =
          by_event_.try_emplace(event, static_cast<std::uint32_t>(instances_.size()));
      if (is_new) instances_.push_back({event, *cost});
      Instance& instance = instances_[place->second];
      if (instance.cost.math == MathType::kF32 && instance.cost.is_product && is_tf32_kernel(kernel))
        instance.cost.math = MathType::kTf32;
      if (event == op_[row]) instance.has_own_work = true;
      instance_of_[row] = place->second;
      return;
    }
  }

  void mark_outer() {
    for (const Instance& inner : instances_) {
      for (std::uint32_t event = parent_[inner.event]; event != kNone; event = parent_[event]) {
        if (const auto found = by_event_.find(event); found != by_event_.end())
          instances_[found->second].is_around_known = true;
      }
    }
  }

  void settle(std::uint32_t row) {
    if (instance_of_[row] != kNone) {
      Instance& instance = instances_[instance_of_[row]];
      // Else its cost would count twice: here, and in the operators inside it that did the work.
      if (instance.has_own_work || !instance.is_around_known) {
        instance.device_ns += duration_of(row);
        kind_[row] = Coverage::kKnown;
        roofline_.call_of[row] = instance.event;
      }
    }
    const auto kind = static_cast<std::size_t>(kind_[row]);
    roofline_.covered_ns[kind] += duration_of(row);
    ++roofline_.covered_works[kind];
    if (kind_[row] != Coverage::kUnknown) return;
    Roofline::Unknown& unknown = unknown_[trace_.events.name[op_[row]]];
    unknown.op = trace_.events.name[op_[row]];
    ++unknown.works;
    unknown.device_ns += duration_of(row);
  }

  void add_rows() {
    // The cost tells calls apart whose difference is in arguments that are no tensors: a convolution's
    // strides.
    using Key = std::tuple<NameId, NameId, NameId, NameId, MathType, double, double>;
    std::map<Key, RooflineRow> rows;
    for (const Instance& instance : instances_) {
      if (instance.device_ns <= 0) continue;
      const OpDetail* detail = detail_of(instance.event);
      const NameId name = trace_.events.name[instance.event],
                   dims = detail == nullptr ? kNoName : detail->dims,
                   types = detail == nullptr ? kNoName : detail->types,
                   strides = detail == nullptr ? kNoName : detail->strides;
      RooflineRow& row =
          rows[{name, dims, types, strides, instance.cost.math, instance.cost.flops, instance.cost.bytes}];
      row.op = name;
      row.dims = dims;
      row.strides = strides;
      if (detail != nullptr && contains(trace_.names[name], "conv")) row.values = detail->values;
      row.types = types;
      row.math = instance.cost.math;
      row.is_product = instance.cost.is_product;
      ++row.calls;
      row.call_events.push_back(instance.event);
      row.device_ns += instance.device_ns;
      row.flops += instance.cost.flops;
      row.bytes += instance.cost.bytes;
      const double peak = peaks_.flops_per_second(instance.cost.math, instance.cost.is_product);
      const double compute = peak > 0 ? instance.cost.flops / peak * 1e9 : 0;
      const double memory =
          peaks_.bytes_per_second > 0 ? instance.cost.bytes / peaks_.bytes_per_second * 1e9 : 0;
      row.compute_ns += compute;
      row.memory_ns += memory;
      row.roof_ns += std::max(compute, memory);
    }
    for (auto& [key, row] : rows) roofline_.rows.push_back(std::move(row));
    std::ranges::stable_sort(roofline_.rows, std::greater{}, &RooflineRow::device_ns);
    for (const auto& [name, unknown] : unknown_) roofline_.unknown.push_back(unknown);
    std::ranges::stable_sort(roofline_.unknown, std::greater{}, &Roofline::Unknown::device_ns);
  }

  using CostKey = std::tuple<NameId, NameId, NameId, NameId, NameId, NameId>;

  const Trace& trace_;
  const DevicePeaks& peaks_;
  std::vector<std::uint32_t> parent_, op_;
  std::map<CostKey, std::optional<OpCost>> costs_;
  std::vector<Instance> instances_;
  std::unordered_map<std::uint32_t, std::uint32_t> by_event_;
  std::vector<std::uint32_t> instance_of_;
  std::vector<Coverage> kind_;
  std::map<NameId, Roofline::Unknown> unknown_;
  Roofline roofline_;
};

}  // namespace

const char* to_string(Coverage coverage) {
  constexpr const char* kNames[kCoverages] = {"cost known", "cost not known", "no operator known",
                                              "communication", "copies from and to the host"};
  return kNames[static_cast<std::size_t>(coverage)];
}

Roofline roofline(const Trace& trace, const DevicePeaks& peaks) {
  return RooflineBuilder(trace, peaks).build();
}

}  // namespace headroom::trace
