// SPDX-License-Identifier: Apache-2.0
#include "headroom_torch/dtensor/device_mesh.h"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include "headroom/base/error.h"
#include "headroom_torch/dtensor/dispatch.h"

namespace headroom::torch_runner::dtensor {
namespace {

int product(const std::vector<int>& sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), 1, std::multiplies<>());
}

void check(const World& world, const std::vector<int>& shape, const std::vector<std::string>& names) {
  const bool positive = std::all_of(shape.begin(), shape.end(), [](int size) { return size > 0; });
  if (shape.empty() || !positive || product(shape) != world.size()) {
    throw Error(fmt::format("a mesh of {} does not fit a world of {} {}: choose sizes whose product is {}",
                            fmt::join(shape, "x"), world.size(), world.size() == 1 ? "rank" : "ranks",
                            world.size()));
  }
  std::vector<std::string> sorted = names;
  std::sort(sorted.begin(), sorted.end());
  if (names.size() != shape.size() || std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end()) {
    throw Error(
        fmt::format("a mesh of {} cannot have the names ({}): give each dimension one name, all different",
                    fmt::join(shape, "x"), fmt::join(names, ", ")));
  }
}

std::vector<int> ranks_along(const std::vector<int>& shape, std::size_t dim, int rank) {
  const int stride = std::accumulate(shape.begin() + static_cast<std::ptrdiff_t>(dim) + 1, shape.end(), 1,
                                     std::multiplies<>());
  const int coordinate = rank / stride % shape[dim];
  std::vector<int> ranks;
  for (int index = 0; index < shape[dim]; ++index) ranks.push_back(rank + (index - coordinate) * stride);
  return ranks;
}

}  // namespace

MeshPtr DeviceMesh::create(const WorldPtr& world, std::vector<int> shape, std::vector<std::string> names,
                           Transport transport) {
  if (names.empty()) {
    for (std::size_t dim = 0; dim < shape.size(); ++dim) names.push_back(std::to_string(dim));
  }
  check(*world, shape, names);
  register_dispatch();
  const MeshPtr mesh = c10::make_intrusive<DeviceMesh>();
  mesh->world_ = world;
  for (std::size_t dim = 0; dim < shape.size(); ++dim) {
    mesh->groups_.push_back(world->group(ranks_along(shape, dim, world->rank()),
                                         fmt::format("mesh dimension '{}'", names[dim]), transport));
  }
  mesh->shape_ = std::move(shape);
  mesh->names_ = std::move(names);
  return mesh;
}

MeshPtr DeviceMesh::submesh(const std::vector<std::string>& names) {
  MeshPtr& found = submeshes_[names];
  if (found) return found;
  const MeshPtr mesh = c10::make_intrusive<DeviceMesh>();
  for (const std::string& name : names) {
    const auto place = std::find(names_.begin(), names_.end(), name);
    if (place == names_.end() || std::count(names.begin(), names.end(), name) > 1) {
      throw Error(fmt::format("no sub-mesh ({}) in the mesh {}: name some of its dimensions, each once",
                              fmt::join(names, ", "), text()));
    }
    const auto dim = static_cast<std::size_t>(place - names_.begin());
    mesh->shape_.push_back(shape_[dim]);
    mesh->names_.push_back(name);
    mesh->groups_.push_back(groups_[dim]);
  }
  mesh->world_ = world_;
  mesh->fallback_ = fallback_;
  found = mesh;
  return mesh;
}

int DeviceMesh::size() const {
  return product(shape_);
}

std::string DeviceMesh::text() const {
  return fmt::format("{} ({})", fmt::join(shape_, "x"), fmt::join(names_, ", "));
}

const Spec* DeviceMesh::intern(Spec spec) const {
  spec.mesh = this;
  return &*specs_.insert(std::move(spec)).first;
}

std::size_t DeviceMesh::SpecHash::operator()(const Spec& spec) const {
  std::uint64_t hash = static_cast<std::uint64_t>(spec.dtype);
  const auto mix = [&](std::uint64_t value) { hash = (hash ^ value) * 0x9E3779B97F4A7C15ULL + (hash >> 29); };
  for (const Placement placement : spec.placements) mix(placement.code());
  for (const std::int64_t size : spec.sizes) mix(static_cast<std::uint64_t>(size));
  return hash ^ (hash >> 32);
}

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
