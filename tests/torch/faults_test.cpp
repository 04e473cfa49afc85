// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "headroom/base/error.h"
#include "headroom_torch/tensors/compat.h"
#include "test_world.h"

namespace headroom::torch_runner::dtensor {
namespace {

/// Expects an Error whose message has each of these texts: what is wrong, where, and what to do.
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
TEST(Faults, AMeshThatDoesNotFitTheWorld) {
  expect_error(
      [] {
        DeviceMesh::create(test_world(), {ranks(), 2});
      },
      {"does not fit a world of", "choose sizes"});
  expect_error([] { DeviceMesh::create(test_world(), {}); }, {"does not fit"});
  expect_error([] { DeviceMesh::create(test_world(), {-1, -ranks()}); }, {"does not fit"});
  expect_error(
      [] {
        DeviceMesh::create(test_world(), {ranks(), 1}, {"dp", "dp"});
      },
      {"dp, dp", "all different"});
  expect_error([] { line_mesh()->submesh({"tp"}); }, {"sub-mesh (tp)", "name some of its dimensions"});
}

TEST(Faults, AWorldThatMakesNoSense) {
  expect_error([] { World::connect({.rank = 3, .size = 2}); }, {"rank 3 of a world of 2"});
  expect_error([] { World::connect({.timeout = std::chrono::milliseconds(0)}); }, {"time-out of 0 ms"});
}

#if HEADROOM_TORCH_HAS_GLOO
TEST(Faults, ARankThatNeverComesEndsTheOthersAtTheTimeout) {
  expect_error(
      [] { World::connect({.rank = 1, .size = 2, .port = 1, .timeout = std::chrono::milliseconds(300)}); },
      {"rank 1 of 2 could not meet the others at 127.0.0.1:1", "start every rank"});
}
#else
TEST(Faults, SeveralRanksWithoutGlooAreToldWhatIsMissing) {
  expect_error([] { World::connect({.rank = 1, .size = 2}); },
               {"a world of 2 ranks needs gloo", "build again"});
}
#endif

TEST(Faults, PlacementsThatDoNotFit) {
  const at::Tensor whole = whole_numbers({4, 4}, 1);
  expect_error([&] { distribute(whole, line_mesh(), {Shard(2)}); },
               {"distribute: Shard(2) of a tensor of 2 dimensions"});
  expect_error([&] { distribute(whole, line_mesh(), {Shard(-1)}); }, {"Shard(-1)"});
  expect_error(
      [&] {
        distribute(whole, line_mesh(), {Shard(0), Replicate()});
      },
      {"2 placements", "give one for each"});
  expect_error([&] { redistribute(distribute(whole, line_mesh(), {Shard(0)}), {Shard(5)}); },
               {"redistribute: Shard(5)"});
  expect_error([&] { distribute(whole.to(at::kLong), line_mesh(), {Partial(ReduceOp::kAvg)}); },
               {"floating-point"});
  expect_error([&] { full(whole); }, {"full of a plain tensor"});
  expect_error([&] { distribute(distribute(whole, line_mesh(), {Shard(0)}), line_mesh(), {Shard(0)}); },
               {"give it a plain one"});
}

TEST(Faults, OperandsOnTwoMeshes) {
  // Kept: a rank that goes on at once must not close what another still connects.
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
  expect_error(
      [&] {
        from_local(at::zeros({rank == 0 ? 1 : 3, 2}), line_mesh(), {Shard(0)});
      },
      {"the shards of dimension 0", "as at::chunk does"});
  expect_error(
      [&] {
        from_local(at::zeros({2, rank + 1}), line_mesh(), {Shard(0)});
      },
      {"dimension 1", "unequal sizes"});
  expect_error(
      [&] {
        from_local(rank == 0 ? at::zeros({2}) : at::zeros({2, 2}), line_mesh(), {Replicate()});
      },
      {"one number of dimensions"});
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
                 {"embedding: index", "of a table of 8 rows", "from 0 to 7"});
  }
}

TEST(Faults, ASparseGradientOfGather) {
  const at::Tensor x = distribute(whole_numbers({4, 4}, 7), line_mesh(), {Shard(0)}).requires_grad_(true);
  const at::Tensor sum = full(x.gather(1, at::zeros({4, 4}, at::kLong), true)).sum();
  expect_error([&] { sum.backward(); }, {"sparse_grad", "leave it out"});
}

/// Run alone, with all keys taken (CMakeLists.txt).
TEST(Keys, AreAllTaken) {
  if (taken_keys().find("PrivateUse1") == std::string::npos) GTEST_SKIP() << "some are free";
  expect_error([] { line_mesh(); },
               {"Fake, PrivateUse3, PrivateUse2, PrivateUse1", "taken them all", "load fewer"});
}

TEST(Faults, AFailedCallLeavesNothingInTheCache) {
  const at::Tensor a = distribute(whole_numbers({4, 4}, 4), line_mesh(), {Shard(0)});
  const at::Tensor b = distribute(whole_numbers({3, 4}, 5), line_mesh(), {Replicate()});
  const std::size_t before = line_mesh()->cache().size();
  expect_error([&] { a.mm(b); }, {"sizes do not fit"});
  EXPECT_EQ(line_mesh()->cache().size(), before);
}

}  // namespace
}  // namespace headroom::torch_runner::dtensor
