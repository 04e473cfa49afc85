// SPDX-License-Identifier: Apache-2.0
#include "headroom_torch/dispatch/dispatch_panel.h"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "headroom/base/error.h"
#include "headroom/base/text.h"
#include "headroom_torch/dispatch/cycle_loop.h"
#include "headroom_torch/dtensor/distributed_tensor.h"

namespace headroom::torch_runner {
namespace {

using Tensors = std::vector<at::Tensor>;
using Case = std::unique_ptr<DispatchCase>;

at::ScalarType scalar_type(const std::string& dtype) {
  if (dtype == "f32") return at::kFloat;
  if (dtype == "f64") return at::kDouble;
  if (dtype == "bf16") return at::kBFloat16;
  throw Error("no dtype " + in_quotes(dtype) + " here: f32, f64 or bf16");
}

at::Tensor random_tensor(const DispatchContext& context, at::IntArrayRef sizes) {
  return at::rand(sizes, at::TensorOptions().dtype(at::kFloat))
      .to(scalar_type(context.setup.dtype))
      .to(context.mesh->device());
}

dtensor::Placements replicated(const DispatchContext& context) {
  return dtensor::Placements(context.placements.size(), dtensor::Replicate());
}

/// A partial tensor is not cut from a whole: every rank's part is one of as many summands.
at::Tensor placed(const at::Tensor& whole, const DispatchContext& context,
                  const dtensor::Placements& placements) {
  for (const dtensor::Placement& placement : placements) {
    if (!placement.is_partial()) continue;
    return dtensor::from_local(whole, context.mesh, placements, dtensor::LocalSizes::kEqual);
  }
  return dtensor::distribute(whole, context.mesh, placements);
}

void add_operand(Operands& operands, at::Tensor whole, const DispatchContext& context,
                 const dtensor::Placements& placements) {
  operands.placed.push_back(placed(whole, context, placements));
  operands.local.push_back(dtensor::local(operands.placed.back()));
  operands.whole.push_back(std::move(whole));
}

/// The tensor that all is about, placed as the user said.
Operands subject(const DispatchContext& context) {
  at::manual_seed(context.seed);
  Operands operands;
  add_operand(operands, random_tensor(context, context.setup.shape), context, context.placements);
  return operands;
}

void require_matrix(const DispatchContext& context, const char* op) {
  if (context.setup.shape.size() == 2) return;
  throw Error(fmt::format("{} takes a matrix, not a tensor of {}: give --shape ROWSxCOLUMNS", op,
                          fmt::join(context.setup.shape, "x")));
}

/// A matrix that the subject can be multiplied with, on every rank.
void add_weights(Operands& operands, const DispatchContext& context) {
  const std::int64_t inner = context.setup.shape.back();
  add_operand(operands, random_tensor(context, {inner, inner}), context, replicated(context));
}

template <typename Call>
Case loop(const DispatchContext& context, Operands operands, Call call) {
  return std::make_unique<CycleLoop<Call>>(context, std::move(operands), std::move(call));
}

/// What has no counterpart on plain tensors.
template <typename Call>
Case placed_loop(const DispatchContext& context, Call call) {
  Operands operands = subject(context);
  operands.whole.clear();
  operands.local.clear();
  return loop(context, std::move(operands), std::move(call));
}

template <at::Tensor (*kOp)(const at::Tensor&)>
Case unary(const DispatchContext& context) {
  return loop(context, subject(context), [](const Tensors& x) { return kOp(x[0]); });
}

Case add(const DispatchContext& context) {
  return loop(context, subject(context), [](const Tensors& x) { return at::add(x[0], x[0]); });
}

Case add_in_place(const DispatchContext& context) {
  Operands operands = subject(context);
  // Nothing is added, however often.
  add_operand(operands, at::zeros_like(operands.whole.front()), context, context.placements);
  return loop(context, std::move(operands), [](const Tensors& x) { return x[0].add_(x[1]); });
}

Case mm(const DispatchContext& context) {
  require_matrix(context, "mm");
  Operands operands = subject(context);
  add_weights(operands, context);
  return loop(context, std::move(operands), [](const Tensors& x) { return at::mm(x[0], x[1]); });
}

Case addmm(const DispatchContext& context) {
  require_matrix(context, "addmm");
  Operands operands = subject(context);
  add_weights(operands, context);
  add_operand(operands, random_tensor(context, {context.setup.shape.back()}), context, replicated(context));
  return loop(context, std::move(operands), [](const Tensors& x) { return at::addmm(x[2], x[0], x[1]); });
}

Case matmul(const DispatchContext& context) {
  Operands operands = subject(context);
  add_weights(operands, context);
  return loop(context, std::move(operands), [](const Tensors& x) { return at::matmul(x[0], x[1]); });
}

Case view(const DispatchContext& context) {
  return loop(context, subject(context), [](const Tensors& x) { return x[0].view({-1}); });
}

Case layer_norm(const DispatchContext& context) {
  const std::int64_t columns = context.setup.shape.back();
  Operands operands = subject(context);
  for (int i = 0; i < 2; ++i)
    add_operand(operands, random_tensor(context, {columns}), context, replicated(context));
  return loop(context, std::move(operands),
              [columns](const Tensors& x) { return at::layer_norm(x[0], {columns}, x[1], x[2]); });
}

Case softmax(const DispatchContext& context) {
  return loop(context, subject(context), [](const Tensors& x) { return at::softmax(x[0], -1); });
}

Case mul(const DispatchContext& context) {
  return loop(context, subject(context), [](const Tensors& x) { return at::mul(x[0], x[0]); });
}

Case transpose(const DispatchContext& context) {
  require_matrix(context, "t");
  return loop(context, subject(context), [](const Tensors& x) { return x[0].t(); });
}

Case cat(const DispatchContext& context) {
  return loop(context, subject(context), [](const Tensors& x) { return at::cat({x[0], x[0]}, -1); });
}

Case redistribute(const DispatchContext& context) {
  dtensor::Placements to = replicated(context);
  if (to == context.placements) to.front() = dtensor::Shard{0};
  return placed_loop(context, [to](const Tensors& x) { return dtensor::redistribute(x[0], to); });
}

Case from_local(const DispatchContext& context) {
  return placed_loop(context, [mesh = context.mesh, placements = context.placements,
                               part = dtensor::local(subject(context).placed.front())](const Tensors&) {
    return dtensor::from_local(part, mesh, placements, dtensor::LocalSizes::kEqual);
  });
}

Case full(const DispatchContext& context) {
  return placed_loop(context, [](const Tensors& x) { return dtensor::full(x[0]); });
}

at::Tensor detach(const at::Tensor& x) {
  return x.detach();
}
at::Tensor sum(const at::Tensor& x) {
  return at::sum(x);
}
at::Tensor mean(const at::Tensor& x) {
  return at::mean(x);
}
at::Tensor relu(const at::Tensor& x) {
  return at::relu(x);
}
at::Tensor clone(const at::Tensor& x) {
  return at::clone(x);
}

}  // namespace

const std::vector<PanelOp>& dispatch_panel() {
  static const std::vector<PanelOp> panel{
      {"add", "a + a", true, add},
      {"detach", "a view of a without its gradient", true, unary<detach>},
      {"mm", "a times a replicated square matrix", true, mm},
      {"addmm", "the same and a replicated row", true, addmm},
      {"sum", "over all elements", true, unary<sum>},
      {"view", "as a vector", true, view},
      {"add_", "zeros added in place", true, add_in_place},
      {"redistribute", "replicated from as it was placed; communicates", true, redistribute},
      {"from_local", "a distributed tensor of each rank's part", true, from_local},
      {"full", "the whole on every rank; communicates", true, full},
      {"layer_norm", "over the last dimension, replicated weight and bias", true, layer_norm},
      {"softmax", "over the last dimension", true, softmax},
      {"mul", "a * a", false, mul},
      {"relu", "of each element", false, unary<relu>},
      {"matmul", "mm as at::matmul decomposes it", false, matmul},
      {"mean", "over all elements", false, unary<mean>},
      {"t", "transposed", false, transpose},
      {"clone", "a copy", false, unary<clone>},
      {"cat", "a beside itself", false, cat},
  };
  return panel;
}

}  // namespace headroom::torch_runner
