// SPDX-License-Identifier: Apache-2.0
#include "headroom_torch/dtensor/rules.h"

#include <algorithm>

#include <ATen/ATen.h>
#include <fmt/format.h>

#include "headroom/base/error.h"

namespace headroom::torch_runner::dtensor {
namespace {

/// Operators that ATen composes of others need no rule: matmul arrives as mm, mv, dot or bmm.
constexpr RuleEntry kRules[] = {
    // Copies and aliases.
    {"aten::alias", unary_any},
    {"aten::clone", unary_any},
    {"aten::detach", unary_any},
    {"aten::_to_copy", cast},
    // New tensors of the same sizes.
    {"aten::empty_like", like, Statics::kKinds},
    {"aten::full_like", like, Statics::kKinds},
    {"aten::ones_like", like, Statics::kKinds},
    {"aten::zeros_like", like, Statics::kKinds},
    {"aten::new_empty", new_of_sizes},
    {"aten::new_full", new_of_sizes},
    {"aten::new_ones", new_of_sizes},
    {"aten::new_zeros", new_of_sizes},
    {"aten::new_empty_strided", new_strided},
    // Elementwise, linear.
    {"aten::add.Tensor", pointwise_sum, Statics::kKinds},
    {"aten::add_.Tensor", pointwise_sum, Statics::kKinds},
    {"aten::sub.Tensor", pointwise_sum, Statics::kKinds},
    {"aten::sub_.Tensor", pointwise_sum, Statics::kKinds},
    {"aten::rsub.Tensor", pointwise_sum, Statics::kKinds},
    {"aten::copy_", pointwise_sum, Statics::kKinds},
    {"aten::mul.Tensor", pointwise_product, Statics::kKinds},
    {"aten::mul_.Tensor", pointwise_product, Statics::kKinds},
    {"aten::div.Tensor", pointwise_quotient, Statics::kKinds},
    {"aten::div_.Tensor", pointwise_quotient, Statics::kKinds},
    {"aten::mul.Scalar", pointwise_linear, Statics::kKinds},
    {"aten::mul_.Scalar", pointwise_linear, Statics::kKinds},
    {"aten::div.Scalar", pointwise_linear, Statics::kKinds},
    {"aten::div_.Scalar", pointwise_linear, Statics::kKinds},
    {"aten::neg", pointwise_linear, Statics::kKinds},
    {"aten::neg_", pointwise_linear, Statics::kKinds},
    {"aten::zero_", pointwise_linear, Statics::kKinds},
    // Elementwise, other.
    {"aten::add.Scalar", pointwise, Statics::kKinds},
    {"aten::add_.Scalar", pointwise, Statics::kKinds},
    {"aten::sub.Scalar", pointwise, Statics::kKinds},
    {"aten::sub_.Scalar", pointwise, Statics::kKinds},
    {"aten::rsub.Scalar", pointwise, Statics::kKinds},
    {"aten::fill_.Scalar", pointwise, Statics::kKinds},
    {"aten::pow.Tensor_Scalar", pointwise, Statics::kKinds},
    {"aten::pow.Tensor_Tensor", pointwise, Statics::kKinds},
    {"aten::pow_.Scalar", pointwise, Statics::kKinds},
    {"aten::div.Tensor_mode", pointwise, Statics::kKinds},
    {"aten::fmod.Scalar", pointwise, Statics::kKinds},
    {"aten::remainder.Scalar", pointwise, Statics::kKinds},
    {"aten::maximum", pointwise, Statics::kKinds},
    {"aten::minimum", pointwise, Statics::kKinds},
    {"aten::atan2", pointwise, Statics::kKinds},
    {"aten::where.self", pointwise, Statics::kKinds},
    {"aten::masked_fill.Scalar", pointwise, Statics::kKinds},
    {"aten::masked_fill.Tensor", pointwise, Statics::kKinds},
    {"aten::masked_fill_.Scalar", pointwise, Statics::kKinds},
    {"aten::masked_fill_.Tensor", pointwise, Statics::kKinds},
    {"aten::addcmul", pointwise, Statics::kKinds},
    {"aten::addcmul_", pointwise, Statics::kKinds},
    {"aten::addcdiv", pointwise, Statics::kKinds},
    {"aten::addcdiv_", pointwise, Statics::kKinds},
    {"aten::lerp.Scalar", pointwise, Statics::kKinds},
    {"aten::lerp_.Scalar", pointwise, Statics::kKinds},
    {"aten::lerp.Tensor", pointwise, Statics::kKinds},
    {"aten::abs", pointwise, Statics::kKinds},
    {"aten::ceil", pointwise, Statics::kKinds},
    {"aten::clamp", pointwise, Statics::kKinds},
    {"aten::clamp_", pointwise, Statics::kKinds},
    {"aten::clamp_min", pointwise, Statics::kKinds},
    {"aten::clamp_max", pointwise, Statics::kKinds},
    {"aten::cos", pointwise, Statics::kKinds},
    {"aten::erf", pointwise, Statics::kKinds},
    {"aten::exp", pointwise, Statics::kKinds},
    {"aten::exp_", pointwise, Statics::kKinds},
    {"aten::expm1", pointwise, Statics::kKinds},
    {"aten::floor", pointwise, Statics::kKinds},
    {"aten::isnan", pointwise, Statics::kKinds},
    {"aten::log", pointwise, Statics::kKinds},
    {"aten::log1p", pointwise, Statics::kKinds},
    {"aten::log2", pointwise, Statics::kKinds},
    {"aten::logical_not", pointwise, Statics::kKinds},
    {"aten::reciprocal", pointwise, Statics::kKinds},
    {"aten::round", pointwise, Statics::kKinds},
    {"aten::rsqrt", pointwise, Statics::kKinds},
    {"aten::sgn", pointwise, Statics::kKinds},
    {"aten::sigmoid", pointwise, Statics::kKinds},
    {"aten::sigmoid_", pointwise, Statics::kKinds},
    {"aten::sign", pointwise, Statics::kKinds},
    {"aten::sin", pointwise, Statics::kKinds},
    {"aten::sqrt", pointwise, Statics::kKinds},
    {"aten::sqrt_", pointwise, Statics::kKinds},
    {"aten::tanh", pointwise, Statics::kKinds},
    {"aten::tanh_", pointwise, Statics::kKinds},
    {"aten::trunc", pointwise, Statics::kKinds},
    {"aten::elu", pointwise, Statics::kKinds},
    {"aten::gelu", pointwise, Statics::kKinds},
    {"aten::hardtanh", pointwise, Statics::kKinds},
    {"aten::leaky_relu", pointwise, Statics::kKinds},
    {"aten::mish", pointwise, Statics::kKinds},
    {"aten::relu", pointwise, Statics::kKinds},
    {"aten::relu_", pointwise, Statics::kKinds},
    {"aten::silu", pointwise, Statics::kKinds},
    {"aten::softplus", pointwise, Statics::kKinds},
    {"aten::elu_backward", pointwise, Statics::kKinds},
    {"aten::gelu_backward", pointwise, Statics::kKinds},
    {"aten::hardtanh_backward", pointwise, Statics::kKinds},
    {"aten::leaky_relu_backward", pointwise, Statics::kKinds},
    {"aten::sigmoid_backward", pointwise, Statics::kKinds},
    {"aten::silu_backward", pointwise, Statics::kKinds},
    {"aten::softplus_backward", pointwise, Statics::kKinds},
    {"aten::tanh_backward", pointwise, Statics::kKinds},
    {"aten::threshold_backward", pointwise, Statics::kKinds},
    {"aten::bitwise_and.Tensor", pointwise, Statics::kKinds},
    {"aten::bitwise_not", pointwise, Statics::kKinds},
    {"aten::bitwise_or.Tensor", pointwise, Statics::kKinds},
    {"aten::logical_and", pointwise, Statics::kKinds},
    {"aten::logical_and_", pointwise, Statics::kKinds},
    {"aten::logical_or_", pointwise, Statics::kKinds},
    {"aten::logical_not_", pointwise, Statics::kKinds},
    {"aten::logical_or", pointwise, Statics::kKinds},
    {"aten::eq.Scalar", pointwise, Statics::kKinds},
    {"aten::eq.Tensor", pointwise, Statics::kKinds},
    {"aten::ge.Scalar", pointwise, Statics::kKinds},
    {"aten::ge.Tensor", pointwise, Statics::kKinds},
    {"aten::gt.Scalar", pointwise, Statics::kKinds},
    {"aten::gt.Tensor", pointwise, Statics::kKinds},
    {"aten::le.Scalar", pointwise, Statics::kKinds},
    {"aten::le.Tensor", pointwise, Statics::kKinds},
    {"aten::lt.Scalar", pointwise, Statics::kKinds},
    {"aten::lt.Tensor", pointwise, Statics::kKinds},
    {"aten::ne.Scalar", pointwise, Statics::kKinds},
    {"aten::ne.Tensor", pointwise, Statics::kKinds},
    // Sums of products.
    {"aten::addmm", addmm, Statics::kKinds},
    {"aten::addmv", addmv, Statics::kKinds},
    {"aten::baddbmm", baddbmm, Statics::kKinds},
    {"aten::bmm", bmm, Statics::kKinds},
    {"aten::dot", dot, Statics::kKinds},
    {"aten::mm", mm, Statics::kKinds},
    {"aten::mv", mv, Statics::kKinds},
    // Reductions.
    {"aten::sum", sum_all},
    {"aten::sum.dim_IntList", sum_dims},
    {"aten::mean", mean_all},
    {"aten::mean.dim", mean_dims},
    {"aten::max", max_all},
    {"aten::amax", max_dims},
    {"aten::min", min_all},
    {"aten::amin", min_dims},
    {"aten::max.dim", extreme_at},
    {"aten::min.dim", extreme_at},
    {"aten::argmax", argument_of_extreme},
    {"aten::argmin", argument_of_extreme},
    {"aten::_local_scalar_dense", item},
    // Along some dimensions.
    {"aten::_softmax", softmax},
    {"aten::_log_softmax", softmax},
    {"aten::cumsum", softmax},
    {"aten::_softmax_backward_data", softmax_backward},
    {"aten::_log_softmax_backward_data", softmax_backward},
    {"aten::native_layer_norm", layer_norm},
    {"aten::native_layer_norm_backward", layer_norm_backward},
    // By indices.
    {"aten::gather", gather},
    {"aten::scatter.src", scatter},
    {"aten::scatter_.src", scatter},
    {"aten::scatter.value", scatter_value},
    {"aten::scatter_.value", scatter_value},
    {"aten::scatter_add", scatter_add},
    {"aten::scatter_add_", scatter_add},
    {"aten::embedding", embedding},
    {"aten::embedding_dense_backward", embedding_backward},
    // Dimensions moved, cut and joined.
    {"aten::view", view},
    {"aten::_unsafe_view", view},
    {"aten::_reshape_alias", view_strided},
    {"aten::expand", expand},
    {"aten::transpose.int", transpose},
    {"aten::t", transpose_2d},
    {"aten::permute", permute},
    {"aten::flip", flip},
    {"aten::unsqueeze", unsqueeze},
    {"aten::squeeze", squeeze},
    {"aten::squeeze.dim", squeeze_dim},
    {"aten::select.int", select},
    {"aten::select_backward", select_backward},
    {"aten::slice.Tensor", slice},
    {"aten::slice_backward", slice_backward},
    {"aten::cat", cat},
    {"aten::stack", stack},
};

bool is_linear(ReduceOp op) {
  return op == ReduceOp::kSum || op == ReduceOp::kAvg;
}

Sizes broadcast_sizes(const Call& call) {
  Sizes sizes;
  for (const Operand& operand : call.operands) {
    while (sizes.size() < operand.sizes.size()) sizes.insert(sizes.begin(), 1);
    const std::size_t shift = sizes.size() - operand.sizes.size();
    for (std::size_t dim = 0; dim < operand.sizes.size(); ++dim) {
      std::int64_t& size = sizes[dim + shift];
      if (size == 1) size = operand.sizes[dim];
      if (operand.sizes[dim] != 1 && operand.sizes[dim] != size) {
        throw Error("cannot broadcast the sizes " + std::to_string(size) + " and " +
                    std::to_string(operand.sizes[dim]) +
                    " in one dimension: make them equal, or one of them 1");
      }
    }
  }
  return sizes;
}

void add_shards(const Call& call, Sharding& sharding) {
  const Sizes& sizes = sharding.results[0];
  for (std::size_t dim = 0; dim < sizes.size(); ++dim) {
    Strategy strategy;
    for (const Operand& operand : call.operands) {
      const std::size_t shift = sizes.size() - operand.sizes.size();
      const bool has = dim >= shift && operand.sizes[dim - shift] == sizes[dim];
      strategy.operands.push_back(has ? Placement(Shard(static_cast<int>(dim - shift)))
                                      : Placement(Replicate()));
    }
    strategy.results.assign(1, Shard(static_cast<int>(dim)));
    sharding.strategies.push_back(std::move(strategy));
  }
}

void add_partial_of(const Call& call, Sharding& sharding, std::size_t which) {
  for_each_partial(call, [&](ReduceOp op) {
    if (!is_linear(op)) return;
    Strategy strategy;
    strategy.operands.assign(call.operands.size(), Replicate());
    strategy.operands[which] = Partial(op);
    strategy.results.assign(1, Partial(op));
    sharding.strategies.push_back(std::move(strategy));
  });
}

/// Sharded as the operand if the dimension has the same size, to avoid allocating the whole.
Placement kept_shard(const Operand& operand, Placement placement, const Sizes& sizes) {
  if (!placement.is_shard() || operand.sizes.size() != sizes.size()) return Replicate();
  const auto dim = static_cast<std::size_t>(placement.dim());
  return operand.sizes[dim] == sizes[dim] ? placement : Placement(Replicate());
}

}  // namespace

const RuleEntry* find_rule(const std::string& op) {
  for (const RuleEntry& entry : kRules) {
    if (op == entry.op) return &entry;
  }
  return nullptr;
}

c10::ArrayRef<RuleEntry> all_rules() {
  return kRules;
}

Sizes Call::integers(std::size_t argument) const {
  Sizes values;
  if (arguments[argument].isNone()) return values;
  for (const c10::IValue& value : arguments[argument].toListRef()) values.push_back(value.toInt());
  return values;
}

int Call::dim(std::size_t argument, int dims) const {
  return wrapped_dim(arguments[argument].toInt(), dims);
}

int wrapped_dim(std::int64_t dim, int dims) {
  const std::int64_t count = std::max(1, dims);
  if (dim < -count || dim >= count) {
    throw Error(fmt::format("no dimension {} in a tensor of {} dimensions: use {} to {}", dim, dims, -count,
                            count - 1));
  }
  return static_cast<int>(dim < 0 ? dim + count : dim);
}

Sizes sizes_of(const Operand& operand) {
  return Sizes(operand.sizes.begin(), operand.sizes.end());
}

void add_uniform(const Call& call, Sharding& sharding, Placement operand, Placement result,
                 Condition condition) {
  Strategy strategy;
  strategy.operands.assign(call.operands.size(), operand);
  strategy.results.assign(sharding.results.size(), result);
  strategy.condition = condition;
  sharding.strategies.push_back(std::move(strategy));
}

void add_partials(const Call& call, Sharding& sharding, bool linear) {
  for_each_partial(call, [&](ReduceOp op) {
    if (!linear || is_linear(op)) add_uniform(call, sharding, Partial(op), Partial(op));
  });
}

void pointwise(const Call& call, Sharding& sharding) {
  sharding.results.push_back(broadcast_sizes(call));
  add_shards(call, sharding);
}

void pointwise_linear(const Call& call, Sharding& sharding) {
  pointwise(call, sharding);
  add_partial_of(call, sharding, 0);
}

void pointwise_sum(const Call& call, Sharding& sharding) {
  pointwise(call, sharding);
  add_partials(call, sharding, true);
}

void pointwise_product(const Call& call, Sharding& sharding) {
  pointwise(call, sharding);
  for (std::size_t which = 0; which < call.operands.size(); ++which) add_partial_of(call, sharding, which);
}

void pointwise_quotient(const Call& call, Sharding& sharding) {
  pointwise_linear(call, sharding);
}

void cast(const Call& call, Sharding& sharding) {
  pointwise(call, sharding);
  const at::ScalarType from = call.operand(0).dtype;
  const at::ScalarType to = call.arguments[1].isNone() ? from : call.arguments[1].toScalarType();
  if (to == from) return add_partials(call, sharding, false);
  if (at::isFloatingType(to) && at::isFloatingType(from)) add_partials(call, sharding, true);
}

void unary_any(const Call& call, Sharding& sharding) {
  pointwise(call, sharding);
  add_partials(call, sharding, false);
}

void like(const Call& call, Sharding& sharding) {
  pointwise(call, sharding);
  for_each_partial(call, [&](ReduceOp op) { add_uniform(call, sharding, Partial(op), Replicate()); });
}

void new_of_sizes(const Call& call, Sharding& sharding) {
  const Sizes sizes = call.integers(1);
  if (call.operand(0).sizes == c10::IntArrayRef(sizes)) {
    like(call, sharding);
  } else {
    sharding.results.push_back(sizes);
    for (const Placement placement : call.operand(0).spec->placements) {
      add_uniform(call, sharding, placement, kept_shard(call.operand(0), placement, sizes));
    }
  }
  sharding.sizes_argument = 1;
}

void new_strided(const Call& call, Sharding& sharding) {
  new_of_sizes(call, sharding);
  sharding.strides_argument = 2;
}

}  // namespace headroom::torch_runner::dtensor
