// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>

#include "headroom_torch/dtensor/propagation_cache.h"
#include "headroom_torch/dtensor/rule.h"

namespace headroom::torch_runner::dtensor {

/// An operator as the dispatch sees it: found once, kept for good.
struct OpTraits {
  std::string name;  // "aten::add.Tensor"
  const RuleEntry* rule = nullptr;
  std::uint32_t arguments = 0;
  std::uint32_t results = 0;
  int written = -1;         // the argument that the operator writes and gives back
  bool decomposes = false;  // made of other operators, which come here one by one
};

OpTraits traits_of(const c10::OperatorHandle& op);

/// A plan whose results have no specs yet: those are known in full once the local operator ran.
struct Draft {
  std::unique_ptr<Plan> plan;
  c10::SmallVector<Sizes, 2> sizes;  // of the whole of each result; none: sizes of the local result
  c10::SmallVector<Placements, 2> placements;
};

/// Finds, for each dimension of the mesh, the strategy with the least cost of redistribution (move_cost),
/// outer dimensions first. Throws Error when the operator has no rule and the mesh does not fall back to
/// replicating, when operands are of several meshes, and when the operator would write to a tensor that had
/// to move first.
Draft propagate(const OpTraits& op, c10::ArrayRef<c10::IValue> arguments, const DeviceMesh& mesh);

}  // namespace headroom::torch_runner::dtensor
