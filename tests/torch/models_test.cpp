// SPDX-License-Identifier: Apache-2.0
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "headroom/base/error.h"
#include "headroom_torch/ddp/model.h"
#include "headroom_torch/ddp/reducer.h"
#include "headroom_torch/ddp/training.h"

namespace headroom::torch_runner {
namespace {

using Plan = std::vector<std::vector<std::size_t>>;

TEST(Models, HaveTheParametersOfTorchvisions) {
  const std::pair<const char*, std::int64_t> kCounts[] = {
      {"resnet18", 11'689'512},         {"resnet50", 25'557'032}, {"resnet101", 44'549'160},
      {"resnext50_32x4d", 25'028'904},  {"mlp", 5'223'400},       {"transformer", 3'688'936},
      {"resnext101_32x8d", 88'791'336},
  };
  ASSERT_EQ(model_table().size(), std::size(kCounts));
  for (const auto& [name, count] : kCounts) EXPECT_EQ(parameter_count(*make_model(name, 1)), count) << name;
}

TEST(Models, NameAndOrderParametersAsTorchvisionDoes) {
  const auto model = make_model("resnet50", 1);
  const auto& parameters = model->parameters();
  ASSERT_EQ(parameters.size(), 161U);
  EXPECT_EQ(parameters[0].name, "conv1.weight");
  EXPECT_EQ(parameters[1].name, "bn1.weight");
  EXPECT_EQ(parameters[3].name, "layer1.0.conv1.weight");
  EXPECT_EQ(parameters[12].name, "layer1.0.downsample.0.weight");
  EXPECT_EQ(parameters[12].value.sizes(), at::IntArrayRef({256, 64, 1, 1}));
  EXPECT_EQ(parameters.back().name, "fc.bias");
}

TEST(Models, GiveLogitsAndGradientsToEveryParameter) {
  for (const char* name : {"resnet18", "resnext50_32x4d", "mlp", "transformer"}) {
    const auto model = make_model(name, 1);
    const Batch batch = model->batch(2, 32, 3);
    const at::Tensor logits = model->forward(batch.input);
    ASSERT_EQ(logits.dim(), 2) << name;
    EXPECT_EQ(logits.size(0), batch.target.size(0)) << name;
    EXPECT_EQ(logits.size(1), 1000) << name;
    at::cross_entropy_loss(logits, batch.target).backward();
    for (const Parameter& parameter : model->parameters()) {
      ASSERT_TRUE(parameter.value.grad().defined()) << name << " " << parameter.name;
      EXPECT_TRUE(at::isfinite(parameter.value.grad()).all().item<bool>()) << name << " " << parameter.name;
    }
  }
}

TEST(Models, AreEqualByTheirSeedAndDifferByIt) {
  const auto a = make_model("mlp", 1), b = make_model("mlp", 1), c = make_model("mlp", 2);
  EXPECT_TRUE(at::equal(a->parameters()[0].value, b->parameters()[0].value));
  EXPECT_FALSE(at::equal(a->parameters()[0].value, c->parameters()[0].value));
  EXPECT_THROW(make_model("resnet19", 1), Error);
}

TEST(Models, AttendToWhatCameBeforeOnly) {
  const auto model = make_model("transformer", 1);
  at::Tensor tokens = model->batch(1, 0, 1).input;
  const at::Tensor before = model->forward(tokens);
  tokens[0][63].fill_(7);
  const at::Tensor after = model->forward(tokens);
  EXPECT_TRUE(at::equal(before.narrow(0, 0, 63), after.narrow(0, 0, 63)));
  EXPECT_FALSE(at::equal(before[63], after[63]));
}

class SgdStep : public testing::TestWithParam<bool> {};

TEST_P(SgdStep, IsThatOfTorchOptim) {
  at::Tensor value = at::randn({5, 7}).requires_grad_(true);
  const at::Tensor idle = at::randn({3}).requires_grad_(true);
  const at::Tensor idle_before = idle.detach().clone();
  Sgd::Settings settings;
  settings.by_operators = GetParam();
  Sgd sgd({{"w", value}, {"idle", idle}}, settings);
  at::Tensor expected = value.detach().clone(), momentum;
  for (int i = 0; i < 3; ++i) {
    const at::Tensor gradient = at::randn({5, 7});
    value.mutable_grad() = gradient;
    sgd.step();
    const at::Tensor slope = gradient + 1e-4 * expected;
    momentum = momentum.defined() ? momentum * 0.9 + slope : slope;
    expected = expected - 0.001 * momentum;
    EXPECT_TRUE(at::allclose(value.detach(), expected, 1e-6, 1e-7)) << i;
  }
  EXPECT_TRUE(at::equal(idle.detach(), idle_before));
  // An idle step keeps the momentum.
  const at::Tensor before = value.detach().clone();
  value.mutable_grad() = at::randn({5, 7});
  sgd.idle_step();
  EXPECT_TRUE(at::equal(value.detach(), before));
  value.mutable_grad() = at::zeros({5, 7});
  sgd.step();
  momentum = momentum * 0.9 + 1e-4 * expected;
  EXPECT_TRUE(at::allclose(value.detach(), expected - 0.001 * momentum, 1e-6, 1e-7));
}

INSTANTIATE_TEST_SUITE_P(Sgd, SgdStep, testing::Bool(),
                         [](const auto& tested) { return tested.param ? "ByOperators" : "InOnePass"; });

TEST(BucketPlan, ClosesABucketOnceItIsFull) {
  const std::vector<std::int64_t> bytes{400, 300, 200, 500, 100};
  EXPECT_EQ(plan_buckets({4, 3, 2, 1, 0}, bytes, 600), (Plan{{4, 3}, {2, 1, 0}}));
  EXPECT_EQ(plan_buckets({0, 1, 2, 3, 4}, bytes, 1), (Plan{{0}, {1}, {2}, {3}, {4}}));
  EXPECT_EQ(plan_buckets({0, 1, 2, 3, 4}, bytes, 1 << 30), (Plan{{0, 1, 2, 3, 4}}));
  EXPECT_EQ(plan_buckets({}, bytes, 600), Plan{});
}

TEST(BucketPlan, StartsWithASmallOne) {
  const std::vector<std::int64_t> bytes{kFirstBucketBytes, kFirstBucketBytes, kFirstBucketBytes};
  EXPECT_EQ(plan_buckets({2, 1, 0}, bytes, 25 << 20), (Plan{{2}, {1, 0}}));
}

TEST(Footprint, GrowsWithTheBatchAndTheAreaOfImages) {
  const auto model = make_model("resnet18", 1);
  const TrainingBytes one = training_bytes(*model, 1, 64, true);
  EXPECT_EQ(one.kept, 4 * parameter_count(*model) * 3);
  EXPECT_EQ(training_bytes(*model, 1, 64, false).kept, 4 * parameter_count(*model) * 2);
  EXPECT_GT(one.passing, 1 << 20);
  EXPECT_EQ(training_bytes(*model, 1000, 64, true).passing, 1000 * one.passing);
  EXPECT_EQ(training_bytes(*model, 1, 128, true).passing, 4 * one.passing);
  EXPECT_GT(training_bytes(*model, std::int64_t{1} << 60, 100'000, true).passing, std::int64_t{1} << 61);
  EXPECT_FALSE(model->parameters()[0].value.grad().defined());
}

}  // namespace
}  // namespace headroom::torch_runner
