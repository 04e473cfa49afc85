// SPDX-License-Identifier: Apache-2.0
// Products of matrices, convolutions, attention.
#include <algorithm>

#include "headroom/trace/cost/op_cost_formulas.h"

namespace headroom::trace {
namespace {

/// The bytes of an optional tensor: 0 where the argument is none.
double optional_bytes(const OpCall& call, int index) {
  const TensorArgument* tensor = index < 0 ? nullptr : tensor_at(call, static_cast<std::size_t>(index));
  return tensor == nullptr ? 0 : bytes_of(*tensor);
}

double at(const Shape& shape, std::size_t index) {
  return static_cast<double>(shape[index]);
}

/// Elements of a weight (output channels, input channels / groups, kernel...) per output channel.
double per_output_channel(const TensorArgument& weight) {
  return weight.shape().front() == 0 ? 0 : elements_of(weight.shape()) / at(weight.shape(), 0);
}

/// Sizes of the output along the spatial dimensions, multiplied.
std::optional<double> output_positions(const OpCall& call, const ConvolutionArguments& where,
                                       const Shape& input, const Shape& weight) {
  const auto stride = integers_at(call, where.stride), padding = integers_at(call, where.padding),
             dilation = integers_at(call, where.dilation);
  if (!stride || !padding || !dilation || input.size() != weight.size() || input.size() < 3)
    return std::nullopt;
  double positions = 1;
  for (std::size_t i = 2; i < input.size(); ++i) {
    // One number stands for all dimensions.
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

/// Pairs of query and key that are not masked.
std::optional<double> pairs_of(double queries, double keys, bool is_causal) {
  if (!is_causal) return queries * keys;
  // With different lengths libraries differ in which corner the mask begins.
  if (queries != keys) return std::nullopt;
  return queries * (queries + 1) / 2;
}

/// "True" and "False", or the kind of mask as a number: 0 is none.
std::optional<bool> causal_at(const OpCall& call, std::size_t index) {
  if (const std::optional<bool> flag = flag_at(call, index)) return flag;
  const auto kind = integers_at(call, index);
  if (!kind || kind->size() != 1) return std::nullopt;
  return kind->front() != 0;
}

}  // namespace

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
  // The gradient of the one needs the other: each is read where the other is written.
  cost.bytes += (has_input ? bytes_of(*input) + bytes_of(*weight) : 0) +
                (has_weight ? bytes_of(*input) + bytes_of(*weight) : 0);
  return cost;
}

std::optional<OpCost> convolution_gradient_cost(const OpCall& parent) {
  const TensorArgument* input = tensor_at(parent, 0);
  const TensorArgument* gradient = tensor_at(parent, 1);
  const TensorArgument* weight = tensor_at(parent, 2);
  if (input == nullptr || gradient == nullptr || weight == nullptr || weight->shape().empty())
    return std::nullopt;
  const std::optional<MathType> math = math_type(gradient->type);
  // A transposed convolution has its output channels elsewhere.
  const Shape& output = gradient->shape();
  if (!math || output.size() < 2 || output[1] != weight->shape().front()) return std::nullopt;
  return OpCost{2 * elements_of(output) * per_output_channel(*weight),
                bytes_of(*input) + bytes_of(*gradient) + bytes_of(*weight), *math, true};
}

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
  const double rows = at(q, 0) * at(q, heads) * at(q, length);  // of queries, over batch and heads
  const double output = rows * at(v, 3) * width, statistics = rows * 4;
  const double inputs = bytes_of(*query) + bytes_of(*key) + bytes_of(*value);
  OpCost cost{2 * at(q, 0) * at(q, heads) * *pairs * (at(q, 3) + at(v, 3)), inputs + output + statistics,
              *math, true};
  if (where.is_backward) {
    cost.flops *= 2.5;
    // Reads output and its gradient, and writes the gradients of the three inputs.
    cost.bytes += output + inputs;
  }
  return cost;
}

}  // namespace headroom::trace
