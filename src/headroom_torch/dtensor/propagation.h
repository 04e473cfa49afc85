// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/ivalue.h>
#include <ATen/core/stack.h>
#include <c10/util/ArrayRef.h>
#include <c10/util/flat_hash_map.h>

#include <cstdint>
#include <memory>
#include <optional>

#include "headroom_torch/dtensor/rules.h"
#include "headroom_torch/dtensor/spec.h"

namespace headroom::torch_runner::dtensor {

/// This rank's rows of a table of `whole` rows.
struct OwnRows {
  std::int64_t first = 0, count = 0, whole = 0;
  bool of_result = false;  // the operator makes the table (a gradient)
};

/// aten::embedding or aten::embedding_dense_backward on this rank's rows; arguments are on the stack. A
/// look-up gives zeros for other rows, so that the ranks' sum is the result. Throws Error for an index
/// outside the table.
void call_on_own_rows(const c10::OperatorHandle& op, const OwnRows& rows, torch::jit::Stack& stack);

struct OpTraits;

/// How a call runs on the parts.
struct Plan {
  struct Move {
    std::uint32_t operand = 0;  // among the defined tensors of the arguments, lists flattened
    Placements from, to;
    Sizes sizes;  // whole operand
  };
  struct Replacement {
    std::uint32_t argument = 0;
    c10::IValue value;  // sizes of the part
  };

  c10::SmallVector<std::uint64_t, 16> key;
  c10::SmallVector<Move, 1> moves;
  c10::SmallVector<Replacement, 1> replacements;
  std::optional<OwnRows> own_rows;           // of the operator's table
  bool contiguous = false;                   // make the first operand's part contiguous
  c10::SmallVector<const Spec*, 3> results;  // of the tensors among the results
  std::unique_ptr<Plan> next;                // another key with the same hash
};

/// Start of each step, in steady-clock ns.
struct DispatchTimes {
  std::int64_t started = 0;   // build the key
  std::int64_t keyed = 0;     // look it up; on a miss, propagate sharding
  std::int64_t found = 0;     // redistribute and unwrap operands
  std::int64_t moved = 0;     // run the local operator
  std::int64_t computed = 0;  // wrap its results
  std::int64_t wrapped = 0;
};

class PropagationCache {
 public:
  PropagationCache();
  ~PropagationCache();

  void clear();  ///< forgets plans, not counts
  std::uint64_t hits() const { return hits_; }
  std::uint64_t misses() const { return misses_; }
  std::size_t size() const { return size_; }

  /// nullptr turns timing off, at the cost of a branch.
  void set_times(DispatchTimes* times) { times_ = times; }
  DispatchTimes* times() const { return times_; }

  /// Counts a hit or a miss.
  const Plan* find(c10::ArrayRef<std::uint64_t> key, std::uint64_t hash) {
    const auto place = plans_.find(hash);
    if (place != plans_.end()) {
      for (const Plan* plan = place->second.get(); plan != nullptr; plan = plan->next.get()) {
        if (c10::ArrayRef<std::uint64_t>(plan->key) == key) {
          ++hits_;
          return plan;
        }
      }
    }
    ++misses_;
    return nullptr;
  }
  void insert(std::unique_ptr<Plan> plan, std::uint64_t hash);
  /// Independent of a call: clear() keeps them.
  const OpTraits& traits(const c10::OperatorHandle& op);

 private:
  struct IdentityHash {
    std::size_t operator()(std::uint64_t hash) const { return hash; }
  };
  ska::flat_hash_map<std::uint64_t, std::unique_ptr<Plan>, IdentityHash> plans_;
  ska::flat_hash_map<const void*, std::unique_ptr<const OpTraits>> ops_;
  std::size_t size_ = 0;
  std::uint64_t hits_ = 0;
  std::uint64_t misses_ = 0;
  DispatchTimes* times_ = nullptr;
};

struct OpTraits {
  std::string name;  // "aten::add.Tensor"
  const RuleEntry* rule = nullptr;
  std::uint32_t arguments = 0;
  std::uint32_t results = 0;
  int written = -1;         // argument that the operator writes and returns
  bool decomposes = false;  // its parts are dispatched one by one
};

OpTraits traits_of(const c10::OperatorHandle& op);

/// Results' specs need the local operator's output.
struct Draft {
  std::unique_ptr<Plan> plan;
  c10::SmallVector<Sizes, 2> sizes;  // of each whole result; missing: of the local one
  c10::SmallVector<Placements, 2> placements;
};

/// Per mesh dimension from the outermost, the strategy of least redistribution (move_cost). Throws Error if
/// the operator has no rule and the mesh's fallback is kError, if operands belong to several meshes, or if it
/// would write to a tensor that must move first.
Draft propagate(const OpTraits& op, c10::ArrayRef<c10::IValue> arguments, const DeviceMesh& mesh);

}  // namespace headroom::torch_runner::dtensor
