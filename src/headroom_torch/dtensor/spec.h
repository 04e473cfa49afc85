// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <c10/core/ScalarType.h>
#include <c10/util/ArrayRef.h>

#include "headroom_torch/dtensor/placement.h"

namespace headroom::torch_runner::dtensor {

class DeviceMesh;

using Sizes = c10::SmallVector<std::int64_t, 5>;

/// What a distributed tensor is, but for its values. Interned by its mesh: two of equal value are one object,
/// so that comparing pointers compares values. Lives as long as the mesh.
struct Spec {
  const DeviceMesh* mesh = nullptr;
  Placements placements;
  Sizes sizes;  // of the whole
  at::ScalarType dtype = at::ScalarType::Undefined;

  bool operator==(const Spec& other) const {
    return mesh == other.mesh && dtype == other.dtype && placements == other.placements &&
           sizes == other.sizes;
  }
};

/// The part of a dimension that a rank holds.
struct Extent {
  std::int64_t offset = 0;
  std::int64_t size = 0;
};

/// The chunk of `size` with this index, of `parts`.
Extent chunk(std::int64_t size, int parts, int index);

/// What this rank holds of dimension `dim`, of a tensor of `sizes`; counting the first `depth` placements
/// only.
Extent local_extent(const DeviceMesh& mesh, const Placements& placements, c10::IntArrayRef sizes, int dim,
                    int depth);

/// The sizes of this rank's part.
Sizes local_sizes(const DeviceMesh& mesh, const Placements& placements, c10::IntArrayRef sizes);

/// Throws Error unless there is one placement for each dimension of the mesh and each sharded dimension
/// exists. `what` begins the message.
void check_placements(const DeviceMesh& mesh, const Placements& placements, std::size_t dims,
                      const char* what);

}  // namespace headroom::torch_runner::dtensor
