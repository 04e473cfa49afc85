// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <c10/core/Device.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <span>
#include <string_view>
#include <vector>

#include "headroom/base/precision.h"
#include "headroom/experiment/bf16.h"
#include "headroom/experiment/state.h"
#include "headroom/experiment/sum_tolerance.h"
#include "headroom/experiment/tensor_spec.h"
#include "headroom/workload/input_copies.h"

namespace headroom::torch_runner {

/// Device of a case's tensors and the clock that times calls on them.
struct Place {
  /// Enqueues one iteration on input copy `copy` into the device's stream.
  using Call = std::function<void(std::size_t copy)>;

  c10::Device device{c10::kCPU};
  /// Gives samples of `call`, timed on the device, until the case is released. Empty on the host, where
  /// State::measure times the work.
  std::function<void(State& state, const Call& call)> measure{};
};

/// An experiment that runs at a given place.
using PlacedExperiment = void (*)(State& state, const Place& place);

/// Whether the backend of `state` ("aten_out", "aten_cuda_out") writes into preallocated outputs; with the
/// others each call allocates its outputs.
inline bool writes_in_place(const State& state) {
  return std::string_view(state.backend()).ends_with("_out");
}

/// Tolerance of products at `place` whose sums accumulate in `precision`; `terms` and `results` as in
/// tolerance_of_sums. `exact` is for sums in f32 that are rounded once. On CUDA, with PyTorch's default of
/// allow_bf16_reduced_precision_reduction, cuBLAS may add the parts of a split sum in bf16, with an error of
/// up to 2^-8 each.
inline Tolerance product_tolerance(Tolerance exact, const Place& place, Precision precision,
                                   std::initializer_list<std::size_t> terms, std::size_t results) {
  if (place.device.is_cpu()) return tolerance_of_sums(exact, precision, terms, results);
  exact.relative = std::max(exact.relative, 4 * 0x1p-8);
  exact.sums_in = precision;
  return exact;
}

/// Makes a contiguous random tensor of `spec` from `seed`.
at::Tensor random_tensor(const TensorSpec& spec, std::uint64_t seed);

/// Sets ATen's threads to those of the case. Call it on the thread that runs the body, because OpenMP keeps a
/// team for each calling thread.
void use_threads_of(const State& state);

/// Returns a tensor over memory that it does not own. ATen has no const tensors: nothing may write to it.
at::Tensor view_of(const void* memory, at::IntArrayRef sizes, at::ScalarType type);
at::Tensor view_of(std::span<const Bf16> values);
at::ScalarType weight_type(const std::string& dtype);

/// Returns `tensor` at `place`: itself on the CPU, a copy on a device.
at::Tensor placed(const at::Tensor& tensor, const Place& place);

/// Returns each copy at `place`: views on the CPU, new memory on a device.
std::vector<at::Tensor> placed_copies(const InputCopies& copies, at::IntArrayRef sizes, at::ScalarType type,
                                      const Place& place);

/// Makes zeros, for preallocated outputs.
at::Tensor zeros_at(const Place& place, at::IntArrayRef sizes, at::ScalarType type = at::kBFloat16);

/// Copies a bf16 tensor from any device into `to`. Throws Error if the number of values differs.
void copy_values(const at::Tensor& from, std::span<Bf16> to);

/// Verifies body(0), which returns a tensor of bf16, then measures `body` at `place`. Gradients are off.
template <typename Body>
void verify_and_measure(State& state, const Place& place, std::span<const double> expected,
                        Tolerance tolerance, Body&& body) {
  const at::NoGradGuard no_grad;
  std::vector<Bf16> y(expected.size());
  state.verify([&] { copy_values(body(0), y); }, std::span(y), expected, tolerance);
  if (place.measure) {
    place.measure(state, [&](std::size_t copy) { body(copy); });
    return;
  }
  state.measure([&](std::size_t copy) { body(copy); });
}

/// Product of bf16 weights[..., rows, columns] and x[columns], by the operators that a case calls.
using Product = std::function<at::Tensor(const at::Tensor& weights, const at::Tensor& x)>;

/// Probes the accumulation dtype of `product`: kF32, or kBf16 if sums lose what bf16 cannot hold. It depends
/// on libtorch's version, the CPU and the sizes (oneDNN, or a loop in ATen), so the operator runs at the
/// case's sizes: each row adds a third of 256s, a third of ones, and subtracts the 256s. In f32 the ones are
/// left; in bf16, with 8 bits, 256 + 1 is 256. Other rows have shorter stretches in other orders, for sums
/// that are added in several parts. At most kProbedRows rows of `sizes` (of the weights) are made, because
/// rows are independent.
Precision precision_of_sums(const Product& product, at::IntArrayRef sizes, const Place& place);

inline constexpr std::int64_t kProbedRows = 1024;

}  // namespace headroom::torch_runner
