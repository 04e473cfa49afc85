// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <cstddef>
#include <span>
#include <vector>

#include "headroom/experiment/bf16.h"
#include "headroom/experiment/state.h"
#include "headroom/workload/input_copies.h"
#include "headroom_torch/tensors/place.h"

namespace headroom::torch_runner {

/// Sets ATen to the threads of the case, on the thread that will run it. OpenMP keeps a team for each thread
/// that calls it, so this is called where the body will be.
void use_threads_of(const State& state);

/// A tensor over memory that stays its owner's. ATen has no tensors of const memory: nothing may write to it.
at::Tensor view_of(const void* memory, at::IntArrayRef sizes, at::ScalarType type);
at::Tensor view_of(std::span<const Bf16> values);
at::ScalarType weight_type(const std::string& dtype);

/// `tensor` where the case has its tensors: itself on the CPU, a copy of it on a device.
at::Tensor placed(const at::Tensor& tensor, const Place& place);

/// Each copy at `place`: views on the CPU, memory of its own on a device.
std::vector<at::Tensor> placed_copies(const InputCopies& copies, at::IntArrayRef sizes, at::ScalarType type,
                                      const Place& place);

/// Zeros of bf16, for outputs that are made before.
at::Tensor zeros_at(const Place& place, at::IntArrayRef sizes, at::ScalarType type = at::kBFloat16);

/// Copies what a tensor of bf16 holds, on whatever device, into `to`. Throws Error when the number of values
/// differs.
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

}  // namespace headroom::torch_runner
