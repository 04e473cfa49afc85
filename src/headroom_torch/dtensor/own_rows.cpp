// SPDX-License-Identifier: Apache-2.0
#include "headroom_torch/dtensor/own_rows.h"

#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <fmt/format.h>

#include "headroom/base/error.h"

namespace headroom::torch_runner::dtensor {
namespace {

using c10::IValue;

constexpr std::size_t kArguments = 5;  // of both operators

void require_rows(const at::Tensor& indices, std::int64_t whole) {
  if (indices.numel() == 0) return;
  const auto [least, most] = indices.aminmax();
  const auto low = least.item<std::int64_t>(), high = most.item<std::int64_t>();
  if (low >= 0 && high < whole) return;
  throw Error(fmt::format("embedding: index {} of a table of {} rows: give one from 0 to {}",
                          low < 0 ? low : high, whole, whole - 1));
}

/// Where `own`, indices counted from this rank's first row, mean no row of this rank.
at::Tensor strangers(const at::Tensor& own, const OwnRows& rows) {
  return own.lt(0).logical_or(own.ge(rows.count));
}

// (weight, indices, padding index, scale by frequency, sparse)
void look_up(const c10::OperatorHandle& op, const OwnRows& rows, torch::jit::Stack& stack) {
  IValue* const arguments = stack.data() + (stack.size() - kArguments);
  const at::Tensor weight = arguments[0].toTensor();
  const at::Tensor own = arguments[1].toTensor() - rows.first;
  const at::Tensor foreign = strangers(own, rows);
  // Every index needs a row to look up, also on a rank that has none.
  if (rows.count == 0) arguments[0] = at::zeros({1, weight.size(1)}, weight.options());
  arguments[1] = own.masked_fill(foreign, 0);
  op.callBoxed(&stack);
  stack.back() = stack.back().toTensor().masked_fill(foreign.unsqueeze(-1), 0);
}

// (gradient, indices, rows of the weight, padding index, scale by frequency)
void sum_gradient(const c10::OperatorHandle& op, const OwnRows& rows, torch::jit::Stack& stack) {
  IValue* const arguments = stack.data() + (stack.size() - kArguments);
  const at::Tensor indices = arguments[1].toTensor();
  const std::int64_t padding = arguments[3].toInt();
  const at::Tensor own = indices - rows.first;
  at::Tensor unused = strangers(own, rows);
  if (padding >= 0) unused = unused.logical_or(indices.eq(padding));
  // What is not for these rows goes to one more, which is the padding and is cut off.
  arguments[1] = own.masked_fill(unused, rows.count);
  arguments[2] = rows.count + 1;
  arguments[3] = rows.count;
  op.callBoxed(&stack);
  stack.back() = stack.back().toTensor().narrow(0, 0, rows.count);
}

}  // namespace

void call_on_own_rows(const c10::OperatorHandle& op, const OwnRows& rows, torch::jit::Stack& stack) {
  require_rows(stack[stack.size() - kArguments + 1].toTensor(), rows.whole);
  rows.of_result ? sum_gradient(op, rows, stack) : look_up(op, rows, stack);
}

}  // namespace headroom::torch_runner::dtensor
