// SPDX-License-Identifier: Apache-2.0
#include "headroom_torch/dtensor/selecting_gradients.h"

#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>

#include <algorithm>

#include "headroom/base/error.h"
#include "headroom_torch/dtensor/wrapper.h"

namespace headroom::torch_runner::dtensor {
namespace {

using Arguments = c10::ArrayRef<c10::IValue>;

// (gradient, dim, indices, sizes of the input, keepdim)
at::Tensor gradient_of_selection(Arguments arguments) {
  at::Tensor gradient = arguments[0].toTensor();
  at::Tensor indices = arguments[2].toTensor();
  const std::int64_t dim = arguments[1].toInt();
  const std::vector<std::int64_t> sizes = arguments[3].toIntVector();
  if (!arguments[4].toBool() && !sizes.empty()) {
    gradient = gradient.unsqueeze(dim);
    indices = indices.unsqueeze(dim);
  }
  return gradient.new_zeros(sizes).scatter(dim, indices, gradient);
}

// (gradient, input, dim, indices, sparse gradient)
at::Tensor gradient_of_gather(Arguments arguments) {
  const at::Tensor& gradient = arguments[0].toTensor();
  if (arguments[4].toBool())
    throw Error("gather of a distributed tensor with sparse_grad: leave it out, its gradient is dense");
  return gradient.new_zeros(arguments[1].toTensor().sizes())
      .scatter_add(arguments[2].toInt(), arguments[3].toTensor(), gradient);
}

/// A kernel of the autograd keys, where ATen decomposes: what `own` is composed of is differentiable again.
template <at::Tensor (*own)(Arguments)>
void compose(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack) {
  const std::size_t count = op.schema().arguments().size();
  const Arguments arguments(stack->data() + (stack->size() - count), count);
  const bool is_distributed = std::any_of(arguments.begin(), arguments.end(), [](const c10::IValue& value) {
    return value.isTensor() && wrapper_of(value.toTensor()) != nullptr;
  });
  if (!is_distributed) return op.redispatchBoxed(keys & c10::after_autograd_keyset, stack);
  at::Tensor result = own(arguments);
  stack->resize(stack->size() - count);
  stack->emplace_back(std::move(result));
}

}  // namespace

void register_selecting_gradients(torch::Library& aten) {
  aten.impl("value_selecting_reduction_backward",
            torch::CppFunction::makeFromBoxedFunction<&compose<gradient_of_selection>>());
  aten.impl("gather_backward", torch::CppFunction::makeFromBoxedFunction<&compose<gradient_of_gather>>());
}

}  // namespace headroom::torch_runner::dtensor
