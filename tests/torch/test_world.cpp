// SPDX-License-Identifier: Apache-2.0
#include "test_world.h"

#include <ATen/Parallel.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <gtest/gtest.h>
#include <torch/library.h>

#include <cstdlib>
#include <list>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>

#include "headroom/base/error.h"
#include "headroom_torch/dtensor/dispatch.h"

namespace headroom::torch_runner::dtensor {
namespace {

int number(const char* name, int otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::stoi(text);
}

at::Tensor random_like(const at::Tensor& whole, std::int64_t low, std::int64_t high, std::int64_t seed) {
  return whole_numbers(whole.sizes(), seed)
      .remainder(static_cast<double>(high - low))
      .add(static_cast<double>(low))
      .to(whole.scalar_type());
}

at::Tensor part_of(const at::Tensor& whole, ReduceOp op, int parts, int index, std::int64_t seed) {
  if (op == ReduceOp::kMax || op == ReduceOp::kMin) {
    const at::Tensor holder = random_like(whole, 0, parts, seed);
    const at::Tensor lower = random_like(whole, 1, 4, seed + 1);
    const at::Tensor other = op == ReduceOp::kMax ? whole - lower : whole + lower;
    return at::where(holder.eq(index), whole, other);
  }
  if (op == ReduceOp::kProduct) {
    const at::Tensor holder = random_like(whole, 0, parts, seed);
    return at::where(holder.eq(index), whole, at::ones_like(whole));
  }
  at::Tensor rest = op == ReduceOp::kAvg ? whole * parts : whole.clone();
  for (int other = 1; other < parts; ++other) {
    const at::Tensor summand = random_like(whole, -3, 4, seed + other);
    if (other == index) return summand;
    rest -= summand;
  }
  return rest;
}

}  // namespace

const WorldPtr& test_world() {
  static const WorldPtr kWorld =
      World::connect({.rank = number("RANK", 0),
                      .size = number("WORLD_SIZE", 1),
                      .port = static_cast<std::uint16_t>(number("MASTER_PORT", 29500)),
                      .timeout = std::chrono::seconds(20)});
  return kWorld;
}

const MeshPtr& test_mesh(const std::vector<int>& shape) {
  static std::map<std::vector<int>, MeshPtr> meshes;
  MeshPtr& mesh = meshes[shape];
  if (!mesh) mesh = DeviceMesh::create(test_world(), shape);
  return mesh;
}

const MeshPtr& line_mesh() {
  return test_mesh({test_world()->size()});
}

std::vector<std::vector<int>> mesh_shapes() {
  const int size = test_world()->size();
  return size == 4 ? std::vector<std::vector<int>>{{4}, {2, 2}} : std::vector<std::vector<int>>{{size}};
}

at::Tensor whole_numbers(at::IntArrayRef sizes, std::int64_t seed) {
  // The same on every rank and in every version.
  at::Tensor numbers = at::empty(sizes, at::kFloat);
  std::uint64_t state = static_cast<std::uint64_t>(seed) * 2654435761U + 12345;
  float* const values = numbers.data_ptr<float>();
  for (std::int64_t i = 0; i < numbers.numel(); ++i) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    values[i] = static_cast<float>(static_cast<int>(state >> 33) % 9 - 4);
  }
  return numbers;
}

std::vector<Placement> all_placements(std::int64_t dims, bool floating) {
  std::vector<Placement> all{Replicate(), Partial()};
  if (floating) all.insert(all.end(), {Partial(ReduceOp::kAvg), Partial(ReduceOp::kMax)});
  for (int dim = 0; dim < dims; ++dim) all.push_back(Shard(dim));
  return all;
}

at::Tensor scattered(const at::Tensor& whole, const MeshPtr& mesh, const Placements& placements) {
  at::Tensor part = whole;
  for (int dim = 0; dim < mesh->dims(); ++dim) {
    const Placement placement = placements[static_cast<std::size_t>(dim)];
    if (!placement.is_partial()) continue;
    std::int64_t seed = 100 + dim;  // the same on ranks that hold the same part
    for (int outer = 0; outer < dim; ++outer) {
      if (placements[static_cast<std::size_t>(outer)].is_partial())
        seed = seed * 31 + mesh->coordinate(outer);
    }
    part = part_of(part, placement.op(), mesh->size(dim), mesh->coordinate(dim), seed * 1000);
  }
  part = part_here(part, *mesh, placements).clone(at::MemoryFormat::Contiguous);
  // from_local without its collective for sizes, which would run thousands of times.
  const Sizes sizes(whole.sizes().begin(), whole.sizes().end());
  return wrap(part, mesh->intern({mesh.get(), placements, sizes, part.scalar_type()}));
}

at::Tensor part_here(const at::Tensor& whole, const DeviceMesh& mesh, const Placements& placements) {
  at::Tensor part = whole;
  for (int dim = 0; dim < static_cast<int>(whole.dim()); ++dim) {
    const Extent mine = local_extent(mesh, placements, whole.sizes(), dim, mesh.dims());
    part = part.narrow(dim, mine.offset, mine.size);
  }
  return part;
}

at::Tensor settled(const at::Tensor& tensor) {
  const at::NoGradGuard no_gradients;
  return is_dtensor(tensor) ? local(redistribute(tensor, settled(spec_of(tensor).placements))) : tensor;
}

Placements settled(Placements placements) {
  for (Placement& placement : placements) {
    if (placement.is_partial()) placement = Replicate();
  }
  return placements;
}

std::string taken_keys() {
  const char* const text = std::getenv("HEADROOM_TAKEN_KEYS");
  return text == nullptr ? "" : text;
}

}  // namespace headroom::torch_runner::dtensor

namespace {

void refuse(const c10::OperatorHandle& op, c10::DispatchKeySet, torch::jit::Stack*) {
  throw std::logic_error(op.schema().name() + " went to the library that had taken the key");
}

/// As another library would.
std::list<torch::Library> take_keys() {
  std::list<torch::Library> taken;
  std::istringstream names(headroom::torch_runner::dtensor::taken_keys());
  for (std::string name; std::getline(names, name, ',');) {
    taken.emplace_back(torch::Library::IMPL, "_", c10::parseDispatchKey(name), __FILE__, __LINE__)
        .fallback(torch::CppFunction::makeFromBoxedFunction<&refuse>());
  }
  return taken;
}

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  at::set_num_threads(1);
  const auto taken = take_keys();
  try {
    headroom::torch_runner::dtensor::test_world();
    return RUN_ALL_TESTS();
  } catch (const headroom::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
}
