// SPDX-License-Identifier: Apache-2.0
#include "headroom_torch/calls/flop_counter.h"

#include <ATen/ATen.h>
#include <ATen/core/function_schema.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <mutex>
#include <numeric>
#include <utility>
#include <vector>

#include "headroom/base/text.h"
#include "headroom_torch/calls/op_recorder.h"

namespace headroom::torch_runner {
namespace {

using Arguments = c10::ArrayRef<const c10::IValue>;

double product(at::IntArrayRef sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), 1.0, std::multiplies<>());
}

/// None if the tensor is absent or has fewer than `dims` dimensions.
std::optional<at::IntArrayRef> sizes_at(Arguments arguments, std::size_t index, std::size_t dims) {
  if (index >= arguments.size() || !arguments[index].isTensor()) return std::nullopt;
  const at::Tensor& tensor = arguments[index].toTensor();
  if (!tensor.defined() || tensor.dim() < static_cast<std::int64_t>(dims)) return std::nullopt;
  return tensor.sizes();
}

/// [..., m, k] by [..., k, n], the tensors at `First` and `First + 1`.
template <std::size_t First>
std::optional<double> matrices(Arguments arguments) {
  const auto left = sizes_at(arguments, First, 2), right = sizes_at(arguments, First + 1, 2);
  if (!left || !right) return std::nullopt;
  return 2 * product(*left) * static_cast<double>(right->back());
}

template <std::size_t First>
std::optional<double> vectors(Arguments arguments) {
  const auto left = sizes_at(arguments, First, 1);
  if (!left) return std::nullopt;
  return 2 * product(*left);
}

/// As at::native's conv_output_size.
double convolved(std::int64_t input, std::int64_t kernel, std::int64_t stride, std::int64_t padding,
                 std::int64_t dilation) {
  return static_cast<double>((input + 2 * padding - dilation * (kernel - 1) - 1) / stride + 1);
}

/// (input, weight, bias, stride, padding, dilation, transposed, ...). Weights [out, in / groups, ...] apply
/// once per output position; transposed ones, [in, out / groups, ...], once per input position.
std::optional<double> convolution(Arguments arguments) {
  const auto input = sizes_at(arguments, 0, 3), weight = sizes_at(arguments, 1, 3);
  if (!input || !weight || input->size() != weight->size() || arguments.size() < 7) return std::nullopt;
  for (const std::size_t list : {3, 4, 5}) {
    if (!arguments[list].isIntList()) return std::nullopt;
  }
  if (!arguments[6].isBool()) return std::nullopt;
  const bool transposed = arguments[6].toBool();
  const auto stride = arguments[3].toIntVector(), padding = arguments[4].toIntVector(),
             dilation = arguments[5].toIntVector();
  // A list of one value applies to all dimensions.
  const auto at = [](const std::vector<std::int64_t>& values, std::size_t dim) {
    return dim < values.size() ? values[dim] : values.back();
  };
  double places = 1;
  for (std::size_t dim = 0; dim + 2 < input->size(); ++dim) {
    const std::int64_t size = (*input)[dim + 2];
    places *= transposed
                  ? static_cast<double>(size)
                  : convolved(size, (*weight)[dim + 2], at(stride, dim), at(padding, dim), at(dilation, dim));
  }
  return 2 * static_cast<double>(input->front()) * places * product(*weight);
}

/// (grad_output, input, weight, bias_sizes, stride, padding, dilation, transposed, output_padding, groups,
/// output_mask).
std::optional<double> convolution_backward(Arguments arguments) {
  const auto result = sizes_at(arguments, 0, 3), input = sizes_at(arguments, 1, 3),
             weight = sizes_at(arguments, 2, 3);
  if (!result || !input || !weight || arguments.size() < 11) return std::nullopt;
  if (!arguments[7].isBool() || !arguments[10].isBoolList()) return std::nullopt;
  const at::IntArrayRef places = (arguments[7].toBool() ? *input : *result).slice(2);
  const c10::List<bool> mask = arguments[10].toBoolList();
  const int gradients = (mask.size() > 0 && mask[0]) + (mask.size() > 1 && mask[1]);
  return gradients * 2 * static_cast<double>(input->front()) * product(places) * product(*weight);
}

/// softmax(q k^T) v: q [..., s_q, d], k [..., s_k, d], v [..., s_k, d_v].
std::optional<double> attention(Arguments arguments) {
  const auto query = sizes_at(arguments, 0, 2), key = sizes_at(arguments, 1, 2),
             value = sizes_at(arguments, 2, 2);
  if (!query || !key || !value) return std::nullopt;
  const auto keys = static_cast<double>((*key)[key->size() - 2]);
  const double rows = product(query->slice(0, query->size() - 1));
  return 2 * rows * keys * static_cast<double>(query->back() + value->back());
}

struct Formula {
  std::string_view name;
  std::optional<double> (*flops)(Arguments);
};

constexpr std::array kFormulas{
    Formula{"aten::mm", matrices<0>},
    Formula{"aten::addmm", matrices<1>},
    Formula{"aten::bmm", matrices<0>},
    Formula{"aten::baddbmm", matrices<1>},
    Formula{"aten::mv", vectors<0>},
    Formula{"aten::addmv", vectors<1>},
    Formula{"aten::dot", vectors<0>},
    Formula{"aten::convolution", convolution},
    Formula{"aten::_convolution", convolution},
    Formula{"aten::convolution_overrideable", convolution},
    Formula{"aten::convolution_backward", convolution_backward},
    Formula{"aten::_scaled_dot_product_flash_attention", attention},
    Formula{"aten::_scaled_dot_product_flash_attention_for_cpu", attention},
    Formula{"aten::_scaled_dot_product_efficient_attention", attention},
    Formula{"aten::_scaled_dot_product_cudnn_attention", attention},
};

constexpr std::size_t kShownOps = 8;

std::string dtype_name(at::ScalarType type) {
  if (type == at::kFloat) return "f32";
  if (type == at::kBFloat16) return "bf16";
  if (type == at::kDouble) return "f64";
  if (type == at::kHalf) return "f16";
  return at::toString(type);
}

/// Matched within names: "aten::_to_copy", "aten::new_empty".
constexpr std::array<std::string_view, 7> kMovers{"empty", "resize", "copy",    "clone",
                                                  "fill_", "zero_",  "resolve_"};

bool has_tensor(c10::ArrayRef<const c10::IValue> arguments) {
  return std::ranges::any_of(
      arguments, [](const c10::IValue& argument) { return argument.isTensor() || argument.isTensorList(); });
}

bool moves_only(const at::RecordFunction& call) {
  const std::string_view name = call.name();
  const auto is_in_name = [&](std::string_view mover) { return name.find(mover) != std::string_view::npos; };
  if (std::ranges::any_of(kMovers, is_in_name)) return true;
  const auto schema = call.operator_schema();
  return schema && std::ranges::any_of(schema->returns(), [](const c10::Argument& result) {
           return result.alias_info() != nullptr && !result.alias_info()->isWrite();
         });
}

class FlopCounter final : public OpListener {
 public:
  std::unique_ptr<at::ObserverContext> begin(const at::RecordFunction& call) override {
    auto made = std::make_unique<Call>();
    if (call.scope() != at::RecordScope::FUNCTION) return made;
    const std::lock_guard lock(mutex_);
    std::vector<Call*>& open = open_[call.threadId()];
    Call* const parent = open.empty() ? nullptr : open.back();
    made->is_op = true;
    made->takes_tensors = has_tensor(arguments_of(call));
    made->is_part = parent != nullptr && (parent->is_part || parent->is_counted);
    if (!made->is_part) count(call, *made);
    open.push_back(made.get());
    return made;
  }

  void end(const at::RecordFunction& call, at::ObserverContext* context) override {
    auto& ended = static_cast<Call&>(*context);
    if (!ended.is_op) return;
    const std::lock_guard lock(mutex_);
    std::vector<Call*>& open = open_[call.threadId()];
    std::erase(open, &ended);
    const bool is_whole = ended.is_counted || ended.has_parts;
    if (!is_whole && (!ended.takes_tensors || moves_only(call))) return;
    // The parent is then covered by its parts.
    if (!open.empty()) open.back()->has_parts = true;
    if (!is_whole && !ended.is_part) ++count_.not_counted[call.name()];
  }

  FlopCount take() { return std::move(count_); }

 private:
  struct Call final : at::ObserverContext {
    bool is_op = false;
    bool is_part = false;  ///< inside a counted operator
    bool is_counted = false;
    bool has_parts = false;  ///< that compute
    bool takes_tensors = false;
  };

  void count(const at::RecordFunction& call, Call& made) {
    const auto arguments = arguments_of(call);
    const auto flops = op_flops(call.name(), arguments);
    if (!flops) return;
    made.is_counted = true;
    count_.flops += *flops;
    ++count_.counted[call.name()];
    for (const c10::IValue& argument : arguments) {
      if (argument.isTensor() && argument.toTensor().defined()) {
        count_.dtypes.insert(dtype_name(argument.toTensor().scalar_type()));
      }
    }
  }

  std::mutex mutex_;
  std::map<std::uint64_t, std::vector<Call*>> open_;  ///< by calling thread
  FlopCount count_;
};

}  // namespace

std::optional<double> op_flops(std::string_view name, Arguments arguments) {
  for (const Formula& formula : kFormulas) {
    if (formula.name == name || (name.starts_with(formula.name) && name == std::string(formula.name) + "_")) {
      return formula.flops(arguments);
    }
  }
  return std::nullopt;
}

FlopCount count_flops(const std::function<void()>& run) {
  FlopCounter counter;
  {
    const ListenerGuard listening(counter);
    run();
  }
  return counter.take();
}

std::string calls_text(const std::map<std::string, std::int64_t>& calls) {
  std::vector<std::string> parts;
  for (const auto& [name, count] : calls) {
    if (parts.size() == kShownOps) break;
    parts.push_back(count == 1 ? name : fmt::format("{} x{}", name, count));
  }
  std::string text = join(parts, ", ");
  if (calls.size() > kShownOps) text += fmt::format(" and {} more", calls.size() - kShownOps);
  return text;
}

}  // namespace headroom::torch_runner
