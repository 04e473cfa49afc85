// SPDX-License-Identifier: Apache-2.0

#include "headroom_trace/cost/roofline.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <string>
#include <variant>

namespace headroom::trace {
namespace {

// Formulas return nothing for a missing or unsupported argument.

/// Nullptr unless the type is known and no size negative.
const TensorArgument* tensor_at(const OpCall& call, std::size_t index) {
  if (index >= call.arguments.size() || !call.arguments[index].is_tensor()) return nullptr;
  const TensorArgument& tensor = call.arguments[index];
  const bool is_sane = std::ranges::all_of(tensor.shape(), [](std::int64_t size) { return size >= 0; });
  return is_sane ? &tensor : nullptr;
}

double bytes_of(const TensorArgument& tensor) {
  return elements_of(tensor.shape()) * element_bytes(tensor.type);
}

std::optional<MathType> math_type(std::string_view type) {
  if (type == "double" || type == "Double") return MathType::kF64;
  if (type == "float" || type == "Float") return MathType::kF32;
  if (type == "c10::Half" || type == "Half") return MathType::kF16;
  if (type == "c10::BFloat16" || type == "BFloat16") return MathType::kBf16;
  if (type.find("Float8_") != std::string_view::npos) return MathType::kF8;
  if (type == "signed char" || type == "unsigned char" || type == "Char" || type == "Byte")
    return MathType::kI8;
  return std::nullopt;
}

std::optional<bool> flag_at(const OpCall& call, std::size_t index) {
  if (index >= call.values.size()) return std::nullopt;
  if (call.values[index] == "True") return true;
  if (call.values[index] == "False") return false;
  return std::nullopt;
}

/// Reads "[1, 1]" or "1".
std::optional<std::vector<std::int64_t>> integers_at(const OpCall& call, std::size_t index) {
  if (index >= call.values.size() || call.values[index].empty()) return std::nullopt;
  std::string text(call.values[index]);
  if (text.front() != '[') text = "[" + text + "]";
  const std::vector<TensorArgument> parsed = tensor_arguments("[" + text + "]", "");
  if (parsed.size() != 1 || parsed.front().is_list) return std::nullopt;
  return parsed.front().shape();
}

double optional_bytes(const OpCall& call, int index) {
  const TensorArgument* tensor = index < 0 ? nullptr : tensor_at(call, static_cast<std::size_t>(index));
  return tensor == nullptr ? 0 : bytes_of(*tensor);
}

double at(const Shape& shape, std::size_t index) {
  return static_cast<double>(shape[index]);
}

/// `weight` is (output channels, input channels / groups, kernel...).
double per_output_channel(const TensorArgument& weight) {
  return weight.shape().front() == 0 ? 0 : elements_of(weight.shape()) / at(weight.shape(), 0);
}

struct ConvolutionArguments {
  std::size_t input, weight;
  int bias;  ///< -1: none
  std::size_t stride, padding, dilation;
  int transposed;  ///< -1: never
};

std::optional<double> output_positions(const OpCall& call, const ConvolutionArguments& where,
                                       const Shape& input, const Shape& weight) {
  const auto stride = integers_at(call, where.stride), padding = integers_at(call, where.padding),
             dilation = integers_at(call, where.dilation);
  if (!stride || !padding || !dilation || input.size() != weight.size() || input.size() < 3)
    return std::nullopt;
  double positions = 1;
  for (std::size_t i = 2; i < input.size(); ++i) {
    const auto along = [&](const std::vector<std::int64_t>& values) -> std::optional<double> {
      if (values.size() == 1) return static_cast<double>(values.front());
      return values.size() == input.size() - 2 ? std::optional(static_cast<double>(values[i - 2]))
                                               : std::nullopt;
    };
    const auto step = along(*stride), edge = along(*padding), spread = along(*dilation);
    if (!step || !edge || !spread || *step <= 0) return std::nullopt;
    const double span = at(input, i) + 2 * *edge - *spread * (at(weight, i) - 1) - 1;
    if (span < 0) return std::nullopt;
    positions *= static_cast<double>(static_cast<std::int64_t>(span / *step)) + 1;
  }
  return positions;
}

std::optional<double> pairs_of(double queries, double keys, bool is_causal) {
  if (!is_causal) return queries * keys;
  // Libraries start the mask in different corners.
  if (queries != keys) return std::nullopt;
  return queries * (queries + 1) / 2;
}

/// "True", "False", or the kind of mask; 0: no mask.
std::optional<bool> causal_at(const OpCall& call, std::size_t index) {
  if (const std::optional<bool> flag = flag_at(call, index)) return flag;
  const auto kind = integers_at(call, index);
  if (!kind || kind->size() != 1) return std::nullopt;
  return kind->front() != 0;
}

struct ProductArguments {
  std::size_t left, right;
  int bias = -1;                     ///< tensor that is added; -1: none
  bool is_right_transposed = false;  ///< right is (n, k)
};

/// (..., m, k) x (k, n) or (b, m, k) x (b, k, n).
std::optional<OpCost> cost_of(const OpCall& call, const ProductArguments& where) {
  const TensorArgument* left = tensor_at(call, where.left);
  const TensorArgument* right = tensor_at(call, where.right);
  if (left == nullptr || right == nullptr) return std::nullopt;
  const Shape &a = left->shape(), &b = right->shape();
  if (a.empty() || b.empty() || b.size() > 3 || (b.size() == 3 && a.size() != 3)) return std::nullopt;
  const double k = at(a, a.size() - 1);
  const bool is_vector = b.size() == 1;
  const double b_k = is_vector ? at(b, 0) : at(b, where.is_right_transposed ? b.size() - 1 : b.size() - 2);
  const double n = is_vector ? 1 : at(b, where.is_right_transposed ? b.size() - 2 : b.size() - 1);
  if (k != b_k || (b.size() == 3 && a[0] != b[0])) return std::nullopt;
  const std::optional<MathType> math = math_type(left->type);
  if (!math || left->type != right->type) return std::nullopt;
  const double rows = k == 0 ? 0 : elements_of(a) / k;
  // An int8 product gives int32.
  const double width = *math == MathType::kI8 ? 4 : element_bytes(left->type);
  return OpCost{2 * rows * n * k,
                bytes_of(*left) + bytes_of(*right) + optional_bytes(call, where.bias) + rows * n * width,
                *math, true};
}

std::optional<OpCost> cost_of(const OpCall& call, const ConvolutionArguments& where) {
  const TensorArgument* input = tensor_at(call, where.input);
  const TensorArgument* weight = tensor_at(call, where.weight);
  if (input == nullptr || weight == nullptr) return std::nullopt;
  if (where.transposed >= 0 && flag_at(call, static_cast<std::size_t>(where.transposed)) != false)
    return std::nullopt;
  const std::optional<double> positions = output_positions(call, where, input->shape(), weight->shape());
  const std::optional<MathType> math = math_type(input->type);
  if (!positions || !math) return std::nullopt;
  const double output = at(input->shape(), 0) * at(weight->shape(), 0) * *positions;
  return OpCost{2 * output * per_output_channel(*weight),
                bytes_of(*input) + bytes_of(*weight) + optional_bytes(call, where.bias) +
                    output * element_bytes(input->type),
                *math, true};
}

std::optional<OpCost> convolution_backward_cost(const OpCall& call) {
  constexpr std::size_t kGradient = 0, kInput = 1, kWeight = 2, kTransposed = 7, kMask = 10;
  const TensorArgument* gradient = tensor_at(call, kGradient);
  const TensorArgument* input = tensor_at(call, kInput);
  const TensorArgument* weight = tensor_at(call, kWeight);
  if (gradient == nullptr || input == nullptr || weight == nullptr || weight->shape().empty())
    return std::nullopt;
  if (flag_at(call, kTransposed) != false || kMask >= call.values.size()) return std::nullopt;
  const std::string_view mask = call.values[kMask];
  if (!mask.starts_with("[True") && !mask.starts_with("[False")) return std::nullopt;
  const bool has_input = mask.starts_with("[True");
  const std::size_t comma = mask.find(',');
  const bool has_weight = comma != std::string_view::npos && mask.substr(comma).starts_with(", True");
  const std::optional<MathType> math = math_type(gradient->type);
  if (!math) return std::nullopt;
  const double each = 2 * elements_of(gradient->shape()) * per_output_channel(*weight);
  OpCost cost{0, bytes_of(*gradient), *math, true};
  if (has_input) cost.flops += each;
  if (has_weight) cost.flops += each;
  cost.bytes += (has_input ? bytes_of(*input) + bytes_of(*weight) : 0) +
                (has_weight ? bytes_of(*input) + bytes_of(*weight) : 0);
  return cost;
}

/// Cost of the input or weight gradient of an old convolution: reads two of the three tensors, writes the
/// third. `parent` has input, output gradient, weight.
std::optional<OpCost> convolution_gradient_cost(const OpCall& parent) {
  const TensorArgument* input = tensor_at(parent, 0);
  const TensorArgument* gradient = tensor_at(parent, 1);
  const TensorArgument* weight = tensor_at(parent, 2);
  if (input == nullptr || gradient == nullptr || weight == nullptr || weight->shape().empty())
    return std::nullopt;
  const std::optional<MathType> math = math_type(gradient->type);
  // Excludes transposed convolutions.
  const Shape& output = gradient->shape();
  if (!math || output.size() < 2 || output[1] != weight->shape().front()) return std::nullopt;
  return OpCost{2 * elements_of(output) * per_output_channel(*weight),
                bytes_of(*input) + bytes_of(*gradient) + bytes_of(*weight), *math, true};
}

struct AttentionArguments {
  std::size_t query;   ///< followed by key and value
  std::size_t causal;  ///< the flag, or the kind of mask
  bool heads_first;    ///< (batch, heads, length, size); else (batch, length, heads, size)
  int lengths = -1;    ///< a tensor if lengths vary within the batch
  bool is_backward = false;
};

std::optional<OpCost> cost_of(const OpCall& call, const AttentionArguments& where) {
  const TensorArgument* query = tensor_at(call, where.query);
  const TensorArgument* key = tensor_at(call, where.query + 1);
  const TensorArgument* value = tensor_at(call, where.query + 2);
  if (query == nullptr || key == nullptr || value == nullptr) return std::nullopt;
  if (where.lengths >= 0 && tensor_at(call, static_cast<std::size_t>(where.lengths)) != nullptr)
    return std::nullopt;
  const Shape &q = query->shape(), &k = key->shape(), &v = value->shape();
  const std::optional<bool> is_causal = causal_at(call, where.causal);
  const std::optional<MathType> math = math_type(query->type);
  if (q.size() != 4 || k.size() != 4 || v.size() != 4 || !is_causal || !math) return std::nullopt;
  const std::size_t length = where.heads_first ? 2 : 1, heads = where.heads_first ? 1 : 2;
  const std::optional<double> pairs = pairs_of(at(q, length), at(k, length), *is_causal);
  if (!pairs || q[3] != k[3] || k[length] != v[length]) return std::nullopt;
  const double width = element_bytes(query->type);
  const double rows = at(q, 0) * at(q, heads) * at(q, length);  // of queries
  const double output = rows * at(v, 3) * width, statistics = rows * 4;
  const double inputs = bytes_of(*query) + bytes_of(*key) + bytes_of(*value);
  OpCost cost{2 * at(q, 0) * at(q, heads) * *pairs * (at(q, 3) + at(v, 3)), inputs + output + statistics,
              *math, true};
  if (where.is_backward) {
    cost.flops *= 2.5;
    cost.bytes += output + inputs;
  }
  return cost;
}

enum class Result : std::uint8_t { kPromoted, kBool, kReal, kFirst };

struct Elementwise {
  std::string_view name;
  std::size_t inputs;
  double flops = 1;
  Result result = Result::kPromoted;
};

// "add" includes add_ and the forms with an output argument.
constexpr std::array kElementwiseOps{Elementwise{"add", 2},
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
  const auto found = std::ranges::find(kElementwiseOps, name, &Elementwise::name);
  return found == kElementwiseOps.end() ? nullptr : &*found;
}

/// PyTorch's order of type promotion; 0: unknown.
int category_of(std::string_view type) {
  if (element_bytes(type) == 0) return 0;
  if (type == "bool" || type == "Bool") return 1;
  if (type.find("omplex") != std::string_view::npos) return 4;
  if (math_type(type) && *math_type(type) != MathType::kI8) return 3;
  return 2;
}

/// Bytes; float16 and bfloat16 give float32.
double wider(std::string_view a, std::string_view b) {
  const double bytes = std::max(element_bytes(a), element_bytes(b));
  const bool is_mixed = category_of(a) == 3 && a != b && element_bytes(a) == element_bytes(b);
  return is_mixed ? 2 * bytes : bytes;
}

/// PyTorch's promotion: tensors without dimensions count only if their category is higher.
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
  // A Python number of a higher category has its default type.
  if (highest_number > highest && highest > 0) return highest_number == 3 ? 4 : 8;
  return highest > 0 ? bytes : element_bytes(tensors.front()->type);
}

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
      return std::nullopt;
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

/// (gradient, output, dim, torch's number of the result type).
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

std::optional<OpCost> fill_cost(const OpCall& call) {
  const TensorArgument* tensor = tensor_at(call, 0);
  if (tensor == nullptr) return std::nullopt;
  return OpCost{0, bytes_of(*tensor), MathType::kF32, false};
}

struct CopyArguments {
  std::size_t from, to;
};

std::optional<OpCost> cost_of(const OpCall& call, const CopyArguments& where) {
  const TensorArgument* source = tensor_at(call, where.from);
  const TensorArgument* target = tensor_at(call, where.to);
  if (source == nullptr || target == nullptr) return std::nullopt;
  return OpCost{0, bytes_of(*source) + bytes_of(*target), MathType::kF32, false};
}

struct SoftmaxArguments {
  bool is_backward;
};

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

struct NormArguments {
  std::size_t input;
  int gradient = -1;                        ///< of the output: backward
  std::size_t first_parameter, parameters;  ///< read if tensors
};

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

/// aten::embedding(weight, indices).
std::optional<OpCost> embedding_cost(const OpCall& call) {
  const TensorArgument* weight = tensor_at(call, 0);
  const TensorArgument* indices = tensor_at(call, 1);
  if (weight == nullptr || indices == nullptr || weight->shape().size() != 2) return std::nullopt;
  const double row = static_cast<double>(weight->shape()[1]) * element_bytes(weight->type);
  return OpCost{0, bytes_of(*indices) + 2 * elements_of(indices->shape()) * row, MathType::kF32, false};
}

/// aten::index_select(self, dim, index).
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

// Schemas: native_functions.yaml.
constexpr ProductArguments kPlainProduct{0, 1};
constexpr ProductArguments kAddedProduct{1, 2, 0};
constexpr ConvolutionArguments kMiopenConvolution{0, 1, 2, 4, 3, 5, -1};
constexpr ConvolutionArguments kDepthwiseConvolution{0, 1, 3, 4, 5, 6, -1};
constexpr ConvolutionArguments kConvolutionPlaces{0, 1, 2, 3, 4, 5, 6};

using Formula = std::optional<OpCost> (*)(const OpCall&);
struct Operator {
  std::string_view name;
  std::variant<Formula, ProductArguments, ConvolutionArguments, AttentionArguments, CopyArguments,
               SoftmaxArguments, NormArguments>
      cost;
};

// clang-format off
constexpr Operator kOperators[] = {
    {"mm", kPlainProduct},
    {"matmul", kPlainProduct},
    {"bmm", kPlainProduct},
    {"mv", kPlainProduct},
    {"dot", kPlainProduct},
    {"_int_mm", kPlainProduct},
    {"addmm", kAddedProduct},
    {"_addmm_activation", kAddedProduct},
    {"addmv", kAddedProduct},
    {"baddbmm", kAddedProduct},
    {"linear", ProductArguments{0, 1, 2, true}},
    {"cudnn_convolution", ConvolutionArguments{0, 1, -1, 3, 2, 4, -1}},
    {"cudnn_convolution_relu", ConvolutionArguments{0, 1, 2, 3, 4, 5, -1}},
    {"miopen_convolution", kMiopenConvolution},
    {"miopen_depthwise_convolution", kMiopenConvolution},
    {"_conv_depthwise2d", kDepthwiseConvolution},
    {"conv_depthwise3d", kDepthwiseConvolution},
    {"convolution", kConvolutionPlaces},
    {"_convolution", kConvolutionPlaces},
    {"convolution_backward", &convolution_backward_cost},
    {"_flash_attention_forward", AttentionArguments{0, 8, false, 3}},
    {"_flash_attention_backward", AttentionArguments{1, 11, false, 6, true}},
    {"_scaled_dot_product_flash_attention", AttentionArguments{0, 4, true}},
    {"_scaled_dot_product_flash_attention_backward", AttentionArguments{1, 11, true, 6, true}},
    {"_efficient_attention_forward", AttentionArguments{0, 9, false, 4}},
    {"_efficient_attention_backward", AttentionArguments{1, 14, false, 6, true}},
    {"_scaled_dot_product_efficient_attention", AttentionArguments{0, 6, true}},
    {"_scaled_dot_product_cudnn_attention", AttentionArguments{0, 6, true}},
    {"_cudnn_attention_forward", AttentionArguments{0, 10, true, 4}},
    {"fill", &fill_cost},
    {"zero", &fill_cost},
    {"copy", CopyArguments{1, 0}},
    {"clone", CopyArguments{0, 0}},
    {"_softmax", SoftmaxArguments{false}},
    {"_log_softmax", SoftmaxArguments{false}},
    {"_softmax_backward_data", SoftmaxArguments{true}},
    {"_log_softmax_backward_data", SoftmaxArguments{true}},
    {"native_layer_norm", NormArguments{0, -1, 2, 2}},
    {"native_layer_norm_backward", NormArguments{1, 0, 3, 4}},
    {"native_batch_norm", NormArguments{0, -1, 1, 4}},
    {"cudnn_batch_norm", NormArguments{0, -1, 1, 4}},
    {"miopen_batch_norm", NormArguments{0, -1, 1, 4}},
    {"native_batch_norm_backward", NormArguments{1, 0, 2, 5}},
    {"cudnn_batch_norm_backward", NormArguments{0, 1, 2, 5}},
    {"miopen_batch_norm_backward", NormArguments{0, 1, 2, 5}},
    {"native_group_norm", NormArguments{0, -1, 1, 2}},
    {"native_group_norm_backward", NormArguments{1, 0, 2, 3}},
    {"embedding", &embedding_cost},
    {"index_select", &index_select_cost},
};
// clang-format on

std::optional<OpCost> cost_by(Formula formula, const OpCall& call) {
  return formula(call);
}
template <typename Arguments>
std::optional<OpCost> cost_by(const Arguments& where, const OpCall& call) {
  return cost_of(call, where);
}

std::optional<OpCost> aten_cost(const OpCall& call, std::string_view name) {
  const bool is_in_place = name.ends_with('_') && !name.ends_with("__");
  if (is_in_place) name.remove_suffix(1);
  if (is_elementwise(name)) return elementwise_cost(call, name, is_in_place);
  const auto found = std::ranges::find(kOperators, name, &Operator::name);
  if (found == std::ranges::end(kOperators)) return std::nullopt;
  return std::visit([&](const auto& cost) { return cost_by(cost, call); }, found->cost);
}

}  // namespace

const char* to_string(MathType type) {
  constexpr const char* kNames[] = {"f64", "f32", "tf32", "f16", "bf16", "fp8", "int8"};
  return kNames[static_cast<std::size_t>(type)];
}

std::optional<OpCost> op_cost(const OpCall& call, const OpCall* parent) {
  constexpr std::string_view kAten = "aten::";
  if (!call.name.starts_with(kAten)) return std::nullopt;
  const std::string_view name = call.name.substr(kAten.size());
  // Only the enclosing operator of an old convolution's gradients has all shapes.
  const bool is_gradient =
      name.ends_with("convolution_backward_input") || name.ends_with("convolution_backward_weight");
  if (is_gradient) return parent == nullptr ? std::nullopt : convolution_gradient_cost(*parent);
  return aten_cost(call, name);
}

}  // namespace headroom::trace
