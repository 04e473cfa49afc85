// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include "headroom_torch/dtensor/spec.h"

namespace headroom::torch_runner::dtensor {

/// A tensor among the arguments of a call.
struct Operand {
  const Spec* spec = nullptr;  // none for a plain tensor, which counts as replicated
  c10::IntArrayRef sizes;      // of the whole
  at::ScalarType dtype = at::ScalarType::Undefined;
  std::uint32_t argument = 0;

  int dims() const { return static_cast<int>(sizes.size()); }
  /// Where it lies along a mesh dimension.
  Placement placement(int mesh_dim) const {
    return spec == nullptr ? Placement() : spec->placements[static_cast<std::size_t>(mesh_dim)];
  }
};

/// A call of an operator, as its rule sees it.
struct Call {
  c10::ArrayRef<c10::IValue> arguments;
  c10::SmallVector<Operand, 4> operands;  // the defined tensors in order of the arguments, lists flattened

  const Operand& operand(std::size_t index) const { return operands[index]; }
  std::int64_t integer(std::size_t argument) const { return arguments[argument].toInt(); }
  bool flag(std::size_t argument) const { return arguments[argument].toBool(); }
  /// Empty where the argument is None.
  Sizes integers(std::size_t argument) const;
  /// The argument as one of `dims` dimensions, negative ones counted from the end. Throws Error out of range.
  int dim(std::size_t argument, int dims) const;
};

/// Which tensor is a table whose rows are sharded, while indices mean rows of the whole: the local operator
/// is then called by call_on_own_rows (own_rows.h).
enum class Table : std::uint8_t { kNone, kFirstOperand, kFirstResult };

/// What must be true of the shards of a strategy for its answer to be right.
enum class Condition : std::uint8_t {
  kNone,
  kEven,      // every rank's shard has the same size
  kNonEmpty,  // every rank has something
};

/// One way to compute a call along one mesh dimension: with operands placed so, the local operator gives
/// results so.
struct Strategy {
  c10::SmallVector<Placement, 4> operands;
  c10::SmallVector<Placement, 2> results;
  Condition condition = Condition::kNone;
  Table table = Table::kNone;
};

/// What a rule says of a call.
struct Sharding {
  c10::SmallVector<Sizes, 2> results;  // sizes of the whole of each tensor that the operator gives
  int sizes_argument = -1;    // this argument is the first result's sizes: each rank passes its part's
  int strides_argument = -1;  // and this one its strides: contiguous ones, as of every distributed tensor
  bool contiguous = false;    // the first operand's part must be contiguous: where it is not, it is copied
  c10::SmallVector<Strategy, 8> strategies;  // of equal cost the first is taken; all replicated is always one
};

/// A sharding rule. Throws Error when the arguments make no sense.
using Rule = void (*)(const Call& call, Sharding& sharding);

/// Which arguments that are no tensors a plan depends on.
enum class Statics : std::uint8_t {
  kValues,  // their values
  kKinds,   // whether they are there, and of which type: numbers of any value share a plan
};

struct RuleEntry {
  const char* op;  // "aten::add.Tensor", "aten::mm"
  Rule rule;
  Statics statics = Statics::kValues;
};

/// The rule of an operator, or nullptr. The table is in rules.cpp.
const RuleEntry* find_rule(const std::string& op);
c10::ArrayRef<RuleEntry> all_rules();

}  // namespace headroom::torch_runner::dtensor
