// SPDX-License-Identifier: Apache-2.0
#include "headroom_torch/tensors/tensors.h"

#include <ATen/Parallel.h>
#include <fmt/format.h>

#include <cstring>

#include "headroom/base/blas_library.h"
#include "headroom/base/error.h"

namespace headroom::torch_runner {

void use_threads_of(const State& state) {
  at::set_num_threads(state.threads());
  set_blas_threads(state.threads());
}

at::Tensor view_of(const void* memory, at::IntArrayRef sizes, at::ScalarType type) {
  return at::from_blob(const_cast<void*>(memory), sizes, at::TensorOptions().dtype(type));
}

at::Tensor view_of(std::span<const Bf16> values) {
  return view_of(values.data(), {static_cast<std::int64_t>(values.size())}, at::kBFloat16);
}

at::ScalarType weight_type(const std::string& dtype) {
  return dtype == "int8" ? at::kChar : at::kBFloat16;
}

at::Tensor placed(const at::Tensor& tensor, const Place& place) {
  return tensor.to(place.device);
}

std::vector<at::Tensor> placed_copies(const InputCopies& copies, at::IntArrayRef sizes, at::ScalarType type,
                                      const Place& place) {
  std::vector<at::Tensor> found;
  for (std::size_t copy = 0; copy < copies.copies(); ++copy) {
    found.push_back(placed(view_of(copies.copy(copy), sizes, type), place));
  }
  return found;
}

at::Tensor zeros_at(const Place& place, at::IntArrayRef sizes, at::ScalarType type) {
  return at::zeros(sizes, at::TensorOptions().dtype(type).device(place.device));
}

void copy_values(const at::Tensor& from, std::span<Bf16> to) {
  if (from.scalar_type() != at::kBFloat16 || from.numel() != static_cast<std::int64_t>(to.size())) {
    throw Error(fmt::format("the operator gave {} values of {}, expected {} of bf16", from.numel(),
                            at::toString(from.scalar_type()), to.size()));
  }
  const at::Tensor here = from.to(at::kCPU).contiguous();
  std::memcpy(to.data(), here.data_ptr(), to.size() * sizeof(Bf16));
}

}  // namespace headroom::torch_runner
