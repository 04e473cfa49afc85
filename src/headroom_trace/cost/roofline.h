// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "headroom_trace/columns/tensor_arguments.h"
#include "headroom_trace/columns/trace.h"

namespace headroom::trace {

enum class MathType : std::uint8_t { kF64, kF32, kTf32, kF16, kBf16, kF8, kI8 };
const char* to_string(MathType type);

/// The least work: every input read once, every output written once.
struct OpCost {
  double flops = 0;
  double bytes = 0;
  MathType math = MathType::kF32;
  bool is_product = false;  ///< can run on matrix units
};

/// Arguments of a call, as in the trace; each may be empty.
struct OpCall {
  std::string_view name;                  ///< "aten::addmm"
  std::vector<TensorArgument> arguments;  ///< of "Input Dims" and "Input type"
  std::vector<std::string_view> values;   ///< of "Concrete Inputs": "[1, 1]", "True", ""
};

/// Nothing if the operator is unknown or the trace lacks a value that the cost depends on (a stride, a mask):
/// costs are never guessed. `parent`: the calling operator, if any, where old traces keep the shapes of a
/// convolution's gradients.
///
/// FLOPs; a multiplication and an addition count as one each:
///   matrix products         2 m n k; without bias and scaling of the result
///   convolution             2 * output elements * weight elements / output channels;
///                           each gradient the same with the gradient of the output
///   attention               2 * (query, key) pairs * (head size + value size) per head; backward
///                           2.5 times as much (5 products for 2); causal: unmasked pairs only
///   elementwise             1 per output element (2 for fused multiply-add forms)
///   softmax                 5 per element (maximum, subtract, exponential, sum, divide); backward 4
///   normalisation           8 per element (mean 1, variance 3, normalise 2, affine 2); backward 11
///   copies, fills, lookups  0
std::optional<OpCost> op_cost(const OpCall& call, const OpCall* parent);

/// By the vendor's data sheet: dense (no sparsity), at boost clock. 0: no such units, or not published.
struct DevicePeaks {
  std::string_view name;  ///< "A100 80 GB"
  /// Of the matrix units for products, else of the vector units.
  double flops_per_second(MathType type, bool is_product) const;
  double bytes_per_second = 0;
  double vector_f64 = 0, vector_f32 = 0;                                    ///< FLOP/s
  double f64 = 0, f32 = 0, tf32 = 0, f16 = 0, bf16 = 0, fp8 = 0, int8 = 0;  ///< of the matrix units
};

/// By name in traces ("NVIDIA H100 80GB HBM3", "AMD Instinct MI300X") or as given by the user ("h100").
/// `memory_bytes` (0: unknown) resolves ambiguous names. Nullptr for an unknown device.
const DevicePeaks* find_device_peaks(std::string_view name, double memory_bytes);

/// The calls of one operator with equal shapes, strides, types, peak and cost.
struct RooflineRow {
  NameId op = kNoName, dims = kNoName, strides = kNoName, types = kNoName;
  NameId values = kNoName;  ///< non-tensor arguments of a convolution; else kNoName
  MathType math = MathType::kF32;
  bool is_product = false;
  std::int64_t calls = 0;
  double device_ns = 0;
  double flops = 0, bytes = 0;
  double compute_ns = 0,
         memory_ns = 0;                    ///< at the device's peaks; 0: unknown
  double roof_ns = 0;                      ///< the longer of the two, summed over calls
  std::vector<std::uint32_t> call_events;  ///< rows of Trace::events
};

enum class Coverage : std::uint8_t {
  kKnown,
  kUnknown,
  kNoOp,
  kCommunication,
  kHostCopy  ///< bound by the link
};
inline constexpr std::size_t kCoverages = 5;
const char* to_string(Coverage coverage);

struct Roofline {
  std::vector<RooflineRow> rows;       ///< by device time, longest first
  std::vector<std::uint32_t> call_of;  ///< by row of Trace::gpu; kNone if unknown
  double covered_ns[kCoverages] = {};
  std::int64_t covered_works[kCoverages] = {};
  struct Unknown {
    NameId op = kNoName;
    std::int64_t works = 0;
    double device_ns = 0;
  };
  std::vector<Unknown> unknown;  ///< longest first
};

/// Assigns GPU work to the innermost operator of known cost around its launch, or to none if inner operators
/// already account for it. Needs kLaunches, kOps and kOpArguments.
Roofline roofline(const Trace& trace, const DevicePeaks& peaks);

}  // namespace headroom::trace
