// SPDX-License-Identifier: Apache-2.0
// Operators that mostly move memory: copies, softmax, normalisations, lookups.
#include <algorithm>

#include "headroom/trace/cost/op_cost_formulas.h"

namespace headroom::trace {
namespace {

/// (gradient, output, dim, type of the result as torch numbers types).
std::optional<OpCost> softmax_backward_cost(const OpCall& call, const TensorArgument& gradient,
                                            double elements) {
  const TensorArgument* output = tensor_at(call, 1);
  if (output == nullptr) return std::nullopt;
  double width = element_bytes(gradient.type);
  constexpr std::int64_t kHalf = 5, kFloat = 6, kDouble = 7, kBFloat16 = 15;
  if (const auto type = integers_at(call, 3); type && type->size() == 1) {
    const std::int64_t number = type->front();
    if (number != kHalf && number != kFloat && number != kDouble && number != kBFloat16) return std::nullopt;
    width = number == kDouble ? 8 : number == kFloat ? 4 : 2;
  }
  return OpCost{4 * elements, bytes_of(gradient) + bytes_of(*output) + elements * width,
                vector_math(gradient.type), false};
}

}  // namespace

std::optional<OpCost> fill_cost(const OpCall& call) {
  const TensorArgument* tensor = tensor_at(call, 0);
  if (tensor == nullptr) return std::nullopt;
  return OpCost{0, bytes_of(*tensor), MathType::kF32, false};
}

std::optional<OpCost> cost_of(const OpCall& call, const CopyArguments& where) {
  const TensorArgument* source = tensor_at(call, where.from);
  const TensorArgument* target = tensor_at(call, where.to);
  if (source == nullptr || target == nullptr) return std::nullopt;
  return OpCost{0, bytes_of(*source) + bytes_of(*target), MathType::kF32, false};
}

std::optional<OpCost> cost_of(const OpCall& call, const SoftmaxArguments& where) {
  const TensorArgument* input = tensor_at(call, 0);
  if (input == nullptr) return std::nullopt;
  const double elements = elements_of(input->shape());
  if (where.is_backward) return softmax_backward_cost(call, *input, elements);
  const std::optional<bool> converts = flag_at(call, 2);
  const double width = element_bytes(input->type);
  if (width < 4 && !converts) return std::nullopt;  // half_to_float: the result may be twice as wide
  return OpCost{5 * elements, bytes_of(*input) + elements * (converts.value_or(false) ? 4 : width),
                vector_math(input->type), false};
}

std::optional<OpCost> cost_of(const OpCall& call, const NormArguments& where) {
  const TensorArgument* input = tensor_at(call, where.input);
  if (input == nullptr) return std::nullopt;
  const double elements = elements_of(input->shape());
  OpCost cost{8 * elements, 2 * bytes_of(*input), vector_math(input->type), false};
  for (std::size_t i = 0; i < where.parameters; ++i) {
    if (const TensorArgument* parameter = tensor_at(call, where.first_parameter + i))
      cost.bytes += bytes_of(*parameter);
  }
  if (where.gradient < 0) return cost;
  const TensorArgument* gradient = tensor_at(call, static_cast<std::size_t>(where.gradient));
  if (gradient == nullptr) return std::nullopt;
  cost.flops = 11 * elements;
  cost.bytes += bytes_of(*gradient);
  return cost;
}

std::optional<OpCost> embedding_cost(const OpCall& call) {
  const TensorArgument* weight = tensor_at(call, 0);
  const TensorArgument* indices = tensor_at(call, 1);
  if (weight == nullptr || indices == nullptr || weight->shape().size() != 2) return std::nullopt;
  const double row = static_cast<double>(weight->shape()[1]) * element_bytes(weight->type);
  return OpCost{0, bytes_of(*indices) + 2 * elements_of(indices->shape()) * row, MathType::kF32, false};
}

std::optional<OpCost> index_select_cost(const OpCall& call) {
  const TensorArgument* self = tensor_at(call, 0);
  const TensorArgument* index = tensor_at(call, 2);
  const auto dim = integers_at(call, 1);
  if (self == nullptr || index == nullptr || !dim || dim->size() != 1) return std::nullopt;
  const auto rank = std::ssize(self->shape());
  const std::int64_t axis = dim->front() < 0 ? dim->front() + rank : dim->front();
  if (axis < 0 || axis >= rank || self->shape()[static_cast<std::size_t>(axis)] == 0) return std::nullopt;
  const double slice = bytes_of(*self) / static_cast<double>(self->shape()[static_cast<std::size_t>(axis)]);
  return OpCost{0, bytes_of(*index) + 2 * elements_of(index->shape()) * slice, MathType::kF32, false};
}

}  // namespace headroom::trace
