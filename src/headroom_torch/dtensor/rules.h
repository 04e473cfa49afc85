// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include <initializer_list>
#include <string_view>
#include <vector>

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
  c10::SmallVector<Operand, 4> operands;  // the defined tensors of the arguments, lists flattened

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
  int sizes_argument = -1;                   // with the first result's sizes, replaced by the part's
  int strides_argument = -1;                 // with its strides, replaced by contiguous ones
  bool contiguous = false;                   // copies the first operand's part if needed
  c10::SmallVector<Strategy, 8> strategies;  // the first of equal cost wins; all replicated is implied
};

/// Throws Error if the arguments make no sense.
using Rule = void (*)(const Call& call, Sharding& sharding);

/// Non-tensor arguments that a plan depends on.
enum class Statics : std::uint8_t {
  kValues,  // their values
  kKinds,   // presence and type: numbers of any value share a plan
};

/// Serves all operators with the same mathematics and argument positions. Strategies are of one mesh
/// dimension; absent operands (None) do not count.
struct RuleEntry {
  Rule rule;
  Statics statics;
  std::initializer_list<std::string_view> ops;  // without kAten: "add.Tensor", "mm"
};
inline constexpr std::string_view kAten = "aten::";

/// Operators composed of others need none: matmul arrives as mm, mv, dot or bmm.
const std::vector<RuleEntry>& all_rules();
c10::ArrayRef<RuleEntry> pointwise_rules();  // operands broadcast
c10::ArrayRef<RuleEntry> sum_rules();        // a sharded contraction dimension gives Partial(sum)
c10::ArrayRef<RuleEntry> shape_rules();      // any Partial passes through rearranged dimensions

/// `op`: "aten::add.Tensor"; nullptr without a rule.
const RuleEntry* find_rule(std::string_view op);

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
/// "All Partial(op)" for each Partial of an operand; if `linear`, only sums and averages.
void add_partials(const Call& call, Sharding& sharding, bool linear);

}  // namespace headroom::torch_runner::dtensor
