// SPDX-License-Identifier: Apache-2.0
#include "headroom/experiment/registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

#include "headroom/experiment/state.h"

namespace headroom {
namespace {

using testing::ElementsAre;

void own_experiment(State&) {}
HEADROOM_EXPERIMENT(own_experiment).summary("for the macro").axis("D", {1, 2}).axis("dtype", {"f32", "bf16"});

TEST(Registry, KeepsTheOrderAndTheReferences) {
  Registry made;
  Experiment& first = made.add("first", own_experiment);
  for (int i = 0; i < 100; ++i) made.add("other" + std::to_string(i), own_experiment);
  first.summary("changed later");
  EXPECT_EQ(made.find("first")->summary(), "changed later");
  EXPECT_EQ(made.all().size(), 101U);
  EXPECT_EQ(made.all()[1].name(), "other0");
  EXPECT_EQ(made.find("missing"), nullptr);
}

TEST(Registry, ANameIsTakenOnce) {
  Registry made;
  made.add("dot", own_experiment);
  EXPECT_THROW(made.add("dot", own_experiment), std::logic_error);
  EXPECT_EQ(made.all().size(), 1U);
}

TEST(Registry, TheMacroRegistersUnderTheFunctionsName) {
  const Experiment* found = registry().find("own_experiment");
  ASSERT_NE(found, nullptr);
  const auto* const function = found->function().target<void (*)(State&)>();
  ASSERT_NE(function, nullptr);
  EXPECT_EQ(*function, &own_experiment);
  ASSERT_EQ(found->axes().size(), 2U);
  EXPECT_EQ(found->axes()[0].kind, Axis::Kind::kInteger);
  EXPECT_THAT(found->axes()[0].values, ElementsAre("1", "2"));
  EXPECT_EQ(found->axes()[1].kind, Axis::Kind::kText);
  EXPECT_THAT(found->axes()[1].values, ElementsAre("f32", "bf16"));
  EXPECT_THAT(found->backends(), ElementsAre("native"));
  EXPECT_EQ(found->device(), "cpu");
  EXPECT_FALSE(found->is_limit());
}

TEST(SharedObjects, AreMadeOnceWhileSomebodyHoldsThem) {
  SharedObjects shared;
  int made = 0;
  const auto make = [&] { return std::make_shared<int>(++made); };
  auto first = shared.get<int>("pool", make);
  auto second = shared.get<int>("pool", make);
  EXPECT_EQ(first, second);
  EXPECT_EQ(made, 1);
  EXPECT_EQ(*shared.get<int>("other", make), 2);
  first.reset();
  EXPECT_EQ(shared.get<int>("pool", make), second);
  second.reset();
  EXPECT_EQ(*shared.get<int>("pool", make), 3);
}

TEST(SharedObjects, OfDifferentTypesDoNotMeet) {
  SharedObjects shared;
  const auto number = shared.get<int>("x", [] { return std::make_shared<int>(1); });
  const auto text = shared.get<std::string>("x", [] { return std::make_shared<std::string>("one"); });
  EXPECT_EQ(*number, 1);
  EXPECT_EQ(*text, "one");
}

}  // namespace
}  // namespace headroom
