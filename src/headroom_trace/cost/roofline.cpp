// SPDX-License-Identifier: Apache-2.0
#include "headroom_trace/cost/roofline.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "headroom/base/text.h"
#include "headroom_trace/columns/attribution.h"
#include "headroom_trace/columns/kernel_names.h"

namespace headroom::trace {
namespace {

struct Known {
  std::string_view part;  ///< lower case; the first matching entry wins
  std::string_view also;  ///< another part; empty: any
  double min_memory_gb;   ///< 0: any
  DevicePeaks peaks;
};

constexpr double kT = 1e12, kG = 1e9;

/// In TFLOP/s and GB/s. Without matrix units for f64 or f32, the vector units' value.
constexpr DevicePeaks peaks(std::string_view name, double bandwidth, double vector_f64, double vector_f32,
                            double f64, double f32, double tf32, double f16, double bf16, double fp8,
                            double int8) {
  return {name,      bandwidth * kG, vector_f64 * kT, vector_f32 * kT, f64 * kT, f32 * kT,
          tf32 * kT, f16 * kT,       bf16 * kT,       fp8 * kT,        int8 * kT};
}

// Sources: vendor data sheets. NVIDIA: "Tesla P100", "Tesla V100" (2018), "V100S", "T4", "A100" (r5, 2021),
// "A30", "A10", "A40", "RTX A6000", "L4", "L40S", "H100" (2023; with sparsity, halved here), "H200", "HGX
// B200" (per GPU, sparsity halved); white papers "Turing" and "Ada" for GeForce (f16 with f32 accumulation).
// AMD: "Instinct MI100", "MI210", "MI250", "MI250X" (halved: a device is one of two dies), "MI300A",
// "MI300X", "MI325X", "MI350X", "MI355X".
constexpr std::array kDevices{
    //                  name              GB/s    v64   v32    f64    f32    tf32   f16     bf16    fp8 int8
    Known{"gb200", "", 0, peaks("GB200", 8000, 40, 80, 40, 80, 1250, 2500, 2500, 5000, 5000)},
    Known{"b200", "", 0, peaks("B200", 8000, 37, 75, 37, 75, 1100, 2250, 2250, 4500, 4500)},
    Known{"gh200", "", 0, peaks("GH200", 4000, 34, 67, 67, 67, 494.7, 989.4, 989.4, 1978.9, 1978.9)},
    Known{"h200", "nvl", 0, peaks("H200 NVL", 4800, 30, 60, 60, 60, 417.5, 835.5, 835.5, 1670.5, 1670.5)},
    Known{"h200", "", 0, peaks("H200", 4800, 34, 67, 67, 67, 494.7, 989.4, 989.4, 1978.9, 1978.9)},
    Known{"h100", "pcie", 0, peaks("H100 PCIe", 2039, 26, 51, 51, 51, 378, 756, 756, 1513, 1513)},
    Known{"h100", "nvl", 0, peaks("H100 NVL", 3938, 30, 60, 60, 60, 417.5, 835.5, 835.5, 1670.5, 1670.5)},
    Known{"h100", "", 0, peaks("H100 SXM", 3350, 34, 67, 67, 67, 494.7, 989.4, 989.4, 1978.9, 1978.9)},
    Known{"h800", "", 0, peaks("H800 SXM", 3350, 1, 67, 1, 67, 494.7, 989.4, 989.4, 1978.9, 1978.9)},
    Known{"h20", "", 0, peaks("H20", 4000, 1, 44, 1, 44, 74, 148, 148, 296, 296)},
    Known{"a100", "pcie", 60, peaks("A100 80 GB PCIe", 1935, 9.7, 19.5, 19.5, 19.5, 156, 312, 312, 0, 624)},
    Known{"a100", "80gb pcie", 0,
          peaks("A100 80 GB PCIe", 1935, 9.7, 19.5, 19.5, 19.5, 156, 312, 312, 0, 624)},
    Known{"a100", "80gb", 0, peaks("A100 80 GB", 2039, 9.7, 19.5, 19.5, 19.5, 156, 312, 312, 0, 624)},
    Known{"a100", "", 60, peaks("A100 80 GB", 2039, 9.7, 19.5, 19.5, 19.5, 156, 312, 312, 0, 624)},
    Known{"a100", "", 0, peaks("A100 40 GB", 1555, 9.7, 19.5, 19.5, 19.5, 156, 312, 312, 0, 624)},
    Known{"a800", "", 0, peaks("A800", 2039, 9.7, 19.5, 19.5, 19.5, 156, 312, 312, 0, 624)},
    Known{"a6000", "", 0, peaks("RTX A6000", 768, 0.6, 38.7, 0.6, 38.7, 77.4, 154.8, 154.8, 0, 309.7)},
    Known{"a40", "", 0, peaks("A40", 696, 0.58, 37.4, 0.58, 37.4, 74.8, 149.7, 149.7, 0, 299.3)},
    Known{"a30", "", 0, peaks("A30", 933, 5.2, 10.3, 10.3, 10.3, 82, 165, 165, 0, 330)},
    Known{"a10g", "", 0, peaks("A10G", 600, 0.49, 31.5, 0.49, 31.5, 35, 70, 70, 0, 140)},
    Known{"a10", "", 0, peaks("A10", 600, 0.49, 31.2, 0.49, 31.2, 62.5, 125, 125, 0, 250)},
    Known{"l40s", "", 0, peaks("L40S", 864, 1.4, 91.6, 1.4, 91.6, 183, 362, 362, 733, 733)},
    Known{"l40", "", 0, peaks("L40", 864, 1.4, 90.5, 1.4, 90.5, 90.5, 181, 181, 362, 362)},
    Known{"l4", "", 0, peaks("L4", 300, 0.47, 30.3, 0.47, 30.3, 60, 121, 121, 242.5, 242.5)},
    Known{"v100s", "", 0, peaks("V100S PCIe", 1134, 8.2, 16.4, 8.2, 16.4, 0, 130, 0, 0, 0)},
    Known{"v100", "pcie", 0, peaks("V100 PCIe", 900, 7, 14, 7, 14, 0, 112, 0, 0, 0)},
    Known{"v100", "", 0, peaks("V100", 900, 7.8, 15.7, 7.8, 15.7, 0, 125, 0, 0, 0)},
    Known{"p100", "pcie", 0, peaks("P100 PCIe", 732, 4.7, 9.3, 4.7, 9.3, 0, 18.7, 0, 0, 0)},
    Known{"p100", "", 0, peaks("P100", 732, 5.3, 10.6, 5.3, 10.6, 0, 21.2, 0, 0, 0)},
    Known{"t4", "", 0, peaks("T4", 320, 0.25, 8.1, 0.25, 8.1, 0, 65, 0, 0, 130)},
    Known{"rtx 4090", "", 0, peaks("RTX 4090", 1008, 1.3, 82.6, 1.3, 82.6, 82.6, 165.2, 165.2, 330.3, 660.6)},
    Known{"rtx 3090", "", 0, peaks("RTX 3090", 936, 0.56, 35.6, 0.56, 35.6, 35.6, 71, 71, 0, 284)},
    Known{"rtx 2080 ti", "", 0, peaks("RTX 2080 Ti", 616, 0.42, 13.4, 0.42, 13.4, 0, 53.8, 0, 0, 215.2)},
    Known{"mi355x", "", 0,
          peaks("MI355X", 8000, 78.6, 157.3, 78.6, 157.3, 0, 2516.6, 2516.6, 5033.2, 5033.2)},
    Known{"mi350x", "", 0,
          peaks("MI350X", 8000, 72.1, 144.2, 72.1, 144.2, 0, 2306.9, 2306.9, 4613.7, 4613.7)},
    Known{"mi325x", "", 0,
          peaks("MI325X", 6000, 81.7, 163.4, 163.4, 163.4, 653.7, 1307.4, 1307.4, 2614.9, 2614.9)},
    Known{"mi300a", "", 0,
          peaks("MI300A", 5300, 61.3, 122.6, 122.6, 122.6, 490.3, 980.6, 980.6, 1961.2, 1961.2)},
    Known{"mi300x", "", 0,
          peaks("MI300X", 5300, 81.7, 163.4, 163.4, 163.4, 653.7, 1307.4, 1307.4, 2614.9, 2614.9)},
    Known{"mi250x", "", 0,
          peaks("MI250X, one die", 1638.4, 23.95, 23.95, 47.85, 47.85, 0, 191.5, 191.5, 0, 191.5)},
    Known{"mi250", "", 0,
          peaks("MI250, one die", 1638.4, 22.65, 22.65, 45.25, 45.25, 0, 181.05, 181.05, 0, 181.05)},
    Known{"mi210", "", 0, peaks("MI210", 1638.4, 22.6, 22.6, 45.3, 45.3, 0, 181, 181, 0, 181)},
    Known{"mi100", "", 0, peaks("MI100", 1228.8, 11.5, 23.1, 11.5, 46.1, 0, 184.6, 92.3, 0, 184.6)}};

/// True for "a100" in "nvidia a100-sxm4-40gb", not in "nvidia rtx a1000".
bool has_word(std::string_view name, std::string_view word) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  for (std::size_t at = name.find(word); at != std::string_view::npos; at = name.find(word, at + 1)) {
    const bool begins = at == 0 || (!is_digit(name[at - 1]) && (name[at - 1] < 'a' || name[at - 1] > 'z'));
    const std::size_t end = at + word.size();
    if (begins && (end == name.size() || !is_digit(name[end]))) return true;
  }
  return false;
}

bool is_host_copy(std::string_view name) {
  return contains(name, "HtoD") || contains(name, "DtoH") || contains(name, "HtoH") ||
         contains(name, "HostToDevice") || contains(name, "DeviceToHost");
}

/// cuBLAS and cuDNN name TF32, CUTLASS the instruction (m16n8k8 with float32 inputs).
bool is_tf32_kernel(std::string_view name) {
  return contains(name, "tf32") || contains(name, "s1688gemm") || contains(name, "s1688fprop") ||
         contains(name, "s1688dgrad") || contains(name, "s1688wgrad");
}

struct Instance {
  std::uint32_t event = 0;
  OpCost cost;
  double device_ns = 0;
  bool has_own_work = false;     ///< innermost operator of some of its work
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
    call.name = trace_.event_name(event);
    if (const OpDetail* detail = detail_of(event)) {
      call.arguments = tensor_arguments(trace_.names[detail->dims], trace_.names[detail->types]);
      call.values = text_list(trace_.names[detail->values]);
    }
    return call;
  }

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

  void assign() {
    const std::vector<KernelType> types = kernel_types(trace_);
    parent_ = parents(trace_, mask_of(Category::kCpuOp),
                      mask_of(Category::kCpuOp) | mask_of(Category::kRuntime) | mask_of(Category::kDriver));
    op_ = launching_ops(trace_, launches(trace_), parent_);
    instance_of_.assign(trace_.gpu.size(), kNone);
    kind_.assign(trace_.gpu.size(), Coverage::kUnknown);
    for (std::uint32_t row = 0; row < trace_.gpu.size(); ++row) {
      const std::uint32_t event = trace_.gpu[row].event;
      const std::string_view name = trace_.event_name(event);
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
      // Else the cost would count twice.
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
    // Non-tensor arguments, such as strides, change the cost.
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

double DevicePeaks::flops_per_second(MathType type, bool is_product) const {
  if (!is_product) return type == MathType::kF64 ? vector_f64 : vector_f32;
  constexpr double DevicePeaks::*kPeaks[] = {&DevicePeaks::f64, &DevicePeaks::f32,  &DevicePeaks::tf32,
                                             &DevicePeaks::f16, &DevicePeaks::bf16, &DevicePeaks::fp8,
                                             &DevicePeaks::int8};
  return this->*kPeaks[static_cast<std::size_t>(type)];
}

const DevicePeaks* find_device_peaks(std::string_view name, double memory_bytes) {
  std::string small(name);
  std::ranges::transform(small, small.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  for (const std::string_view other : {"laptop", "max-q", "mobile", " mig ", "4090 d"}) {
    if (small.find(other) != std::string::npos) return nullptr;
  }
  for (const Known& entry : kDevices) {
    if (has_word(small, entry.part) && small.find(entry.also) != std::string::npos &&
        memory_bytes >= entry.min_memory_gb * 1e9) {
      return &entry.peaks;
    }
  }
  return nullptr;
}

const char* to_string(Coverage coverage) {
  constexpr const char* kNames[kCoverages] = {"cost known", "cost not known", "no operator known",
                                              "communication", "copies from and to the host"};
  return kNames[static_cast<std::size_t>(coverage)];
}

Roofline roofline(const Trace& trace, const DevicePeaks& peaks) {
  return RooflineBuilder(trace, peaks).build();
}

}  // namespace headroom::trace
