// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdlib>

#include "headroom_torch/dtensor/redistribution.h"
#include "test_world.h"

namespace headroom::torch_runner::dtensor {
namespace {

std::vector<Placements> all_of_mesh(const DeviceMesh& mesh, std::int64_t dims, bool floating) {
  std::vector<Placements> all{{}};
  for (int dim = 0; dim < mesh.dims(); ++dim) {
    std::vector<Placements> longer;
    for (const Placements& placements : all) {
      for (const Placement placement : all_placements(dims, floating)) {
        longer.push_back(placements);
        longer.back().push_back(placement);
      }
    }
    all = longer;
  }
  return all;
}

/// Of every `shares` pairs one: the shares 0 to `shares` - 1 together are all.
void expect_every_pair(const MeshPtr& mesh, const at::Tensor& whole, std::size_t share = 0,
                       std::size_t shares = 1) {
  const auto all = all_of_mesh(*mesh, whole.dim(), whole.is_floating_point());
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Placements& from = all[i];
    const at::Tensor tensor = scattered(whole, mesh, from);
    for (std::size_t j = 0; j < all.size(); ++j) {
      if ((i + j) % shares != share) continue;
      const Placements& to = all[j];
      const at::Tensor moved = redistribute(tensor, to);
      const std::string pair = text(from) + " to " + text(to);
      ASSERT_EQ(spec_of(moved).placements, to) << pair;
      ASSERT_EQ(moved.sizes(), whole.sizes()) << pair;
      ASSERT_EQ(local(moved).sizes(), c10::IntArrayRef(local_sizes(*mesh, to, whole.sizes()))) << pair;
      ASSERT_TRUE(at::equal(settled(moved), part_here(whole, *mesh, to))) << pair;
    }
  }
}

TEST(Redistribution, EveryPairOfPlacementsOnEveryMeshKeepsTheValues) {
  for (const auto& shape : mesh_shapes()) {
    // On two dimensions, where a pair takes milliseconds, each with one of the two tensors, unless time is
    // given.
    const std::size_t shares = shape.size() == 1 || std::getenv("HEADROOM_LONG_TESTS") != nullptr ? 1 : 2;
    expect_every_pair(test_mesh(shape), whole_numbers({5, 6}, 1), 0, shares);  // no multiple of four
    expect_every_pair(test_mesh(shape), whole_numbers({8, 3}, 2), shares - 1,
                      shares);  // a rank of four has nothing
  }
}

/// From partial minima and products, along each dimension of the mesh, to every placement.
TEST(Redistribution, MinimaAndProductsKeepTheValuesToo) {
  for (const auto& shape : mesh_shapes()) {
    const MeshPtr mesh = test_mesh(shape);
    const at::Tensor whole = whole_numbers({5, 6}, 9);
    for (const ReduceOp op : {ReduceOp::kMin, ReduceOp::kProduct}) {
      for (int dim = 0; dim < mesh->dims(); ++dim) {
        Placements from(static_cast<std::size_t>(mesh->dims()), Replicate());
        from[static_cast<std::size_t>(dim)] = Partial(op);
        const at::Tensor tensor = scattered(whole, mesh, from);
        EXPECT_EQ(at::equal(whole, local(tensor)), mesh->size(dim) == 1) << "a part is not the whole";
        for (const Placements& to : all_of_mesh(*mesh, 2, true)) {
          ASSERT_TRUE(at::equal(settled(redistribute(tensor, to)), part_here(whole, *mesh, to)))
              << text(from) << " to " << text(to);
        }
      }
    }
  }
}

TEST(Redistribution, ThreeDimensionsAndOneElementAndNone) {
  const MeshPtr mesh = test_mesh({test_world()->size()});
  expect_every_pair(mesh, whole_numbers({3, 4, 5}, 3));
  expect_every_pair(mesh, whole_numbers({1}, 4));
  expect_every_pair(mesh, whole_numbers({0, 2}, 5));
  expect_every_pair(mesh, whole_numbers({}, 6));
}

TEST(Redistribution, EveryTypeThatTensorsHave) {
  const MeshPtr mesh = test_mesh({test_world()->size()});
  for (const at::ScalarType type : {at::kDouble, at::kHalf, at::kBFloat16, at::kLong, at::kInt, at::kChar}) {
    expect_every_pair(mesh, whole_numbers({5, 2}, 7).to(type));
  }
  const at::Tensor truth = whole_numbers({5}, 8).gt(0);
  EXPECT_TRUE(at::equal(full(distribute(truth, mesh, {Shard(0)})), truth));
}

TEST(Redistribution, PartsTellTheWhole) {
  for (const auto& shape : mesh_shapes()) {
    const MeshPtr mesh = test_mesh(shape);
    for (const at::Tensor& whole : {whole_numbers({5, 6}, 1), whole_numbers({8, 3}, 2)}) {
      for (const Placements& placements : all_of_mesh(*mesh, 2, true)) {
        const at::Tensor made = from_local(local(scattered(whole, mesh, placements)), mesh, placements);
        ASSERT_EQ(made.sizes(), whole.sizes()) << text(placements);
        ASSERT_TRUE(at::equal(full(made), whole)) << text(placements);
      }
    }
  }
}

TEST(Redistribution, IsMeantToCostNothingWhereNothingMoves) {
  for (const Placement placement : all_placements(2, true)) {
    EXPECT_EQ(move_cost(1e6, 4, placement, placement), 0);
    EXPECT_LE(move_cost(1e6, 1, placement, Replicate()), 1e-3);
  }
  EXPECT_LT(move_cost(1e6, 4, Replicate(), Shard(0)), move_cost(1e6, 4, Shard(1), Shard(0)));
  EXPECT_LT(move_cost(1e6, 4, Shard(1), Shard(0)), move_cost(1e6, 4, Shard(1), Replicate()));
  EXPECT_LT(move_cost(1e6, 4, Partial(), Shard(0)), move_cost(1e6, 4, Partial(), Replicate()));
}

}  // namespace
}  // namespace headroom::torch_runner::dtensor
