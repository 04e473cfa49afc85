// SPDX-License-Identifier: Apache-2.0
#include "headroom_torch/tensors/tensors.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Parallel.h>
#include <fmt/format.h>

#include <array>
#include <cstring>
#include <utility>

#include "headroom/base/blas_library.h"
#include "headroom/base/error.h"
#include "headroom/base/text.h"

namespace headroom::torch_runner {
namespace {

at::ScalarType scalar_type(const std::string& dtype) {
  constexpr std::array<std::pair<const char*, at::ScalarType>, 10> kTypes{{{"f64", at::kDouble},
                                                                           {"f32", at::kFloat},
                                                                           {"f16", at::kHalf},
                                                                           {"bf16", at::kBFloat16},
                                                                           {"i64", at::kLong},
                                                                           {"i32", at::kInt},
                                                                           {"i16", at::kShort},
                                                                           {"int8", at::kChar},
                                                                           {"u8", at::kByte},
                                                                           {"bool", at::kBool}}};
  for (const auto& [name, type] : kTypes) {
    if (dtype == name) return type;
  }
  throw Error("headroom-torch does not support dtype " + quote(dtype));
}

/// The smallest number that bf16 cannot add 1 to.
constexpr float kLarge = 256;
/// Rounding the result to bf16 costs 2^-8.
constexpr double kAllowed = 1.0 / 16;

/// Equal thirds of large, one, -large, repeated; number and order depend on the row.
std::vector<float> probing_row(std::int64_t columns, std::int64_t row) {
  constexpr std::array<std::array<float, 3>, 2> kOrders{{{kLarge, 1, -kLarge}, {-kLarge, 1, kLarge}}};
  std::vector<float> values(static_cast<std::size_t>(columns), 0);
  const std::int64_t parts = std::int64_t{1} << (row / 2 % 4);
  const std::int64_t third = std::max<std::int64_t>(1, columns / parts / 3);
  const auto& order = kOrders[static_cast<std::size_t>(row % 2)];
  for (std::int64_t begin = 0; begin + 3 * third <= columns; begin += 3 * third) {
    for (std::int64_t i = 0; i < 3 * third; ++i)
      values[static_cast<std::size_t>(begin + i)] = order[static_cast<std::size_t>(i / third)];
  }
  return values;
}

at::Tensor probing_weights(at::IntArrayRef sizes) {
  std::vector<std::int64_t> probed = sizes.vec();
  const std::int64_t columns = probed.back();
  std::int64_t& rows = probed[probed.size() - 2];
  rows = std::min(rows, kProbedRows);
  constexpr std::int64_t kPatterns = 8;
  std::vector<at::Tensor> patterns;
  for (std::int64_t row = 0; row < std::min(rows, kPatterns); ++row)
    patterns.push_back(at::tensor(probing_row(columns, row)));
  const std::int64_t repeats = (rows + kPatterns - 1) / kPatterns;
  const at::Tensor matrix = at::stack(patterns).repeat({repeats, 1}).narrow(0, 0, rows).to(at::kBFloat16);
  return matrix.expand(probed).contiguous();
}

}  // namespace

at::Tensor random_tensor(const TensorSpec& spec, std::uint64_t seed) {
  at::Generator generator = at::detail::createCPUGenerator(seed);
  const at::ScalarType type = scalar_type(spec.dtype);
  if (at::isFloatingType(type)) return at::randn(spec.sizes, generator, at::kFloat).to(type);
  return at::randint(spec.low, spec.high + 1, spec.sizes, generator, at::kLong).to(type);
}

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
    throw Error(fmt::format("the operator returned {} values of {}, expected {} of bf16", from.numel(),
                            at::toString(from.scalar_type()), to.size()));
  }
  const at::Tensor here = from.to(at::kCPU).contiguous();
  std::memcpy(to.data(), here.data_ptr(), to.size() * sizeof(Bf16));
}

Precision precision_of_sums(const Product& product, at::IntArrayRef sizes, const Place& place) {
  const at::NoGradGuard no_grad;
  const at::Tensor weights = probing_weights(sizes);
  const at::Tensor x = at::ones({sizes.back()}, at::kBFloat16);
  const at::Tensor expected = weights.to(at::kDouble).sum(-1).flatten();
  const at::Tensor answer = product(placed(weights, place), placed(x, place));
  const at::Tensor off = (answer.to(at::kCPU).to(at::kDouble).flatten() - expected).abs();
  // Not "greater": a wrong operator may return NaN.
  return (off <= expected * kAllowed).all().item<bool>() ? Precision::kF32 : Precision::kBf16;
}

}  // namespace headroom::torch_runner
