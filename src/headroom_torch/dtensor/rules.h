// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "headroom_torch/dtensor/rule.h"

namespace headroom::torch_runner::dtensor {

// The sharding rules. One rule serves every operator that has its arguments in these places and its
// mathematics. Strategies are of one mesh dimension; an absent operand (None) is no operand.

// pointwise_rules.cpp: operands broadcast; a dimension is sharded in all that have it.
void pointwise(const Call& call, Sharding& sharding);
void pointwise_linear(const Call& call, Sharding& sharding);    // f(a x) = a f(x), f(x + y) = f(x) + f(y)
void pointwise_sum(const Call& call, Sharding& sharding);       // linear in all operands together
void pointwise_product(const Call& call, Sharding& sharding);   // linear in each operand
void pointwise_quotient(const Call& call, Sharding& sharding);  // linear in the first operand
void cast(const Call& call, Sharding& sharding);       // (self, dtype, …): linear between floating types
void unary_any(const Call& call, Sharding& sharding);  // the values stay: any placement does
void like(const Call& call, Sharding& sharding);  // a new tensor of the operand's sizes, not of its values
void new_of_sizes(const Call& call, Sharding& sharding);  // (self, size, …): not of the operand's values
void new_strided(const Call& call, Sharding& sharding);   // (self, size, stride, …)

// product_rules.cpp: sums of products; what is summed over may be sharded, and gives Partial(sum).
void mm(const Call& call, Sharding& sharding);
void addmm(const Call& call, Sharding& sharding);
void bmm(const Call& call, Sharding& sharding);
void baddbmm(const Call& call, Sharding& sharding);
void mv(const Call& call, Sharding& sharding);
void addmv(const Call& call, Sharding& sharding);
void dot(const Call& call, Sharding& sharding);

// reduction_rules.cpp: over all dimensions (self, …) or some (self, dims, keepdim, …).
void sum_all(const Call& call, Sharding& sharding);
void sum_dims(const Call& call, Sharding& sharding);
void mean_all(const Call& call, Sharding& sharding);
void mean_dims(const Call& call, Sharding& sharding);
void max_all(const Call& call, Sharding& sharding);
void max_dims(const Call& call, Sharding& sharding);
void min_all(const Call& call, Sharding& sharding);
void min_dims(const Call& call, Sharding& sharding);
void extreme_at(const Call& call, Sharding& sharding);           // (self, dim, keepdim) -> values, indices
void argument_of_extreme(const Call& call, Sharding& sharding);  // (self, dim?, keepdim) -> indices
void item(const Call& call, Sharding& sharding);                 // a number, the same on every rank

// normalization_rules.cpp: along some dimensions, which stay whole.
void softmax(const Call& call, Sharding& sharding);           // (self, dim, …)
void softmax_backward(const Call& call, Sharding& sharding);  // (gradient, output, dim, …)
void layer_norm(const Call& call, Sharding& sharding);
void layer_norm_backward(const Call& call, Sharding& sharding);

// index_rules.cpp: values picked by indices, and put by them.
void gather(const Call& call, Sharding& sharding);
void scatter(const Call& call, Sharding& sharding);
void scatter_value(const Call& call, Sharding& sharding);
void scatter_add(const Call& call, Sharding& sharding);
void embedding(const Call& call, Sharding& sharding);
void embedding_backward(const Call& call, Sharding& sharding);

// shape_rules.cpp: dimensions are moved, cut and joined; values stay, so that any Partial goes through.
void view(const Call& call, Sharding& sharding);          // (self, size)
void view_strided(const Call& call, Sharding& sharding);  // (self, size, stride)
void expand(const Call& call, Sharding& sharding);
void transpose(const Call& call, Sharding& sharding);  // (self, dim0, dim1)
void transpose_2d(const Call& call, Sharding& sharding);
void permute(const Call& call, Sharding& sharding);
void flip(const Call& call, Sharding& sharding);
void unsqueeze(const Call& call, Sharding& sharding);
void squeeze(const Call& call, Sharding& sharding);
void squeeze_dim(const Call& call, Sharding& sharding);
void select(const Call& call, Sharding& sharding);
void select_backward(const Call& call, Sharding& sharding);
void slice(const Call& call, Sharding& sharding);
void slice_backward(const Call& call, Sharding& sharding);
void cat(const Call& call, Sharding& sharding);
void stack(const Call& call, Sharding& sharding);

// What rules are made of (rule.cpp).

/// `dim` of `dims` dimensions, counted from the end where negative. Throws Error out of range.
int wrapped_dim(std::int64_t dim, int dims);
/// The sizes of the whole operand.
Sizes sizes_of(const Operand& operand);
/// Adds "every operand as `operand`, every result as `result`".
void add_uniform(const Call& call, Sharding& sharding, Placement operand, Placement result,
                 Condition condition = Condition::kNone);
/// Calls `body` with each Partial that some operand has, each once.
template <typename Body>
void for_each_partial(const Call& call, Body&& body) {
  std::uint32_t seen = 0;
  for (const Operand& operand : call.operands) {
    if (operand.spec == nullptr) continue;
    for (const Placement placement : operand.spec->placements) {
      const std::uint32_t bit = placement.is_partial() ? 1U << static_cast<unsigned>(placement.op()) : 0;
      if ((seen & bit) == bit) continue;
      seen |= bit;
      body(placement.op());
    }
  }
}
/// Adds "every operand and result Partial(op)", for each such placement that some operand has. Linear
/// operators keep sums and averages only.
void add_partials(const Call& call, Sharding& sharding, bool linear);

}  // namespace headroom::torch_runner::dtensor
