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

}  // namespace headroom::torch_runner::dtensor
