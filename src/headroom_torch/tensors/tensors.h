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

struct Place {
  using Call = std::function<void(std::size_t copy)>;

  c10::Device device{c10::kCPU};
  /// Samples `call` on the device until the case is released. Empty on the host.
  std::function<void(State& state, const Call& call)> measure{};
};

using PlacedExperiment = void (*)(State& state, const Place& place);

/// The backends "aten_out" and "aten_cuda_out" write into preallocated outputs.
inline bool writes_in_place(const State& state) {
  return std::string_view(state.backend()).ends_with("_out");
}

/// Tolerance of products that accumulate in `precision`; `terms` and `results` as in tolerance_of_sums.
/// `exact` applies to f32 sums rounded once. On CUDA (allow_bf16_reduced_precision_reduction, PyTorch's
/// default) cuBLAS may add parts of a split sum in bf16, with an error of up to 2^-8 each.
inline Tolerance product_tolerance(Tolerance exact, const Place& place, Precision precision,
                                   std::initializer_list<std::size_t> terms, std::size_t results) {
  if (place.device.is_cpu()) return tolerance_of_sums(exact, precision, terms, results);
  exact.relative = std::max(exact.relative, 4 * 0x1p-8);
  exact.sums_in = precision;
  return exact;
}

at::Tensor random_tensor(const TensorSpec& spec, std::uint64_t seed);

/// Call it on the body's thread: OpenMP keeps a team per calling thread.
void use_threads_of(const State& state);

/// A non-owning view, which must not be written to.
at::Tensor view_of(const void* memory, at::IntArrayRef sizes, at::ScalarType type);
at::Tensor view_of(std::span<const Bf16> values);
at::ScalarType weight_type(const std::string& dtype);

/// `tensor` itself on the CPU, a copy on a device.
at::Tensor placed(const at::Tensor& tensor, const Place& place);

/// Views on the CPU, new memory on a device.
std::vector<at::Tensor> placed_copies(const InputCopies& copies, at::IntArrayRef sizes, at::ScalarType type,
                                      const Place& place);

at::Tensor zeros_at(const Place& place, at::IntArrayRef sizes, at::ScalarType type = at::kBFloat16);

/// From any device. Throws Error if the dtype or number of values differs.
void copy_values(const at::Tensor& from, std::span<Bf16> to);

/// Verifies body(0), which returns a bf16 tensor, then measures. Gradients are off.
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

/// bf16 weights[..., rows, columns] and x[columns].
using Product = std::function<at::Tensor(const at::Tensor& weights, const at::Tensor& x)>;

/// Probes how `product` accumulates, which depends on libtorch's version, the CPU and the sizes, so it runs
/// at the case's sizes. Each row adds a third of 256s, a third of ones, and subtracts the 256s: f32 keeps the
/// ones, in bf16 256 + 1 is 256. Other rows use shorter stretches in other orders, for sums in several parts.
/// Makes at most kProbedRows rows.
Precision precision_of_sums(const Product& product, at::IntArrayRef sizes, const Place& place);

inline constexpr std::int64_t kProbedRows = 1024;

}  // namespace headroom::torch_runner
