// SPDX-License-Identifier: Apache-2.0
#include "headroom_torch/modules/answer.h"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "headroom/base/text.h"
#include "headroom/experiment/scaled_error.h"

namespace headroom::torch_runner {
namespace {

/// How far two runs of the same program may differ: a compiled second run may add in another order.
double tolerance_of(at::ScalarType type) {
  if (type == at::kDouble) return 1e-9;
  if (type == at::kBFloat16) return 0x1p-5;
  if (type == at::kHalf) return 0x1p-8;
  return at::isFloatingType(type) ? 1e-4 : 0;
}

void add(const at::Tensor& tensor, Answer& answer) {
  if (!tensor.defined() || tensor.is_complex()) return;
  const at::Tensor dense = (tensor.is_quantized() ? tensor.dequantize() : tensor).detach();
  const at::Tensor numbers = dense.to(at::kDouble).contiguous();
  const double* const first = numbers.data_ptr<double>();
  answer.values.insert(answer.values.end(), first, first + numbers.numel());
  answer.tolerance.relative = std::max(answer.tolerance.relative, tolerance_of(tensor.scalar_type()));
}

std::string shape_text(const at::Tensor& tensor) {
  return fmt::format("{}[{}]", at::toString(tensor.scalar_type()), fmt::join(tensor.sizes().vec(), ","));
}

/// Goes through `value`; returns its shapes as text.
std::string collect(const c10::IValue& value, Answer& answer) {
  if (value.isTensor()) {
    add(value.toTensor(), answer);
    return value.toTensor().defined() ? shape_text(value.toTensor()) : "none";
  }
  std::vector<std::string> parts;
  if (value.isTuple()) {
    for (const c10::IValue& part : value.toTupleRef().elements()) parts.push_back(collect(part, answer));
  } else if (value.isList()) {
    for (const c10::IValue& part : value.toListRef()) parts.push_back(collect(part, answer));
  } else if (value.isGenericDict()) {
    for (const auto& entry : value.toGenericDict()) parts.push_back(collect(entry.value(), answer));
  } else {
    return value.tagKind();
  }
  return "(" + join(parts, ", ") + ")";
}

}  // namespace

Answer answer_of(const c10::IValue& value) {
  Answer answer;
  answer.tolerance.relative = 0;
  answer.tolerance.sums_in = std::nullopt;  // held against another run's: nobody knows what is exact
  answer.shapes = collect(value, answer);
  return answer;
}

std::optional<std::size_t> first_nan(const Answer& answer) {
  const auto found = std::ranges::find_if(answer.values, [](double value) { return std::isnan(value); });
  if (found == answer.values.end()) return std::nullopt;
  return static_cast<std::size_t>(found - answer.values.begin());
}

double largest_difference(const Answer& answer, const Answer& expected) {
  if (answer.shapes != expected.shapes || answer.values.size() != expected.values.size()) return INFINITY;
  const double rms = root_mean_square(expected.values);
  double largest = 0;
  for (std::size_t i = 0; i < answer.values.size(); ++i) {
    largest = std::max(largest, scaled_error(answer.values[i], expected.values[i], rms));
  }
  return largest;
}

}  // namespace headroom::torch_runner
