// SPDX-License-Identifier: Apache-2.0
// Gradients over ranks against one process with the whole batch.
#include "headroom_torch/ddp/reducer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "headroom/base/error.h"
#include "test_world.h"

namespace headroom::torch_runner {
namespace {

using dtensor::Group;

constexpr std::int64_t kShare = 4;  ///< examples per rank
constexpr double kTolerance = 1e-5;

Group all_ranks() {
  static int calls = 0;
  std::vector<int> ranks(static_cast<std::size_t>(dtensor::test_world()->size()));
  std::iota(ranks.begin(), ranks.end(), 0);
  return dtensor::test_world()->group(ranks, "reducer" + std::to_string(calls++));
}

Batch share_of(const Batch& whole, int index, std::int64_t share = kShare) {
  const std::int64_t rows = whole.target.size(0) / (whole.input.size(0) / share);
  return {whole.input.narrow(0, index * share, share), whole.target.narrow(0, index * rows, rows)};
}

void backward(Model& model, const Batch& batch) {
  at::cross_entropy_loss(model.forward(batch.input), batch.target).backward();
}

/// A backward pass over each batch.
void reduce(GradientReducer& reducer, Reduction reduction, Model& model, const std::vector<Batch>& batches) {
  reducer.begin(reduction);
  for (const Batch& batch : batches) backward(model, batch);
  reducer.finish();
}

std::vector<at::Tensor> gradients_of(const Model& model) {
  std::vector<at::Tensor> gradients;
  for (const Parameter& parameter : model.parameters()) gradients.push_back(parameter.value.grad().clone());
  return gradients;
}

double worst_difference(const Model& model, const std::vector<at::Tensor>& expected) {
  double worst = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const at::Tensor& gradient = model.parameters()[i].value.grad();
    const double scale = expected[i].abs().max().item<double>();
    const double difference = (gradient - expected[i]).abs().max().item<double>();
    worst = std::max(worst, difference / std::max(scale, 1e-12));
  }
  return worst;
}

/// Different targets, so that the ranks' gradients differ.
Batch varied_batch(const Model& model, std::int64_t size, std::int64_t image_size, std::uint64_t seed) {
  Batch batch = model.batch(size, image_size, seed);
  batch.target = at::arange(batch.target.size(0), at::kLong).remainder(1000);
  return batch;
}

void expect_gradients_of_whole(Model& model, GradientReducer& reducer, const Group& group, std::int64_t share,
                               std::int64_t image_size, std::uint64_t iteration) {
  const Batch whole = varied_batch(model, share * group.size(), image_size, iteration);
  drop_gradients(model);
  reduce(reducer, Reduction::kAccumulate, model, {whole});
  const std::vector<at::Tensor> expected = gradients_of(model);
  drop_gradients(model);
  reduce(reducer, Reduction::kAverage, model, {share_of(whole, group.index, share)});
  EXPECT_LT(worst_difference(model, expected), kTolerance) << "iteration " << iteration;
}

struct Checked {
  const char* model;
  std::int64_t share;
  std::uint64_t iterations;
};

class GradientsOf : public testing::TestWithParam<Checked> {};

TEST_P(GradientsOf, TheWholeBatchInEveryIteration) {
  Group group = all_ranks();
  const auto& [name, share, iterations] = GetParam();
  const auto model = make_model(name, 1);
  model->set_training(false);  // batch statistics would be those of a rank's share
  const auto reducer = bucket_reducer(model->parameters(), group, 1 << 20);
  for (std::uint64_t iteration = 0; iteration < iterations; ++iteration)
    expect_gradients_of_whole(*model, *reducer, group, share, 32, iteration);
  EXPECT_TRUE(reducer->unused().empty());
}
// The second iteration uses the first one's buckets. A transformer example is slow: one suffices.
INSTANTIATE_TEST_SUITE_P(Reducer, GradientsOf,
                         testing::Values(Checked{"mlp", kShare, 3}, Checked{"transformer", 1, 2},
                                         Checked{"resnet18", kShare, 3}),
                         [](const auto& tested) { return std::string(tested.param.model); });

TEST(GroupCalls, WhatDiffersIsNamedOnAllRanksAlike) {
  const Group group = all_ranks();
  require_same(group, 42, "other parameters");
  if (group.size() == 1) return;
  try {
    require_same(group, group.index == 1 ? 43 << 1 : 42 << 1, "other parameters");
    FAIL() << "nothing was said";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "rank 1 has other parameters than rank 0");
  }
}

TEST(Reducer, LaunchesBucketsInOrderAndEachIsThereBeforeTheEnd) {
  Group group = all_ranks();
  const auto model = make_model("mlp", 1);
  const auto reducer = bucket_reducer(model->parameters(), group, 4 << 20);
  for (int iteration = 0; iteration < 2; ++iteration) {
    drop_gradients(*model);
    reduce(*reducer, Reduction::kAverage, *model, {model->batch(2, 0, 1)});
  }
  const std::vector<BucketTimes> times = reducer->times(WorkClock(c10::kCPU));
  ASSERT_GT(times.size(), 2U);
  std::int64_t bytes = 0, tensors = 0;
  for (std::size_t i = 0; i < times.size(); ++i) {
    EXPECT_GE(times[i].completed_ns, times[i].launched_ns);
    if (i > 0) {
      EXPECT_GE(times[i].launched_ns, times[i - 1].launched_ns);
    }
    bytes += times[i].bytes;
    tensors += times[i].tensors;
  }
  EXPECT_EQ(bytes, 4 * parameter_count(*model));
  EXPECT_EQ(tensors, static_cast<std::int64_t>(model->parameters().size()));
}

TEST(Reducer, GradientsAreViewsOfBucketsAndReplicasStayEqual) {
  Group group = all_ranks();
  const auto model = make_model("mlp", 1);
  const auto reducer = bucket_reducer(model->parameters(), group, 1 << 30);
  for (int iteration = 0; iteration < 2; ++iteration) {
    drop_gradients(*model);
    reduce(*reducer, Reduction::kAverage, *model,
           {varied_batch(*model, 3, 0, static_cast<std::uint64_t>(group.index))});
  }
  const auto& parameters = model->parameters();
  EXPECT_EQ(parameters[0].value.grad().storage().data(), parameters[2].value.grad().storage().data());
}

TEST(Reducer, AddsUpWhatItDidNotSend) {
  Group group = all_ranks();
  const auto model = make_model("mlp", 1);
  const auto reducer = bucket_reducer(model->parameters(), group, 1 << 20);
  for (int iteration = 0; iteration < 2; ++iteration) {
    const Batch first = varied_batch(*model, kShare * group.size(), 0, 10),
                second = varied_batch(*model, kShare * group.size(), 0, 11);
    drop_gradients(*model);
    reduce(*reducer, Reduction::kAccumulate, *model, {first, second});
    const std::vector<at::Tensor> expected = gradients_of(*model);
    drop_gradients(*model);
    reduce(*reducer, Reduction::kAccumulate, *model, {share_of(first, group.index)});
    reduce(*reducer, Reduction::kAverage, *model, {share_of(second, group.index)});
    EXPECT_LT(worst_difference(*model, expected), kTolerance) << "iteration " << iteration;
  }
}

TEST(Reducer, LocalPassesSendNothing) {
  Group group = all_ranks();
  const auto model = make_model("mlp", 1);
  const auto reducer = bucket_reducer(model->parameters(), group, 1 << 20);
  const Batch own = varied_batch(*model, kShare, 0, static_cast<std::uint64_t>(100 + group.index));
  reduce(*reducer, Reduction::kAccumulate, *model, {own});
  std::vector<at::Tensor> expected = gradients_of(*model);
  for (at::Tensor& gradient : expected) gradient /= group.size();
  drop_gradients(*model);
  reduce(*reducer, Reduction::kLocal, *model, {own});
  EXPECT_LT(worst_difference(*model, expected), kTolerance);
}

TEST(Reducer, OfC10dGivesTheSame) {
  Group group = all_ranks();
  const auto model = make_model("mlp", 1);
  if (group.size() == 1) {
    EXPECT_THROW(c10d_reducer(model->parameters(), group, 1 << 20), Error);
    return;
  }
  std::unique_ptr<GradientReducer> theirs;
  try {
    theirs = c10d_reducer(model->parameters(), group, 1 << 20);
  } catch (const Error& error) {
    GTEST_SKIP() << error.what();
  }
  for (std::uint64_t iteration = 0; iteration < 3; ++iteration)
    expect_gradients_of_whole(*model, *theirs, group, kShare, 0, iteration);
}

/// The second layer is optional on each rank.
class Branches {
 public:
  Branches() {
    for (const char* name : {"used", "sometimes", "never"}) {
      parameters.push_back({name, at::ones({4}, at::kFloat).requires_grad_(true)});
    }
  }
  void backward(bool with_second) const {
    at::Tensor sum = (parameters[0].value * 2).sum();
    if (with_second) sum = sum + (parameters[1].value * 3).sum();
    sum.backward();
  }
  std::vector<Parameter> parameters;
};

TEST(Reducer, FindsUnusedParametersAndCountsThoseOfSomeRanksAsZero) {
  Group group = all_ranks();
  const Branches branches;
  const auto reducer = bucket_reducer(branches.parameters, group, 1 << 20);
  for (int iteration = 0; iteration < 3; ++iteration) {
    for (const Parameter& parameter : branches.parameters) parameter.value.mutable_grad() = at::Tensor();
    reducer->begin(Reduction::kAverage);
    branches.backward(group.index == group.size() - 1);  // only the last rank
    reducer->finish();
    EXPECT_TRUE(at::allclose(branches.parameters[0].value.grad(), at::full({4}, 2.0)));
    ASSERT_TRUE(branches.parameters[1].value.grad().defined()) << iteration;
    EXPECT_TRUE(at::allclose(branches.parameters[1].value.grad(), at::full({4}, 3.0 / group.size())));
    EXPECT_FALSE(branches.parameters[2].value.grad().defined());
  }
  EXPECT_THAT(reducer->unused(), testing::ElementsAre("never"));
}

TEST(Reducer, RefusesAParameterThatIsUsedLater) {
  Group group = all_ranks();
  const Branches branches;
  const auto reducer = bucket_reducer(branches.parameters, group, 1 << 20);
  reducer->begin(Reduction::kAverage);
  branches.backward(false);
  reducer->finish();
  EXPECT_THAT(reducer->unused(), testing::ElementsAre("sometimes", "never"));
  reducer->begin(Reduction::kAverage);
  try {
    branches.backward(true);
    ADD_FAILURE() << "nothing was thrown";
  } catch (const std::exception& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("sometimes got a gradient but"));
  }
  reducer->finish();  // the other ranks wait for this one
}

}  // namespace
}  // namespace headroom::torch_runner
