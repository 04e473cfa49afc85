// SPDX-License-Identifier: Apache-2.0
#include "headroom_torch/answer.h"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "headroom/base/text.h"

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

double root_mean_square(const std::vector<double>& values) {
  double sum = 0;
  std::size_t finite = 0;
  for (const double value : values) {
    if (!std::isfinite(value)) continue;
    sum += value * value;
    ++finite;
  }
  return finite == 0 ? 0 : std::sqrt(sum / static_cast<double>(finite));
}

double difference(double actual, double expected, double rms) {
  if (actual == expected || (std::isnan(actual) && std::isnan(expected))) return 0;
  const double scale = std::max(std::fabs(expected), rms);
  const double share = std::fabs(actual - expected) / scale;
  return std::isnan(share) || scale == 0 ? INFINITY : share;
}

}  // namespace

Answer answer_of(const c10::IValue& value) {
  Answer answer;
  answer.tolerance.relative = 0;
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
    largest = std::max(largest, difference(answer.values[i], expected.values[i], rms));
  }
  return largest;
}

}  // namespace headroom::torch_runner
