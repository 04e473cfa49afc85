// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "headroom/experiment/case_spec.h"

namespace headroom {

/// Where a tensor lies along one dimension of the mesh.
struct PlacementText {
  enum class Kind { kShard, kReplicate, kPartial };
  Kind kind = Kind::kReplicate;
  int dim = 0;  ///< the sharded dimension of the tensor

  bool operator==(const PlacementText&) const = default;
};
/// "S(0)" or "Shard(0)", "R" or "Replicate", "P" or "Partial"; case does not matter. Throws Error.
PlacementText parse_placement(std::string_view text);
/// "S(0)", "R", "P".
std::string placement_text(const PlacementText& placement);

/// What operators are measured on: a tensor of `shape`, placed over a mesh of ranks.
struct DispatchSetup {
  std::vector<int> mesh{4};
  std::vector<PlacementText> placements{
      {PlacementText::Kind::kShard, 0}};  ///< one for each dimension of the mesh
  std::vector<std::int64_t> shape{512, 512};
  std::string dtype = "f32";  ///< "f32", "f64", "bf16"
  int repeats = 9;            ///< calls of each kind in a cycle, the miss apart
};

/// As the axes mesh ("2x2"), placements ("S(0),R", or "S(0)xR" in a request), shape ("512x512"), dtype and
/// repeats of an experiment.
AxisTexts axes_of(const DispatchSetup& setup);
/// What `axis` gives for each of these. Throws Error for what is no such text.
DispatchSetup dispatch_setup_of(const std::function<std::string(const char* axis)>& axis);

/// "2x2" as numbers of at least `least`. Throws Error that begins with `what`.
std::vector<std::int64_t> parse_grid(std::string_view text, std::string_view what, std::int64_t least);

/// Throws Error where the mesh does not hold `ranks` ranks, or the placements fit neither it nor the shape.
void require_fit(const DispatchSetup& setup, int ranks);

}  // namespace headroom
