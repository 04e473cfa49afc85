// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include "headroom_torch/dtensor/spec.h"

namespace headroom::torch_runner::dtensor {

struct Operand {
  const Spec* spec = nullptr;  // null for a plain tensor, which counts as replicated
  c10::IntArrayRef sizes;      // of the whole
  at::ScalarType dtype = at::ScalarType::Undefined;
  std::uint32_t argument = 0;

  int dims() const { return static_cast<int>(sizes.size()); }
  Placement placement(int mesh_dim) const {
    return spec == nullptr ? Placement() : spec->placements[static_cast<std::size_t>(mesh_dim)];
  }
};

struct Call {
  c10::ArrayRef<c10::IValue> arguments;
  c10::SmallVector<Operand, 4> operands;  // the defined tensors in order of the arguments, lists flattened

  const Operand& operand(std::size_t index) const { return operands[index]; }
  std::int64_t integer(std::size_t argument) const { return arguments[argument].toInt(); }
  bool flag(std::size_t argument) const { return arguments[argument].toBool(); }
  /// Empty if the argument is None.
  Sizes integers(std::size_t argument) const;
  /// Negative dimensions count from the end. Throws Error out of range.
  int dim(std::size_t argument, int dims) const;
};

/// Table whose rows are sharded while indices address the whole (call_on_own_rows).
enum class Table : std::uint8_t { kNone, kFirstOperand, kFirstResult };

enum class Condition : std::uint8_t {
  kNone,
  kEven,  // equal size on every rank
  kNonEmpty,
};

/// For one mesh dimension.
struct Strategy {
  c10::SmallVector<Placement, 4> operands;
  c10::SmallVector<Placement, 2> results;
  Condition condition = Condition::kNone;
  Table table = Table::kNone;
};

struct Sharding {
  c10::SmallVector<Sizes, 2> results;        // sizes of the whole of each result tensor
  int sizes_argument = -1;                   // argument with the first result's sizes, replaced by the part's
  int strides_argument = -1;                 // argument with its strides, replaced by contiguous ones
  bool contiguous = false;                   // copy the first operand's part if it is not contiguous
  c10::SmallVector<Strategy, 8> strategies;  // the first of equal cost wins; all replicated is implied
};

/// Throws Error if the arguments make no sense.
using Rule = void (*)(const Call& call, Sharding& sharding);

/// Non-tensor arguments that a plan depends on.
enum class Statics : std::uint8_t {
  kValues,  // their values
  kKinds,   // presence and type: numbers of any value share a plan
};

struct RuleEntry {
  const char* op;  // "aten::add.Tensor", "aten::mm"
  Rule rule;
  Statics statics = Statics::kValues;
};

/// Returns nullptr without a rule.
const RuleEntry* find_rule(const std::string& op);
c10::ArrayRef<RuleEntry> all_rules();

// Each rule serves all operators with the same mathematics and argument positions. Strategies are of one mesh
// dimension; absent operands (None) do not count.

// rules.cpp: operands broadcast.
void pointwise(const Call& call, Sharding& sharding);
void pointwise_linear(const Call& call, Sharding& sharding);    // f(a x) = a f(x), f(x + y) = f(x) + f(y)
void pointwise_sum(const Call& call, Sharding& sharding);       // linear in all operands together
void pointwise_product(const Call& call, Sharding& sharding);   // linear in each operand
void pointwise_quotient(const Call& call, Sharding& sharding);  // linear in the first operand
void cast(const Call& call, Sharding& sharding);       // (self, dtype, …): linear between floating types
void unary_any(const Call& call, Sharding& sharding);  // same values: any placement is kept
void like(const Call& call, Sharding& sharding);  // a new tensor of the operand's sizes, without its values
void new_of_sizes(const Call& call, Sharding& sharding);  // (self, size, …), without the operand's values
void new_strided(const Call& call, Sharding& sharding);   // (self, size, stride, …)

// sum_rules.cpp: products. A sharded contraction dimension gives Partial(sum).
void mm(const Call& call, Sharding& sharding);
void addmm(const Call& call, Sharding& sharding);
void bmm(const Call& call, Sharding& sharding);
void baddbmm(const Call& call, Sharding& sharding);
void mv(const Call& call, Sharding& sharding);
void addmv(const Call& call, Sharding& sharding);
void dot(const Call& call, Sharding& sharding);

// Reductions over all dimensions (self, …) or some (self, dims, keepdim, …).
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
void item(const Call& call, Sharding& sharding);                 // a number, equal on every rank

// Normalizations.
void softmax(const Call& call, Sharding& sharding);           // (self, dim, …)
void softmax_backward(const Call& call, Sharding& sharding);  // (gradient, output, dim, …)
void layer_norm(const Call& call, Sharding& sharding);
void layer_norm_backward(const Call& call, Sharding& sharding);

// shape_rules.cpp: reads and writes by index.
void gather(const Call& call, Sharding& sharding);
void scatter(const Call& call, Sharding& sharding);
void scatter_value(const Call& call, Sharding& sharding);
void scatter_add(const Call& call, Sharding& sharding);
void embedding(const Call& call, Sharding& sharding);
void embedding_backward(const Call& call, Sharding& sharding);

// Rearranged dimensions; any Partial passes through.
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

/// Negative dimensions count from the end. Throws Error out of range.
int wrapped_dim(std::int64_t dim, int dims);
Sizes sizes_of(const Operand& operand);
/// Adds "every operand as `operand`, every result as `result`".
void add_uniform(const Call& call, Sharding& sharding, Placement operand, Placement result,
                 Condition condition = Condition::kNone);
/// Calls `body` once with each Partial of an operand.
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
/// Adds "all Partial(op)" for each Partial of an operand; if `linear`, only for sums and averages.
void add_partials(const Call& call, Sharding& sharding, bool linear);

}  // namespace headroom::torch_runner::dtensor
