// SPDX-License-Identifier: Apache-2.0
#include "headroom_torch/dtensor/rules.h"

#include <algorithm>

#include <ATen/ATen.h>
#include <fmt/format.h>

#include "headroom/base/error.h"

namespace headroom::torch_runner::dtensor {

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

namespace {

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

/// Sharded as the operand if the dimension has the same size: avoids allocating the whole.
Placement kept_shard(const Operand& operand, Placement placement, const Sizes& sizes) {
  if (!placement.is_shard() || operand.sizes.size() != sizes.size()) return Replicate();
  const auto dim = static_cast<std::size_t>(placement.dim());
  return operand.sizes[dim] == sizes[dim] ? placement : Placement(Replicate());
}

void pointwise(const Call& call, Sharding& sharding) {
  sharding.results.push_back(broadcast_sizes(call));
  add_shards(call, sharding);
}

/// f(a x) = a f(x), f(x + y) = f(x) + f(y), in the first operand.
void pointwise_linear(const Call& call, Sharding& sharding) {
  pointwise(call, sharding);
  add_partial_of(call, sharding, 0);
}

/// Linear in all operands together.
void pointwise_sum(const Call& call, Sharding& sharding) {
  pointwise(call, sharding);
  add_partials(call, sharding, true);
}

/// Linear in each operand.
void pointwise_product(const Call& call, Sharding& sharding) {
  pointwise(call, sharding);
  for (std::size_t which = 0; which < call.operands.size(); ++which) add_partial_of(call, sharding, which);
}

/// (self, dtype, …): linear between floating types.
void cast(const Call& call, Sharding& sharding) {
  pointwise(call, sharding);
  const at::ScalarType from = call.operand(0).dtype;
  const at::ScalarType to = call.arguments[1].isNone() ? from : call.arguments[1].toScalarType();
  if (to == from) return add_partials(call, sharding, false);
  if (at::isFloatingType(to) && at::isFloatingType(from)) add_partials(call, sharding, true);
}

/// Same values: any placement is kept.
void unary_any(const Call& call, Sharding& sharding) {
  pointwise(call, sharding);
  add_partials(call, sharding, false);
}

/// A new tensor of the operand's sizes, without its values.
void like(const Call& call, Sharding& sharding) {
  pointwise(call, sharding);
  for_each_partial(call, [&](ReduceOp op) { add_uniform(call, sharding, Partial(op), Replicate()); });
}

/// (self, size, …), without the operand's values.
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

/// (self, size, stride, …)
void new_strided(const Call& call, Sharding& sharding) {
  new_of_sizes(call, sharding);
  sharding.strides_argument = 2;
}

const RuleEntry kPointwiseRules[] = {
    {unary_any, Statics::kValues, {"alias", "clone", "detach"}},
    {cast, Statics::kValues, {"_to_copy"}},
    {like, Statics::kKinds, {"empty_like", "full_like", "ones_like", "zeros_like"}},
    {new_of_sizes, Statics::kValues, {"new_empty", "new_full", "new_ones", "new_zeros"}},
    {new_strided, Statics::kValues, {"new_empty_strided"}},
    {pointwise_sum,
     Statics::kKinds,
     {"add.Tensor", "add_.Tensor", "sub.Tensor", "sub_.Tensor", "rsub.Tensor", "copy_"}},
    {pointwise_product, Statics::kKinds, {"mul.Tensor", "mul_.Tensor"}},
    {pointwise_linear,
     Statics::kKinds,
     {"div.Tensor", "div_.Tensor", "mul.Scalar", "mul_.Scalar", "div.Scalar", "div_.Scalar", "neg", "neg_",
      "zero_"}},
    {pointwise,
     Statics::kKinds,
     {"add.Scalar", "add_.Scalar", "sub.Scalar", "sub_.Scalar", "rsub.Scalar", "fill_.Scalar",
      "pow.Tensor_Scalar", "pow.Tensor_Tensor", "pow_.Scalar", "div.Tensor_mode", "fmod.Scalar",
      "remainder.Scalar"}},
    {pointwise,
     Statics::kKinds,
     {"maximum", "minimum", "atan2", "where.self", "masked_fill.Scalar", "masked_fill.Tensor",
      "masked_fill_.Scalar", "masked_fill_.Tensor", "addcmul", "addcmul_", "addcdiv", "addcdiv_",
      "lerp.Scalar", "lerp_.Scalar", "lerp.Tensor"}},
    {pointwise,
     Statics::kKinds,
     {"abs", "ceil", "clamp", "clamp_", "clamp_min", "clamp_max", "cos", "erf", "exp", "exp_", "expm1",
      "floor", "isnan"}},
    {pointwise, Statics::kKinds, {"log", "log1p", "log2", "logical_not", "reciprocal", "round", "rsqrt"}},
    {pointwise,
     Statics::kKinds,
     {"sgn", "sigmoid", "sigmoid_", "sign", "sin", "sqrt", "sqrt_", "tanh", "tanh_", "trunc"}},
    {pointwise,
     Statics::kKinds,
     {"elu", "gelu", "hardtanh", "leaky_relu", "mish", "relu", "relu_", "silu", "softplus"}},
    {pointwise,
     Statics::kKinds,
     {"elu_backward", "gelu_backward", "hardtanh_backward", "leaky_relu_backward", "sigmoid_backward",
      "silu_backward", "softplus_backward", "tanh_backward", "threshold_backward"}},
    {pointwise,
     Statics::kKinds,
     {"bitwise_and.Tensor", "bitwise_not", "bitwise_or.Tensor", "logical_and", "logical_and_", "logical_or_",
      "logical_not_", "logical_or"}},
    {pointwise,
     Statics::kKinds,
     {"eq.Scalar", "eq.Tensor", "ge.Scalar", "ge.Tensor", "gt.Scalar", "gt.Tensor", "le.Scalar", "le.Tensor",
      "lt.Scalar", "lt.Tensor", "ne.Scalar", "ne.Tensor"}},
};

}  // namespace

c10::ArrayRef<RuleEntry> pointwise_rules() {
  return kPointwiseRules;
}

const std::vector<RuleEntry>& all_rules() {
  static const std::vector<RuleEntry> kAll = [] {
    std::vector<RuleEntry> all;
    for (const auto table : {pointwise_rules(), sum_rules(), shape_rules()})
      all.insert(all.end(), table.begin(), table.end());
    return all;
  }();
  return kAll;
}

const RuleEntry* find_rule(std::string_view op) {
  if (!op.starts_with(kAten)) return nullptr;
  op.remove_prefix(kAten.size());
  const auto has_op = [op](const RuleEntry& entry) {
    return std::ranges::find(entry.ops, op) != entry.ops.end();
  };
  const auto found = std::ranges::find_if(all_rules(), has_op);
  return found == all_rules().end() ? nullptr : &*found;
}

}  // namespace headroom::torch_runner::dtensor
