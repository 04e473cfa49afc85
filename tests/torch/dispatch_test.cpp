// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "headroom_torch/dtensor/wrapper.h"
#include "test_world.h"

namespace headroom::torch_runner::dtensor {
namespace {

TEST(Dispatch, AnEqualCallHitsAndAnUnequalOneMisses) {
  PropagationCache& cache = line_mesh()->cache();
  const at::Tensor x = distribute(whole_numbers({8, 4}, 1), line_mesh(), {Shard(0)});
  const at::Tensor y = distribute(whole_numbers({8, 4}, 2), line_mesh(), {Replicate()});
  cache.clear();
  const auto count = [&](auto&& body) {
    const std::uint64_t hits = cache.hits();
    const std::uint64_t misses = cache.misses();
    body();
    return std::pair(cache.hits() - hits, cache.misses() - misses);
  };
  using Count = std::pair<std::uint64_t, std::uint64_t>;
  EXPECT_EQ(count([&] { x + x; }), Count(0, 1));
  EXPECT_EQ(count([&] { x + x; }), Count(1, 0));
  EXPECT_EQ(count([&] { x + y; }), Count(0, 1));
  EXPECT_EQ(count([&] { x - x; }), Count(0, 1));
  EXPECT_EQ(count([&] { x.sum(0); }), Count(0, 1));
  EXPECT_EQ(count([&] { x.sum(1); }), Count(0, 1));
  EXPECT_EQ(count([&] { x.sum(0); }), Count(1, 0));
  // A number that no placement depends on is in no key.
  EXPECT_EQ(count([&] { x * 2; }), Count(0, 1));
  EXPECT_EQ(count([&] { x * 3; }), Count(1, 0));
  EXPECT_EQ(count([&] { x * 3.5; }), Count(0, 1));
  EXPECT_EQ(cache.size(), 7U);
  cache.clear();
  EXPECT_EQ(cache.size(), 0U);
  EXPECT_EQ(count([&] { x + x; }), Count(0, 1));
}

TEST(Dispatch, SpecsOfEqualValueAreOneObject) {
  const at::Tensor x = distribute(whole_numbers({8, 4}, 1), line_mesh(), {Shard(0)});
  const at::Tensor y = distribute(whole_numbers({8, 4}, 2), line_mesh(), {Shard(0)});
  EXPECT_EQ(&spec_of(x), &spec_of(y));
  EXPECT_EQ(&spec_of(x), &spec_of(x + y));
  EXPECT_NE(&spec_of(x), &spec_of(x.to(at::kDouble)));
  EXPECT_NE(&spec_of(x), &spec_of(redistribute(x, {Replicate()})));
}

TEST(Dispatch, TheStepsOfACallAreTimedInOrderWhileAskedFor) {
  const at::Tensor x = distribute(whole_numbers({8, 4}, 1), line_mesh(), {Shard(0)});
  DispatchTimes times;
  line_mesh()->cache().set_times(&times);
  x + x;
  line_mesh()->cache().set_times(nullptr);
  const DispatchTimes kept = times;
  x + x;
  EXPECT_EQ(times.started, kept.started);
  EXPECT_GT(kept.started, 0);
  EXPECT_LE(kept.started, kept.keyed);
  EXPECT_LE(kept.keyed, kept.found);
  EXPECT_LE(kept.found, kept.moved);
  EXPECT_LT(kept.moved, kept.computed);
  EXPECT_LE(kept.computed, kept.wrapped);
}

TEST(Dispatch, TheCheapestPlacementIsChosen) {
  if (test_world()->size() == 1) GTEST_SKIP() << "moves cost nothing on one rank";
  const auto placed = [](const at::Tensor& tensor) { return text(spec_of(tensor).placements); };
  const at::Tensor rows = distribute(whole_numbers({8, 8}, 1), line_mesh(), {Shard(0)});
  const at::Tensor columns = distribute(whole_numbers({8, 8}, 2), line_mesh(), {Shard(1)});
  const at::Tensor whole = distribute(whole_numbers({8, 8}, 3), line_mesh(), {Replicate()});
  EXPECT_EQ(placed(rows.mm(whole)), "[Shard(0)]");
  EXPECT_EQ(placed(whole.mm(columns)), "[Shard(1)]");
  EXPECT_EQ(placed(columns.mm(rows)), "[Partial(sum)]");
  EXPECT_EQ(placed(rows + whole), "[Shard(0)]");
  EXPECT_EQ(placed(rows.sum()), "[Partial(sum)]");
  EXPECT_EQ(placed(columns.mm(rows) + whole), "[Partial(sum)]");
  EXPECT_EQ(placed(std::get<0>(rows.max(1))), "[Shard(0)]");
}

TEST(Dispatch, ATableShardedByRowsIsLookedUpWithoutBeingGathered) {
  const int ranks = test_world()->size();
  const at::Tensor indices = at::arange(7).view({1, 7});
  for (const std::int64_t rows : {8, 7}) {  // of 7 rows, the fourth rank has one
    const at::Tensor whole = whole_numbers({rows, 3}, 1);
    const at::Tensor table = distribute(whole, line_mesh(), {Shard(0)}).requires_grad_(true);
    const at::Tensor found = at::embedding(table, indices);
    EXPECT_EQ(text(spec_of(found).placements), "[Partial(sum)]");
    const at::Tensor here = local(found.detach());
    EXPECT_EQ(here.ne(0).logical_and(here.ne(at::embedding(whole, indices))).sum().item<std::int64_t>(), 0);
    const Extent own = chunk(rows, ranks, test_world()->rank());
    EXPECT_TRUE(at::equal(here.slice(1, own.offset, own.offset + own.size),
                          at::embedding(whole, indices).slice(1, own.offset, own.offset + own.size)));
    full(found).sum().backward();
    EXPECT_EQ(text(spec_of(table.grad()).placements), "[Shard(0)]");
    EXPECT_EQ(local(table.grad()).size(0), own.size) << "a rank has the gradient of its rows alone";
  }
}

TEST(Dispatch, TheKeyIsTheFirstThatNoOtherLibraryHas) {
  line_mesh();
  const std::string taken = taken_keys();
  EXPECT_EQ(Wrapper::key(), taken.empty()                 ? c10::DispatchKey::Fake
                            : taken == "Fake"             ? c10::DispatchKey::PrivateUse3
                            : taken == "Fake,PrivateUse3" ? c10::DispatchKey::PrivateUse2
                                                          : c10::DispatchKey::PrivateUse1);
}

TEST(Dispatch, ASubmeshIsOneObjectAndWorksAlone) {
  if (test_world()->size() != 4) GTEST_SKIP() << "a square takes four ranks";
  const MeshPtr square = DeviceMesh::create(test_world(), {2, 2}, {"dp", "tp"});
  const MeshPtr tp = square->submesh({"tp"});
  EXPECT_EQ(tp.get(), square->submesh({"tp"}).get());
  EXPECT_EQ(tp->size(), 2);
  EXPECT_EQ(tp->coordinate(0), test_world()->rank() % 2);
  const at::Tensor whole = whole_numbers({6, 4}, 1);
  EXPECT_TRUE(at::equal(full(distribute(whole, tp, {Shard(0)}).sum(0)), whole.sum(0)));
  const MeshPtr turned = square->submesh({"tp", "dp"});
  EXPECT_TRUE(at::equal(full(distribute(whole, turned, {Shard(0), Shard(0)})), whole));
}

}  // namespace
}  // namespace headroom::torch_runner::dtensor
