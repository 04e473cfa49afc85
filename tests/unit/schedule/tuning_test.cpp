// SPDX-License-Identifier: Apache-2.0
#include "headroom/schedule/tuning.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fake_workers.h"

namespace headroom {
namespace {

using testing::IsEmpty;
using testing::Lt;
using testing::SizeIs;

/// Choices in memory.
class FakeStore final : public TuningStore {
 public:
  std::map<std::string, std::string> choices;
  std::optional<std::string> chosen(const std::string& key) override {
    const auto found = choices.find(key);
    return found == choices.end() ? std::nullopt : std::optional(found->second);
  }
  void choose(const std::string& key, const std::string& variant) override { choices[key] = variant; }
};

constexpr const char* kKey = "dot a 1 thread cold";

/// A case with the variants slow, fast and middle: fake cases "dot/a slow@0" and so on.
struct TuningFixture : GroupFixture {
  TuningFixture() : GroupFixture(1) {
    settings.tuning = &store;
    workers.cases["dot/a slow@0"].ns = 3e6;
    workers.cases["dot/a fast@0"].ns = 1e6;
    workers.cases["dot/a middle@0"].ns = 1.1e6;
    workers.cases["dot/a@0"].ns = 5e6;
  }
  GroupResult run() {
    PlannedCase planned = planned_case("a");
    planned.variants = {"slow", "fast", "middle"};
    return GroupFixture::run({planned});
  }
  FakeStore store;
};

TEST(Tuning, TheFastestVariantIsMeasuredAndRemembered) {
  TuningFixture fixture;
  const GroupResult result = fixture.run();
  EXPECT_EQ(result.cases[0].planned.spec.variant, "fast");
  EXPECT_EQ(fixture.store.choices.at(kKey), "fast");
  ASSERT_FALSE(result.cases[0].readings.empty());
  for (const Reading& reading : result.cases[0].readings) EXPECT_EQ(reading.ns, 1e6);
  EXPECT_EQ(fixture.workers.prepared_now(0), 0U) << "all variants are released";
}

TEST(Tuning, NoiseThatIsSharedByARoundDoesNotDecide) {
  TuningFixture fixture;
  for (auto& [name, fake] : fixture.workers.cases) {
    // The machine is twice as slow half of the time.
    fake.factor = [](double clock) { return static_cast<long>(clock / 4e7) % 2 == 0 ? 1.0 : 2.0; };
  }
  fixture.run();
  EXPECT_EQ(fixture.store.choices.at(kKey), "fast");
}

TEST(Tuning, WhatIsFarBehindIsSampledLess) {
  TuningFixture fixture;
  fixture.run();
  EXPECT_THAT(fixture.workers.count('s', "dot/a slow@0"), Lt(20U))
      << "some readings of calibrating, a few rounds";
}

TEST(Tuning, ARememberedChoiceIsTakenWithoutLooking) {
  TuningFixture fixture;
  fixture.store.choices[kKey] = "middle";
  const GroupResult result = fixture.run();
  EXPECT_EQ(result.cases[0].planned.spec.variant, "middle");
  EXPECT_EQ(fixture.workers.count('p', "dot/a fast@0"), 0U);
  EXPECT_EQ(fixture.workers.count('p', "dot/a middle@0"), 1U);
}

TEST(Tuning, AChoiceThatTheRunnerDoesNotHaveIsMadeAnew) {
  TuningFixture fixture;
  fixture.store.choices[kKey] = "gone";
  EXPECT_EQ(fixture.run().cases[0].planned.spec.variant, "fast");
}

TEST(Tuning, AVariantThatDoesNotApplyIsLeftOut) {
  TuningFixture fixture;
  fixture.workers.cases["dot/a fast@0"].outcome = {Outcome::Kind::kSkipped, "not on this CPU"};
  EXPECT_EQ(fixture.run().cases[0].planned.spec.variant, "middle");
}

TEST(Tuning, AVariantThatFailsIsLeftOut) {
  TuningFixture fixture;
  fixture.workers.cases["dot/a fast@0"].fails_at = 3;
  EXPECT_EQ(fixture.run().cases[0].planned.spec.variant, "middle");
}

TEST(Tuning, AWrongVariantIsNotChosenForBeingFastWhereWrongAnswersAreTimed) {
  TuningFixture fixture;
  fixture.workers.cases["dot/a fast@0"].wrong = true;
  PlannedCase planned = planned_case("a");
  planned.variants = {"slow", "fast", "middle"};
  planned.spec.keep_wrong = true;
  const GroupResult result = fixture.GroupFixture::run({planned});
  EXPECT_EQ(result.cases[0].planned.spec.variant, "middle");
}

TEST(Tuning, WithoutVariantsOrAStoreNothingIsLookedFor) {
  TuningFixture without_store;
  without_store.settings.tuning = nullptr;
  EXPECT_EQ(without_store.run().cases[0].planned.spec.variant, "");
  EXPECT_EQ(without_store.workers.count('p', "dot/a fast@0"), 0U);
  TuningFixture without_variants;
  without_variants.GroupFixture::run({planned_case("a")});
  EXPECT_THAT(without_variants.store.choices, IsEmpty());
}

TEST(Tuning, TooLittleTimeToDecideIsNotRemembered) {
  TuningFixture fixture;
  fixture.settings.stop.max_time_ns = 1e6;  // a quarter of it is less than one round
  fixture.settings.sample_ns = 1e5;
  const GroupResult result = fixture.run();
  EXPECT_THAT(fixture.store.choices, IsEmpty());
  EXPECT_EQ(result.cases[0].planned.spec.variant, "fast") << "the best of what was seen serves this time";
}

TEST(Tuning, RoundsThatTakeLongAreGivenTheTimeToDecide) {
  TuningFixture fixture;
  fixture.settings.stop.max_time_ns = 4e7;  // a quarter of it is two rounds
  fixture.settings.sample_ns = 1e5;
  fixture.run();
  EXPECT_EQ(fixture.store.choices.at(kKey), "fast");
}

TEST(Tuning, EachFreshProcessTakesTheChosenVariant) {
  TuningFixture fixture;
  fixture.settings.processes = 3;
  const GroupResult result = fixture.run();
  EXPECT_EQ(fixture.workers.count('p', "dot/a fast@0"), 3U);
  EXPECT_EQ(fixture.workers.count('p', "dot/a slow@0"), 1U);
  EXPECT_THAT(result.cases[0].pids, SizeIs(3));
}

TEST(Tuning, TheSameCaseOfTwoRunnersTakesOneChoice) {
  GroupFixture fixture(2);
  FakeStore store;
  fixture.settings.tuning = &store;
  fixture.workers.cases["dot/a fast@1"].ns = 9e6;  // would choose the other
  std::vector<PlannedCase> planned{planned_case("a"), planned_case("a", 1)};
  for (PlannedCase& one : planned) one.variants = {"slow", "fast"};
  fixture.workers.cases["dot/a slow@0"].ns = 2e6;
  const GroupResult result = fixture.run(planned);
  EXPECT_EQ(result.cases[0].planned.spec.variant, "fast");
  EXPECT_EQ(result.cases[1].planned.spec.variant, "fast");
}

TEST(Tuning, TheKeySaysWhatTheChoiceDependsOn) {
  CaseSpec spec;
  spec.experiment = "gemv";
  spec.axes = {{"D", "1024"}, {"dtype", "bf16"}};
  spec.threads = 2;
  spec.caches = Caches::kHot;
  EXPECT_EQ(tuning_key(spec), "gemv D=1024 dtype=bf16 native 2 threads hot");
}

}  // namespace
}  // namespace headroom
