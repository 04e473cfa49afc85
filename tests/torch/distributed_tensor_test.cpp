// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdlib>

#include "headroom/base/error.h"
#include "headroom_torch/dtensor/dispatch.h"
#include "headroom_torch/dtensor/redistribution.h"
#include "headroom_torch/tensors/libtorch.h"
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
  // No placement depends on this number.
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
  for (const std::int64_t rows : {8, 7}) {  // with 7 rows the fourth rank has one
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

at::Tensor part_of(const at::Tensor& whole, const Placements& placements) {
  return local(distribute(whole, line_mesh(), placements));
}

TEST(Gradients, OfAPlainTensorThatIsDistributedAreWhole) {
  const at::Tensor weights = whole_numbers({5, 6}, 2);
  for (const Placement placement : {Placement(Shard(0)), Placement(Shard(1)), Placement(Replicate())}) {
    at::Tensor x = whole_numbers({5, 6}, 1).requires_grad_(true);
    const at::Tensor y =
        distribute(x, line_mesh(), {placement}) * distribute(weights, line_mesh(), {Replicate()});
    full(y).sum().backward();
    EXPECT_FALSE(is_dtensor(x.grad()));
    EXPECT_TRUE(at::equal(x.grad(), weights)) << text(placement);
  }
}

TEST(Gradients, OfAPartAreThatPart) {
  const at::Tensor weights = whole_numbers({8, 6}, 2);
  for (const Placement placement :
       {Placement(Shard(0)), Placement(Shard(1)), Placement(Replicate()), Placement(Partial())}) {
    const Placement expected = placement.is_partial() ? Placement(Replicate()) : placement;
    at::Tensor part = part_of(whole_numbers({8, 6}, 1), {placement}).clone().requires_grad_(true);
    (full(from_local(part, line_mesh(), {placement})) * weights).sum().backward();
    EXPECT_TRUE(at::equal(part.grad(), part_of(weights, {expected}))) << text(placement);
  }
}

TEST(Gradients, GoThroughEveryRedistributionAndKeepThePlacement) {
  const at::Tensor weights = whole_numbers({5, 6}, 2);
  for (const Placement from : all_placements(2, true)) {
    for (const Placement to : all_placements(2, true)) {
      at::Tensor x = scattered(whole_numbers({5, 6}, 1), line_mesh(), {from}).requires_grad_(true);
      (full(redistribute(x, {to})) * weights).sum().backward();
      const std::string pair = text(from) + " to " + text(to);
      ASSERT_TRUE(is_dtensor(x.grad())) << pair;
      EXPECT_EQ(spec_of(x.grad()).placements[0], from.is_partial() ? Placement(Replicate()) : from) << pair;
      EXPECT_TRUE(at::equal(full(x.grad()), weights)) << pair;
    }
  }
}

TEST(Gradients, ThroughTheLocalPartAreThoseOfTheWhole) {
  at::Tensor x = distribute(whole_numbers({5, 6}, 1), line_mesh(), {Shard(0)}).requires_grad_(true);
  (local(x) * local(x)).sum().backward();
  EXPECT_TRUE(at::equal(full(x.grad()), whole_numbers({5, 6}, 1) * 2));
}

TEST(Gradients, OfANetworkEqualThoseOfOneProcess) {
  const at::Tensor input = whole_numbers({7, 6}, 1);
  const auto loss = [](const at::Tensor& x, const at::Tensor& first, const at::Tensor& second,
                       const at::Tensor& bias) {
    return at::linear(at::layer_norm(at::relu(at::matmul(x, first)), {8}), second, bias)
        .log_softmax(-1)
        .mean();
  };
  std::vector<at::Tensor> whole{whole_numbers({6, 8}, 2), whole_numbers({3, 8}, 3), whole_numbers({3}, 4)};
  std::vector<at::Tensor> parts;
  const std::vector<Placements> placements{{Shard(1)}, {Shard(1)}, {Replicate()}};
  for (std::size_t i = 0; i < whole.size(); ++i) {
    parts.push_back(distribute(whole[i], line_mesh(), placements[i]).requires_grad_(true));
    whole[i].requires_grad_(true);
  }
  loss(input, whole[0], whole[1], whole[2]).backward();
  full(loss(distribute(input, line_mesh(), {Replicate()}), parts[0], parts[1], parts[2])).backward();
  for (std::size_t i = 0; i < whole.size(); ++i) {
    EXPECT_TRUE(at::allclose(full(parts[i].grad()), whole[i].grad(), 1e-5, 1e-6)) << i;
  }
}

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

/// Every `shares`th pair; shares 0 to `shares` - 1 are all.
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
    // Pairs of two dimensions take milliseconds: only long tests cover all.
    const std::size_t shares = shape.size() == 1 || std::getenv("HEADROOM_LONG_TESTS") != nullptr ? 1 : 2;
    expect_every_pair(test_mesh(shape), whole_numbers({5, 6}, 1), 0, shares);
    expect_every_pair(test_mesh(shape), whole_numbers({8, 3}, 2), shares - 1,
                      shares);  // one of four ranks is empty
  }
}

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

/// The message must contain each of the texts.
template <typename Body>
void expect_error(Body&& body, const std::vector<std::string>& texts) {
  try {
    body();
    ADD_FAILURE() << "no Error";
  } catch (const Error& error) {
    for (const std::string& text : texts) {
      EXPECT_NE(std::string(error.what()).find(text), std::string::npos) << error.what();
    }
  }
}

int ranks() {
  return test_world()->size();
}
using Texts = std::vector<std::string>;

TEST(Faults, AMeshThatDoesNotFitTheWorld) {
  const std::tuple<std::vector<int>, Texts, Texts> refused[] = {
      {{ranks(), 2}, {}, {"does not fit a world of", "choose sizes"}},
      {{}, {}, {"does not fit"}},
      {{-1, -ranks()}, {}, {"does not fit"}},
      {{ranks(), 1}, {"dp", "dp"}, {"dp, dp", "all different"}}};
  for (const auto& one : refused)
    expect_error([&] { DeviceMesh::create(test_world(), std::get<0>(one), std::get<1>(one)); },
                 std::get<2>(one));
  expect_error([] { line_mesh()->submesh({"tp"}); }, {"sub-mesh (tp)", "name some of its dimensions"});
}

TEST(Faults, AWorldThatMakesNoSense) {
  expect_error([] { World::connect({.rank = 3, .size = 2}); }, {"no rank 3 in a world of 2"});
  expect_error([] { World::connect({.timeout = std::chrono::milliseconds(0)}); }, {"time-out of 0 ms"});
}

#if HEADROOM_TORCH_HAS_GLOO
TEST(Faults, ARankThatNeverComesEndsTheOthersAtTheTimeout) {
  expect_error(
      [] { World::connect({.rank = 1, .size = 2, .port = 1, .timeout = std::chrono::milliseconds(300)}); },
      {"rank 1 of 2 could not connect to the others at 127.0.0.1:1", "start every rank"});
}
#else
TEST(Faults, SeveralRanksWithoutGlooAreToldWhatIsMissing) {
  expect_error([] { World::connect({.rank = 1, .size = 2}); },
               {"a world of 2 ranks needs gloo", "build again"});
}
#endif

TEST(Faults, PlacementsThatDoNotFit) {
  const at::Tensor whole = whole_numbers({4, 4}, 1);
  const std::pair<Placements, Texts> refused[] = {
      {{Shard(2)}, {"distribute: cannot use Shard(2) on a tensor of 2 dimensions"}},
      {{Shard(-1)}, {"Shard(-1)"}},
      {{Shard(0), Replicate()}, {"2 placements", "use one per dimension"}}};
  for (const auto& [placements, message] : refused)
    expect_error([&, placed = placements] { distribute(whole, line_mesh(), placed); }, message);
  expect_error([&] { redistribute(distribute(whole, line_mesh(), {Shard(0)}), {Shard(5)}); },
               {"redistribute: cannot use Shard(5)"});
  expect_error([&] { distribute(whole.to(at::kLong), line_mesh(), {Partial(ReduceOp::kAvg)}); },
               {"floating-point"});
  expect_error([&] { full(whole); }, {"full needs a distributed tensor"});
  expect_error([&] { distribute(distribute(whole, line_mesh(), {Shard(0)}), line_mesh(), {Shard(0)}); },
               {"needs a plain tensor"});
}

TEST(Faults, OperandsOnTwoMeshes) {
  // Kept alive: other ranks may still make their connections.
  static const MeshPtr kOther = DeviceMesh::create(test_world(), {1, ranks()}, {"one", "all"});
  const at::Tensor whole = whole_numbers({4, 4}, 2);
  expect_error(
      [&] {
        distribute(whole, line_mesh(), {Shard(0)}) + distribute(whole, kOther, {Replicate(), Shard(0)});
      },
      {"aten::add.Tensor", "two meshes", "(one, all)"});
}

TEST(Faults, PartsOfUnequalSizes) {
  if (ranks() == 1) GTEST_SKIP() << "one rank's parts are always equal";
  const int rank = test_world()->rank();
  const std::tuple<at::Tensor, Placement, Texts> refused[] = {
      {at::zeros({rank == 0 ? 1 : 3, 2}), Shard(0), {"the shards of dimension 0", "split like at::chunk"}},
      {at::zeros({2, rank + 1}), Shard(0), {"dimension 1", "unequal sizes"}},
      {rank == 0 ? at::zeros({2}) : at::zeros({2, 2}), Replicate(), {"different numbers of dimensions"}}};
  for (const auto& one : refused)
    expect_error([&] { from_local(std::get<0>(one), line_mesh(), {std::get<1>(one)}); }, std::get<2>(one));
}

TEST(Faults, AnOperatorWithoutARuleIsNamedOrGathers) {
  const at::Tensor whole = whole_numbers({4, 4}, 3);
  const at::Tensor sharded = distribute(whole, line_mesh(), {Shard(0)});
  expect_error([&] { sharded.tril(); }, {"aten::tril", "rules.cpp", "fallback=replicate"});
  line_mesh()->set_fallback(Fallback::kReplicate);
  const at::Tensor result = sharded.tril();
  line_mesh()->set_fallback(Fallback::kError);
  EXPECT_TRUE(is_dtensor(result));
  EXPECT_TRUE(at::equal(full(result), whole.tril()));
}

TEST(Faults, AnIndexOfNoRowIsNotTakenForAnotherRanks) {
  const at::Tensor table = distribute(whole_numbers({8, 2}, 6), line_mesh(), {Shard(0)});
  for (const std::int64_t index : {std::int64_t{8}, std::int64_t{-1}}) {
    expect_error([&] { at::embedding(table, at::full({2}, index, at::kLong)); },
                 {"embedding: no index", "in a table of 8 rows", "0 to 7"});
  }
}

TEST(Faults, ASparseGradientOfGather) {
  const at::Tensor x = distribute(whole_numbers({4, 4}, 7), line_mesh(), {Shard(0)}).requires_grad_(true);
  const at::Tensor sum = full(x.gather(1, at::zeros({4, 4}, at::kLong), true)).sum();
  expect_error([&] { sum.backward(); }, {"leave sparse_grad out"});
}

/// Runs separately with all keys taken (CMakeLists.txt).
TEST(Keys, AreAllTaken) {
  if (taken_keys().find("PrivateUse1") == std::string::npos) GTEST_SKIP() << "some are free";
  expect_error([] { line_mesh(); }, {"Fake, PrivateUse3, PrivateUse2, PrivateUse1", "load fewer"});
}

TEST(Faults, AFailedCallLeavesNothingInTheCache) {
  const at::Tensor a = distribute(whole_numbers({4, 4}, 4), line_mesh(), {Shard(0)});
  const at::Tensor b = distribute(whole_numbers({3, 4}, 5), line_mesh(), {Replicate()});
  const std::size_t before = line_mesh()->cache().size();
  expect_error([&] { a.mm(b); }, {"factors have the sizes"});
  EXPECT_EQ(line_mesh()->cache().size(), before);
}

}  // namespace
}  // namespace headroom::torch_runner::dtensor
