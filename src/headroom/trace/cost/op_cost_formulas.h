// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "headroom/trace/cost/op_cost.h"

namespace headroom::trace {

// The costs of the kinds of operators. Each gives nothing where an argument that it depends on is not in the
// trace, or is not what the operator takes.

/// The argument, where it is a tensor with a known type and no negative size; else nullptr.
const TensorArgument* tensor_at(const OpCall& call, std::size_t index);
double bytes_of(const TensorArgument& tensor);
std::optional<MathType> math_type(std::string_view type);
/// "True", "False".
std::optional<bool> flag_at(const OpCall& call, std::size_t index);
/// "[1, 1]" or "1".
std::optional<std::vector<std::int64_t>> integers_at(const OpCall& call, std::size_t index);

/// Where the matrices are among the arguments.
struct ProductArguments {
  std::size_t left, right;
  int bias = -1;                     ///< also read: the tensor that is added; -1 for none
  bool is_right_transposed = false;  ///< it is (n, k)
};
/// (..., m, k) x (k, n) or (b, m, k) x (b, k, n).
std::optional<OpCost> cost_of(const OpCall& call, const ProductArguments& where);

struct ConvolutionArguments {
  std::size_t input, weight;
  int bias;  ///< -1 for none
  std::size_t stride, padding, dilation;
  int transposed;  ///< -1: never
};
std::optional<OpCost> cost_of(const OpCall& call, const ConvolutionArguments& where);
/// Of aten::convolution_backward: the gradients that its output_mask asks for.
std::optional<OpCost> convolution_backward_cost(const OpCall& call);
/// Of one part of an old convolution's backward, the gradient of the input or that of the weight (each reads
/// two of the three tensors and writes the third): from the arguments of `parent`, which are the input, the
/// gradient of the output and the weight.
std::optional<OpCost> convolution_gradient_cost(const OpCall& parent);

struct AttentionArguments {
  std::size_t query;   ///< followed by key and value
  std::size_t causal;  ///< index of the flag, or of the number of the kind of mask
  bool heads_first;    ///< (batch, heads, length, size); else (batch, length, heads, size)
  int lengths = -1;    ///< argument that is a tensor where lengths vary within the batch
  bool is_backward = false;
};
std::optional<OpCost> cost_of(const OpCall& call, const AttentionArguments& where);

/// The peak that arithmetic outside of products is held against: double, or all the rest.
MathType vector_math(std::string_view type);

/// The name without "aten::" and without the underscore of an operator that works in place.
bool is_elementwise(std::string_view name);
/// Reads the tensors that go in, broadcasts them, writes the result.
std::optional<OpCost> elementwise_cost(const OpCall& call, std::string_view name, bool is_in_place);
/// Writes the first argument.
std::optional<OpCost> fill_cost(const OpCall& call);

struct CopyArguments {
  std::size_t from, to;
};
std::optional<OpCost> cost_of(const OpCall& call, const CopyArguments& where);

struct SoftmaxArguments {
  bool is_backward;
};
/// Reads tensors and writes one of the size of the first of them.
std::optional<OpCost> cost_of(const OpCall& call, const SoftmaxArguments& where);

struct NormArguments {
  std::size_t input;
  int gradient = -1;                        ///< of the output: backward
  std::size_t first_parameter, parameters;  ///< weight, bias, statistics: read where they are tensors
};
std::optional<OpCost> cost_of(const OpCall& call, const NormArguments& where);
/// aten::embedding(weight, indices).
std::optional<OpCost> embedding_cost(const OpCall& call);
/// aten::index_select(self, dim, index).
std::optional<OpCost> index_select_cost(const OpCall& call);

}  // namespace headroom::trace
