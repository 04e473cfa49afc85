// SPDX-License-Identifier: Apache-2.0
#include "headroom/trace/cost/op_cost.h"

#include <algorithm>
#include <string>
#include <variant>

#include "headroom/trace/cost/op_cost_formulas.h"

namespace headroom::trace {
namespace {

// Where each operator has what, by its schema (native_functions.yaml).
constexpr ProductArguments kPlainProduct{0, 1};
constexpr ProductArguments kAddedProduct{1, 2, 0};
constexpr ConvolutionArguments kMiopenConvolution{0, 1, 2, 4, 3, 5, -1};
constexpr ConvolutionArguments kDepthwiseConvolution{0, 1, 3, 4, 5, 6, -1};
constexpr ConvolutionArguments kConvolution{0, 1, 2, 3, 4, 5, 6};

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
    {"convolution", kConvolution},
    {"_convolution", kConvolution},
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

std::optional<std::vector<std::int64_t>> integers_at(const OpCall& call, std::size_t index) {
  if (index >= call.values.size() || call.values[index].empty()) return std::nullopt;
  std::string text(call.values[index]);
  if (text.front() != '[') text = "[" + text + "]";
  const std::vector<TensorArgument> parsed = tensor_arguments("[" + text + "]", "");
  if (parsed.size() != 1 || parsed.front().is_list) return std::nullopt;
  return parsed.front().shape();
}

std::optional<OpCost> op_cost(const OpCall& call, const OpCall* parent) {
  constexpr std::string_view kAten = "aten::";
  if (!call.name.starts_with(kAten)) return std::nullopt;
  const std::string_view name = call.name.substr(kAten.size());
  // The old convolutions have one operator for each gradient, which does not have all shapes: the one around
  // them has.
  const bool is_gradient =
      name.ends_with("convolution_backward_input") || name.ends_with("convolution_backward_weight");
  if (is_gradient) return parent == nullptr ? std::nullopt : convolution_gradient_cost(*parent);
  return aten_cost(call, name);
}

}  // namespace headroom::trace
