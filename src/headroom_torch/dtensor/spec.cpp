// SPDX-License-Identifier: Apache-2.0
#include "headroom_torch/dtensor/spec.h"

#include <fmt/format.h>

#include <algorithm>

#include "headroom/base/error.h"
#include "headroom_torch/dtensor/device_mesh.h"

namespace headroom::torch_runner::dtensor {

std::string text(Placement placement) {
  if (placement.is_shard()) return fmt::format("Shard({})", placement.dim());
  if (placement.is_replicate()) return "Replicate";
  static constexpr const char* kNames[] = {"sum", "avg", "max", "min", "product"};
  return fmt::format("Partial({})", kNames[static_cast<int>(placement.op())]);
}

std::string text(const Placements& placements) {
  std::string all;
  for (const Placement placement : placements) all += (all.empty() ? "" : ", ") + text(placement);
  return "[" + all + "]";
}

Extent chunk(std::int64_t size, int parts, int index) {
  const std::int64_t most = (size + parts - 1) / parts;
  const std::int64_t offset = std::min(size, most * index);
  return {offset, std::min(size, offset + most) - offset};
}

Extent local_extent(const DeviceMesh& mesh, const Placements& placements, c10::IntArrayRef sizes, int dim,
                    int depth) {
  Extent held{0, sizes[static_cast<std::size_t>(dim)]};
  for (int mesh_dim = 0; mesh_dim < depth; ++mesh_dim) {
    if (!placements[static_cast<std::size_t>(mesh_dim)].is_shard(dim)) continue;
    const Extent part = chunk(held.size, mesh.size(mesh_dim), mesh.coordinate(mesh_dim));
    held = {held.offset + part.offset, part.size};
  }
  return held;
}

Sizes local_sizes(const DeviceMesh& mesh, const Placements& placements, c10::IntArrayRef sizes) {
  Sizes local(sizes.begin(), sizes.end());
  for (int mesh_dim = 0; mesh_dim < mesh.dims(); ++mesh_dim) {
    const Placement placement = placements[static_cast<std::size_t>(mesh_dim)];
    if (!placement.is_shard()) continue;
    std::int64_t& size = local[static_cast<std::size_t>(placement.dim())];
    size = chunk(size, mesh.size(mesh_dim), mesh.coordinate(mesh_dim)).size;
  }
  return local;
}

void check_placements(const DeviceMesh& mesh, const Placements& placements, std::size_t dims,
                      const char* what) {
  if (placements.size() != static_cast<std::size_t>(mesh.dims())) {
    throw Error(fmt::format("{}: {} placements {} on the mesh {} of {} dimensions: use one per dimension",
                            what, placements.size(), text(placements), mesh.text(), mesh.dims()));
  }
  for (const Placement placement : placements) {
    if (placement.is_shard() && (placement.dim() < 0 || static_cast<std::size_t>(placement.dim()) >= dims)) {
      throw Error(fmt::format(
          "{}: cannot use {} on a tensor of {} dimensions: shard one of its dimensions, counted from 0", what,
          text(placement), dims));
    }
  }
}

}  // namespace headroom::torch_runner::dtensor
