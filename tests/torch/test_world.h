// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/ATen.h>

#include "headroom_torch/dtensor/distributed_tensor.h"

namespace headroom::torch_runner::dtensor {

/// Connected once; its size comes from WORLD_SIZE.
const WorldPtr& test_world();

/// Cached by shape.
const MeshPtr& test_mesh(const std::vector<int>& shape);
/// One dimension with all ranks.
const MeshPtr& line_mesh();

/// The line, and a square for four ranks.
std::vector<std::vector<int>> mesh_shapes();

/// Small integers, equal on every rank: exact sums in any order.
at::Tensor whole_numbers(at::IntArrayRef sizes, std::int64_t seed);

std::vector<Placement> all_placements(std::int64_t dims, bool floating);

/// Non-trivial parts: the summands of a Partial(sum) are random, and so on.
at::Tensor scattered(const at::Tensor& whole, const MeshPtr& mesh, const Placements& placements);

/// Takes partial placements as replicated.
at::Tensor part_here(const at::Tensor& whole, const DeviceMesh& mesh, const Placements& placements);

/// This rank's part, partial placements reduced (a collective only if there are any).
at::Tensor settled(const at::Tensor& tensor);

/// Partial becomes replicated.
Placements settled(Placements placements);

/// From HEADROOM_TAKEN_KEYS: "Fake,PrivateUse3".
std::string taken_keys();

}  // namespace headroom::torch_runner::dtensor
