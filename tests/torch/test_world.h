// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/ATen.h>

#include "headroom_torch/dtensor/distributed_tensor.h"

namespace headroom::torch_runner::dtensor {

/// The world that this process was started in; connected once. Its size comes from WORLD_SIZE.
const WorldPtr& test_world();

/// A mesh over it, made once for each shape.
const MeshPtr& test_mesh(const std::vector<int>& shape);
/// The mesh of one dimension that has all ranks.
const MeshPtr& line_mesh();

/// The shapes of the meshes that tests use: the line, and a square where the world has four ranks.
std::vector<std::vector<int>> mesh_shapes();

/// Small whole numbers as float, the same on every rank: sums in any order are exact.
at::Tensor whole_numbers(at::IntArrayRef sizes, std::int64_t seed);

/// Every placement of a tensor of `dims` dimensions along one mesh dimension.
std::vector<Placement> all_placements(std::int64_t dims, bool floating);

/// `whole` as a distributed tensor made of parts that are worth something: the summands of a Partial(sum) are
/// all random, and so on.
at::Tensor scattered(const at::Tensor& whole, const MeshPtr& mesh, const Placements& placements);

/// What this rank holds of `whole` where partial placements count as replicated.
at::Tensor part_here(const at::Tensor& whole, const DeviceMesh& mesh, const Placements& placements);

/// This rank's part of a distributed tensor, partial ones reduced: a collective only where there are such. A
/// plain tensor is its own part.
at::Tensor settled(const at::Tensor& tensor);

/// Placements of a gradient: partial ones replicated.
Placements settled(Placements placements);

/// The dispatch keys that another library is said to have taken: HEADROOM_TAKEN_KEYS, "Fake,PrivateUse3".
std::string taken_keys();

}  // namespace headroom::torch_runner::dtensor
