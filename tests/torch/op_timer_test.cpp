// SPDX-License-Identifier: Apache-2.0
#include "headroom_torch/calls/op_timer.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

namespace headroom::torch_runner {
namespace {

using testing::Each;
using testing::Gt;
using testing::SizeIs;

const OpTimes* times_of(const OpTimer& timer, const std::string& op, const std::string& sizes) {
  const auto found = timer.times().find({op, sizes});
  return found == timer.times().end() ? nullptr : &found->second;
}

TEST(OpTimer, TellsTheFirstRunOfEachCallFromTheOthers) {
  const at::Tensor a = at::ones({4, 3});
  OpTimer timer(10);
  for (int call = 0; call < 5; ++call) {
    const at::Tensor sum = a + a;
    EXPECT_TRUE(at::equal(sum, at::full({4, 3}, 2.0F)));
  }
  const OpTimes* add = times_of(timer, "aten::add.Tensor", "[4,3] [4,3]");
  ASSERT_NE(add, nullptr);
  EXPECT_THAT(add->first_ns, SizeIs(5));
  EXPECT_THAT(add->repeat_ns, SizeIs(5));
  EXPECT_THAT(add->first_ns, Each(Gt(0)));
  EXPECT_THAT(add->repeat_ns, Each(Gt(0)));
}

TEST(OpTimer, KeepsSizesApart) {
  OpTimer timer(2);
  at::relu(at::ones({2}));
  at::relu(at::ones({3}));
  at::cat({at::ones({2}), at::ones({3})});
  EXPECT_NE(times_of(timer, "aten::relu", "[2]"), nullptr);
  EXPECT_NE(times_of(timer, "aten::relu", "[3]"), nullptr);
  EXPECT_NE(times_of(timer, "aten::cat", "[2] [3]"), nullptr);
}

TEST(OpTimer, WritesHappenOnce) {
  at::Tensor a = at::ones({4});
  at::Tensor out = at::empty({4});
  OpTimer timer(10);
  a.add_(1);
  at::mul_out(out, a, a);
  EXPECT_TRUE(at::equal(a, at::full({4}, 2.0F)));
  EXPECT_TRUE(at::equal(out, at::full({4}, 4.0F)));
  const OpTimes* add = times_of(timer, "aten::add_.Scalar", "[4]") != nullptr
                           ? times_of(timer, "aten::add_.Scalar", "[4]")
                           : times_of(timer, "aten::add_.Tensor", "[4] []");
  ASSERT_NE(add, nullptr);
  EXPECT_THAT(add->first_ns, SizeIs(1));
  EXPECT_THAT(add->repeat_ns, SizeIs(0));
}

TEST(OpTimer, RandomNumbersAreThoseOfTheProgramWithoutIt) {
  const auto draw = [] {
    at::manual_seed(3);
    return at::stack({at::rand({5}), at::randn({5}), at::bernoulli(at::full({5}, 0.5)),
                      at::rand_like(at::ones({5})), at::dropout(at::ones({5}), 0.5, true)});
  };
  const at::Tensor expected = draw();
  OpTimer timer(10);
  EXPECT_TRUE(at::equal(draw(), expected));
}

TEST(OpTimer, SeesWhatACompositeIsMadeOf) {
  const at::Tensor a = at::ones({4, 4});
  OpTimer timer(2);
  at::matmul(a, a);
  EXPECT_NE(times_of(timer, "aten::mm", "[4,4] [4,4]"), nullptr);
  EXPECT_EQ(times_of(timer, "aten::matmul", "[4,4] [4,4]"), nullptr);
}

TEST(OpTimer, GradientsAreTheSame) {
  at::Tensor a = at::ones({3}).set_requires_grad(true);
  {
    OpTimer timer(10);
    (a * a).sum().backward();
  }
  EXPECT_TRUE(at::equal(a.grad(), at::full({3}, 2.0F)));
}

TEST(OpTimer, SeesItsOwnThreadWhileItLives) {
  const at::Tensor a = at::ones({3});
  std::size_t inner_seen = 0;
  {
    OpTimer timer(2);
    std::thread([&] { at::relu(a); }).join();
    EXPECT_EQ(times_of(timer, "aten::relu", "[3]"), nullptr);
    {
      OpTimer inner(2);
      at::relu(a);
      inner_seen = inner.times().size();
    }
    EXPECT_EQ(times_of(timer, "aten::relu", "[3]"), nullptr);
    at::relu(a);
    EXPECT_NE(times_of(timer, "aten::relu", "[3]"), nullptr);
  }
  EXPECT_EQ(inner_seen, 1U);
  EXPECT_TRUE(at::equal(at::relu(a), a));
}

TEST(OpTimer, AnOperatorThatThrowsLeavesItWorking) {
  const at::Tensor a = at::ones({3}), b = at::ones({4});
  OpTimer timer(2);
  EXPECT_THROW(at::add(a, b), c10::Error);
  at::add(a, a);
  EXPECT_NE(times_of(timer, "aten::add.Tensor", "[3] [3]"), nullptr);
}

}  // namespace
}  // namespace headroom::torch_runner
