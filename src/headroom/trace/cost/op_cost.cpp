// SPDX-License-Identifier: Apache-2.0
#include "headroom/trace/cost/op_cost.h"

#include <algorithm>
#include <array>
#include <string>

#include "headroom/trace/cost/op_cost_formulas.h"

namespace headroom::trace {
namespace {

using Formula = std::optional<OpCost> (*)(const OpCall&);
struct Entry {
  std::string_view name;
  Formula cost;
};

// Where each operator has what, by its schema (native_functions.yaml).
constexpr std::array kProducts{Entry{"mm",
                                     [](const OpCall& call) {
                                       return product_cost(call, {0, 1}, false);
                                     }},
                               Entry{"matmul",
                                     [](const OpCall& call) {
                                       return product_cost(call, {0, 1}, false);
                                     }},
                               Entry{"bmm",
                                     [](const OpCall& call) {
                                       return product_cost(call, {0, 1}, false);
                                     }},
                               Entry{"mv",
                                     [](const OpCall& call) {
                                       return product_cost(call, {0, 1}, false);
                                     }},
                               Entry{"dot",
                                     [](const OpCall& call) {
                                       return product_cost(call, {0, 1}, false);
                                     }},
                               Entry{"_int_mm",
                                     [](const OpCall& call) {
                                       return product_cost(call, {0, 1}, false);
                                     }},
                               Entry{"addmm",
                                     [](const OpCall& call) {
                                       return product_cost(call, {1, 2, 0}, false);
                                     }},
                               Entry{"_addmm_activation",
                                     [](const OpCall& call) {
                                       return product_cost(call, {1, 2, 0}, false);
                                     }},
                               Entry{"addmv",
                                     [](const OpCall& call) {
                                       return product_cost(call, {1, 2, 0}, false);
                                     }},
                               Entry{"baddbmm",
                                     [](const OpCall& call) {
                                       return product_cost(call, {1, 2, 0}, false);
                                     }},
                               Entry{"linear",
                                     [](const OpCall& call) {
                                       return product_cost(call, {0, 1, 2}, true);
                                     }},
                               Entry{"cudnn_convolution",
                                     [](const OpCall& call) {
                                       return convolution_cost(call, {0, 1, -1, 3, 2, 4, -1});
                                     }},
                               Entry{"cudnn_convolution_relu",
                                     [](const OpCall& call) {
                                       return convolution_cost(call, {0, 1, 2, 3, 4, 5, -1});
                                     }},
                               Entry{"miopen_convolution",
                                     [](const OpCall& call) {
                                       return convolution_cost(call, {0, 1, 2, 4, 3, 5, -1});
                                     }},
                               Entry{"miopen_depthwise_convolution",
                                     [](const OpCall& call) {
                                       return convolution_cost(call, {0, 1, 2, 4, 3, 5, -1});
                                     }},
                               Entry{"_conv_depthwise2d",
                                     [](const OpCall& call) {
                                       return convolution_cost(call, {0, 1, 3, 4, 5, 6, -1});
                                     }},
                               Entry{"conv_depthwise3d",
                                     [](const OpCall& call) {
                                       return convolution_cost(call, {0, 1, 3, 4, 5, 6, -1});
                                     }},
                               Entry{"convolution",
                                     [](const OpCall& call) {
                                       return convolution_cost(call, {0, 1, 2, 3, 4, 5, 6});
                                     }},
                               Entry{"_convolution",
                                     [](const OpCall& call) {
                                       return convolution_cost(call, {0, 1, 2, 3, 4, 5, 6});
                                     }},
                               Entry{"convolution_backward", convolution_backward_cost},
                               Entry{"_flash_attention_forward",
                                     [](const OpCall& call) {
                                       return attention_cost(call, {0, 8, false, 3});
                                     }},
                               Entry{"_flash_attention_backward",
                                     [](const OpCall& call) {
                                       return attention_cost(call, {1, 11, false, 6, true});
                                     }},
                               Entry{"_scaled_dot_product_flash_attention",
                                     [](const OpCall& call) {
                                       return attention_cost(call, {0, 4, true});
                                     }},
                               Entry{"_scaled_dot_product_flash_attention_backward",
                                     [](const OpCall& call) {
                                       return attention_cost(call, {1, 11, true, 6, true});
                                     }},
                               Entry{"_efficient_attention_forward",
                                     [](const OpCall& call) {
                                       return attention_cost(call, {0, 9, false, 4});
                                     }},
                               Entry{"_efficient_attention_backward",
                                     [](const OpCall& call) {
                                       return attention_cost(call, {1, 14, false, 6, true});
                                     }},
                               Entry{"_scaled_dot_product_efficient_attention",
                                     [](const OpCall& call) {
                                       return attention_cost(call, {0, 6, true});
                                     }},
                               Entry{"_scaled_dot_product_cudnn_attention",
                                     [](const OpCall& call) {
                                       return attention_cost(call, {0, 6, true});
                                     }},
                               Entry{"_cudnn_attention_forward", [](const OpCall& call) {
                                       return attention_cost(call, {0, 10, true, 4});
                                     }}};

constexpr std::array kMemoryBound{
    Entry{"fill", fill_cost},
    Entry{"zero", fill_cost},
    Entry{"copy", [](const OpCall& call) { return copy_cost(call, 1, 0); }},
    Entry{"clone", [](const OpCall& call) { return copy_cost(call, 0, 0); }},
    Entry{"_softmax", [](const OpCall& call) { return softmax_cost(call, false); }},
    Entry{"_log_softmax", [](const OpCall& call) { return softmax_cost(call, false); }},
    Entry{"_softmax_backward_data", [](const OpCall& call) { return softmax_cost(call, true); }},
    Entry{"_log_softmax_backward_data", [](const OpCall& call) { return softmax_cost(call, true); }},
    Entry{"native_layer_norm",
          [](const OpCall& call) {
            return norm_cost(call, {0, -1, 2, 2});
          }},
    Entry{"native_layer_norm_backward",
          [](const OpCall& call) {
            return norm_cost(call, {1, 0, 3, 4});
          }},
    Entry{"native_batch_norm",
          [](const OpCall& call) {
            return norm_cost(call, {0, -1, 1, 4});
          }},
    Entry{"cudnn_batch_norm",
          [](const OpCall& call) {
            return norm_cost(call, {0, -1, 1, 4});
          }},
    Entry{"miopen_batch_norm",
          [](const OpCall& call) {
            return norm_cost(call, {0, -1, 1, 4});
          }},
    Entry{"native_batch_norm_backward",
          [](const OpCall& call) {
            return norm_cost(call, {1, 0, 2, 5});
          }},
    Entry{"cudnn_batch_norm_backward",
          [](const OpCall& call) {
            return norm_cost(call, {0, 1, 2, 5});
          }},
    Entry{"miopen_batch_norm_backward",
          [](const OpCall& call) {
            return norm_cost(call, {0, 1, 2, 5});
          }},
    Entry{"native_group_norm",
          [](const OpCall& call) {
            return norm_cost(call, {0, -1, 1, 2});
          }},
    Entry{"native_group_norm_backward",
          [](const OpCall& call) {
            return norm_cost(call, {1, 0, 2, 3});
          }},
    Entry{"embedding", embedding_cost},
    Entry{"index_select", index_select_cost}};

template <typename Table>
auto find_in(const Table& table, std::string_view name) {
  const auto found = std::ranges::find(table, name, [](const auto& entry) { return entry.name; });
  return found == table.end() ? nullptr : &*found;
}

std::optional<OpCost> aten_cost(const OpCall& call, std::string_view name) {
  const bool is_in_place = name.ends_with('_') && !name.ends_with("__");
  if (is_in_place) name.remove_suffix(1);
  if (is_elementwise(name)) return elementwise_cost(call, name, is_in_place);
  if (const Entry* entry = find_in(kProducts, name)) return entry->cost(call);
  if (const Entry* entry = find_in(kMemoryBound, name)) return entry->cost(call);
  return std::nullopt;
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
