// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/ivalue.h>
#include <c10/util/ArrayRef.h>
#include <c10/util/flat_hash_map.h>

#include <cstdint>
#include <memory>
#include <optional>

#include "headroom_torch/dtensor/own_rows.h"
#include "headroom_torch/dtensor/spec.h"

namespace c10 {
class OperatorHandle;
}

namespace headroom::torch_runner::dtensor {

struct OpTraits;

/// How one call of an operator runs on the parts: what propagation found, and the cache keeps.
struct Plan {
  /// An operand that moves before the operator runs.
  struct Move {
    std::uint32_t operand = 0;  // among the defined tensors of the arguments, lists flattened
    Placements from, to;
    Sizes sizes;  // of the whole operand
  };
  struct Replacement {
    std::uint32_t argument = 0;
    c10::IValue value;  // takes the argument's place: sizes of the whole become sizes of the part
  };

  c10::SmallVector<std::uint64_t, 16> key;
  c10::SmallVector<Move, 1> moves;
  c10::SmallVector<Replacement, 1> replacements;
  std::optional<OwnRows> own_rows;           // of the table that the operator has or makes
  bool contiguous = false;                   // the first operand's part is made so
  c10::SmallVector<const Spec*, 3> results;  // of the tensors among the results
  std::unique_ptr<Plan> next;                // of another key with the same hash
};

/// When the steps of a call began, in nanoseconds of the steady clock.
struct DispatchTimes {
  std::int64_t started = 0;   // the key is built
  std::int64_t keyed = 0;     // it is looked up; on a miss, sharding is propagated
  std::int64_t found = 0;     // operands are redistributed, and taken out of their wrappers
  std::int64_t moved = 0;     // the local operator runs
  std::int64_t computed = 0;  // its results are wrapped
  std::int64_t wrapped = 0;
};

/// The plans of a mesh by operator, interned specs and static arguments.
class PropagationCache {
 public:
  PropagationCache();
  ~PropagationCache();

  void clear();  ///< forgets plans, not counts
  std::uint64_t hits() const { return hits_; }
  std::uint64_t misses() const { return misses_; }
  std::size_t size() const { return size_; }

  /// Every call of an operator writes its times there, until it is given nullptr. Costs one branch when off.
  void set_times(DispatchTimes* times) { times_ = times; }
  DispatchTimes* times() const { return times_; }

  /// The plan of this key, or nullptr; counts a hit or a miss.
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
  /// What is known of an operator. Not forgotten by clear(): it does not depend on a call.
  const OpTraits& traits(const c10::OperatorHandle& op);

 private:
  struct AsItIs {
    std::size_t operator()(std::uint64_t hash) const { return hash; }
  };
  ska::flat_hash_map<std::uint64_t, std::unique_ptr<Plan>, AsItIs> plans_;
  ska::flat_hash_map<const void*, std::unique_ptr<const OpTraits>> ops_;
  std::size_t size_ = 0;
  std::uint64_t hits_ = 0;
  std::uint64_t misses_ = 0;
  DispatchTimes* times_ = nullptr;
};

}  // namespace headroom::torch_runner::dtensor
