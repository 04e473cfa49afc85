// SPDX-License-Identifier: Apache-2.0
// Operators that work on each element by itself.
#include <algorithm>
#include <array>

#include "headroom/trace/cost/op_cost_formulas.h"

namespace headroom::trace {
namespace {

enum class Result : std::uint8_t { kPromoted, kBool, kReal, kFirst };

struct Elementwise {
  std::string_view name;
  std::size_t inputs;
  double flops = 1;
  Result result = Result::kPromoted;
};

// Of aten; "add" stands for add_ too, and for the forms with an output argument.
constexpr std::array kElementwise{Elementwise{"add", 2},
                                  Elementwise{"sub", 2},
                                  Elementwise{"rsub", 2},
                                  Elementwise{"mul", 2},
                                  Elementwise{"div", 2, 1, Result::kReal},
                                  Elementwise{"true_divide", 2, 1, Result::kReal},
                                  Elementwise{"floor_divide", 2},
                                  Elementwise{"remainder", 2},
                                  Elementwise{"fmod", 2},
                                  Elementwise{"maximum", 2},
                                  Elementwise{"minimum", 2},
                                  Elementwise{"pow", 2},
                                  Elementwise{"atan2", 2, 1, Result::kReal},
                                  Elementwise{"lerp", 3, 2},
                                  Elementwise{"addcmul", 3, 2},
                                  Elementwise{"addcdiv", 3, 2},
                                  Elementwise{"where", 3},
                                  Elementwise{"masked_fill", 2, 0, Result::kFirst},
                                  Elementwise{"bitwise_and", 2},
                                  Elementwise{"bitwise_or", 2},
                                  Elementwise{"bitwise_xor", 2},
                                  Elementwise{"bitwise_not", 1},
                                  Elementwise{"logical_and", 2, 1, Result::kBool},
                                  Elementwise{"logical_or", 2, 1, Result::kBool},
                                  Elementwise{"logical_xor", 2, 1, Result::kBool},
                                  Elementwise{"logical_not", 1, 1, Result::kBool},
                                  Elementwise{"eq", 2, 1, Result::kBool},
                                  Elementwise{"ne", 2, 1, Result::kBool},
                                  Elementwise{"lt", 2, 1, Result::kBool},
                                  Elementwise{"le", 2, 1, Result::kBool},
                                  Elementwise{"gt", 2, 1, Result::kBool},
                                  Elementwise{"ge", 2, 1, Result::kBool},
                                  Elementwise{"isnan", 1, 1, Result::kBool},
                                  Elementwise{"isinf", 1, 1, Result::kBool},
                                  Elementwise{"neg", 1},
                                  Elementwise{"abs", 1},
                                  Elementwise{"sign", 1},
                                  Elementwise{"floor", 1},
                                  Elementwise{"ceil", 1},
                                  Elementwise{"round", 1},
                                  Elementwise{"clamp", 1},
                                  Elementwise{"clamp_min", 1},
                                  Elementwise{"clamp_max", 1},
                                  Elementwise{"nan_to_num", 1},
                                  Elementwise{"relu", 1},
                                  Elementwise{"hardtanh", 1},
                                  Elementwise{"leaky_relu", 1},
                                  Elementwise{"elu", 1},
                                  Elementwise{"gelu", 1},
                                  Elementwise{"silu", 1},
                                  Elementwise{"mish", 1},
                                  Elementwise{"hardswish", 1},
                                  Elementwise{"softplus", 1},
                                  Elementwise{"threshold", 1},
                                  Elementwise{"sigmoid", 1, 1, Result::kReal},
                                  Elementwise{"tanh", 1, 1, Result::kReal},
                                  Elementwise{"exp", 1, 1, Result::kReal},
                                  Elementwise{"exp2", 1, 1, Result::kReal},
                                  Elementwise{"expm1", 1, 1, Result::kReal},
                                  Elementwise{"log", 1, 1, Result::kReal},
                                  Elementwise{"log2", 1, 1, Result::kReal},
                                  Elementwise{"log1p", 1, 1, Result::kReal},
                                  Elementwise{"sqrt", 1, 1, Result::kReal},
                                  Elementwise{"rsqrt", 1, 1, Result::kReal},
                                  Elementwise{"reciprocal", 1, 1, Result::kReal},
                                  Elementwise{"sin", 1, 1, Result::kReal},
                                  Elementwise{"cos", 1, 1, Result::kReal},
                                  Elementwise{"erf", 1, 1, Result::kReal},
                                  Elementwise{"threshold_backward", 2},
                                  Elementwise{"gelu_backward", 2},
                                  Elementwise{"silu_backward", 2},
                                  Elementwise{"sigmoid_backward", 2},
                                  Elementwise{"tanh_backward", 2},
                                  Elementwise{"hardtanh_backward", 2},
                                  Elementwise{"leaky_relu_backward", 2}};

const Elementwise* rule_of(std::string_view name) {
  const auto found = std::ranges::find(kElementwise, name, &Elementwise::name);
  return found == kElementwise.end() ? nullptr : &*found;
}

/// Order of the type promotion: bool, integers, floating point, complex; 0 for no type of a tensor.
int category_of(std::string_view type) {
  if (element_bytes(type) == 0) return 0;
  if (type == "bool" || type == "Bool") return 1;
  if (type.find("omplex") != std::string_view::npos) return 4;
  if (math_type(type) && *math_type(type) != MathType::kI8) return 3;
  return 2;
}

/// The wider of two types of one category: float16 and bfloat16 give float32.
double wider(std::string_view a, std::string_view b) {
  const double bytes = std::max(element_bytes(a), element_bytes(b));
  const bool is_mixed = category_of(a) == 3 && a != b && element_bytes(a) == element_bytes(b);
  return is_mixed ? 2 * bytes : bytes;
}

/// Bytes of an element of the result, by PyTorch's promotion: tensors without dimensions count only where
/// their category is higher than that of the others.
double promoted_bytes(const std::vector<const TensorArgument*>& tensors) {
  int highest = 0, highest_number = 0;
  double bytes = 0;
  std::string_view type;
  for (const TensorArgument* tensor : tensors) {
    const int category = category_of(tensor->type);
    if (tensor->shape().empty()) {
      highest_number = std::max(highest_number, category);
    } else if (category > highest) {
      highest = category;
      type = tensor->type;
      bytes = element_bytes(type);
    } else if (category == highest) {
      bytes = std::max(bytes, wider(type, tensor->type));
    }
  }
  // A Python number that is of a higher category makes the default type of it: float32.
  if (highest_number > highest && highest > 0) return highest_number == 3 ? 4 : 8;
  return highest > 0 ? bytes : element_bytes(tensors.front()->type);
}

/// The shape that all broadcast to; nothing where they do not.
std::optional<Shape> broadcast(const std::vector<const TensorArgument*>& tensors) {
  Shape result;
  for (const TensorArgument* tensor : tensors) {
    const Shape& shape = tensor->shape();
    if (shape.size() > result.size()) result.insert(result.begin(), shape.size() - result.size(), 1);
    for (std::size_t i = 0; i < shape.size(); ++i) {
      std::int64_t& size = result[result.size() - shape.size() + i];
      if (size != shape[i] && size != 1 && shape[i] != 1) return std::nullopt;
      if (size == 1) size = shape[i];
    }
  }
  return result;
}

}  // namespace

MathType vector_math(std::string_view type) {
  return type == "double" || type == "Double" ? MathType::kF64 : MathType::kF32;
}

bool is_elementwise(std::string_view name) {
  return rule_of(name) != nullptr;
}

std::optional<OpCost> elementwise_cost(const OpCall& call, std::string_view name, bool is_in_place) {
  const Elementwise* rule = rule_of(name);
  if (rule == nullptr) return std::nullopt;
  const Result result = is_in_place ? Result::kFirst : rule->result;
  std::vector<const TensorArgument*> tensors;
  double bytes = 0;
  for (std::size_t i = 0; i < std::min(rule->inputs, call.arguments.size()); ++i) {
    if (call.arguments[i].is_list) return std::nullopt;
    if (const TensorArgument* tensor = tensor_at(call, i)) {
      tensors.push_back(tensor);
      bytes += bytes_of(*tensor);
    } else if (!call.arguments[i].shape().empty()) {
      return std::nullopt;  // a tensor of a type that is not known
    }
  }
  if (tensors.empty()) return std::nullopt;
  const std::optional<Shape> shape = broadcast(tensors);
  if (!shape) return std::nullopt;
  double width = promoted_bytes(tensors);
  if (result == Result::kBool) width = 1;
  if (result == Result::kFirst) width = element_bytes(tensors.front()->type);
  if (result == Result::kReal && std::ranges::none_of(tensors, [](const TensorArgument* tensor) {
        return category_of(tensor->type) >= 3;
      })) {
    width = 4;
  }
  const double elements = elements_of(*shape);
  return OpCost{rule->flops * elements, bytes + elements * width, vector_math(tensors.front()->type), false};
}

}  // namespace headroom::trace
