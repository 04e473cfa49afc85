// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <stdlib.h>

#include <cfenv>
#include <chrono>
#include <cmath>
#include <thread>

#include "../error_message.h"
#include "headroom/experiment/buffer.h"
#include "headroom/experiment/state.h"
#include "headroom/machine/cpu_folder.h"
#include "headroom/machine/memory.h"
#include "headroom/record/noise.h"
#include "scripted_source.h"

namespace headroom {
namespace {

using namespace testing;

CaseSpec spec_of(AxisTexts axes = {}, Caches caches = Caches::kCold) {
  CaseSpec spec;
  spec.experiment = "dot";
  spec.axes = std::move(axes);
  spec.caches = caches;
  return spec;
}

template <typename Body>
std::string logic_error_of(Body&& body) {
  try {
    body();
  } catch (const std::logic_error& error) {
    return error.what();
  }
  return "accepted";
}

class Measure : public testing::Test {
 protected:
  ScriptedSource source{{{3, 2}, {5, 0}}};
  SharedObjects shared;
  State state{spec_of(), source, shared};
};

TEST_F(Measure, SettingsThatTheBodyChangesAreRestoredAfterEachSampleAndTold) {
  std::vector<int> modes;
  state.measure([&] {
    modes.push_back(std::fegetround());
    std::fesetround(FE_UPWARD);
  });
  EXPECT_EQ(std::fegetround(), FE_TONEAREST);
  // A lead-in and its sample, then another sample.
  EXPECT_THAT(modes, ElementsAre(FE_TONEAREST, FE_UPWARD, FE_UPWARD, FE_UPWARD, FE_UPWARD, FE_TONEAREST,
                                 FE_UPWARD, FE_UPWARD, FE_UPWARD, FE_UPWARD));
  EXPECT_THAT(state.conclusion().changed, ElementsAre("the rounding mode"));
}

TEST_F(Measure, SettingsThatACaseChangedBeforeItsSamplesAreRestoredBeforeThem) {
  std::fesetround(FE_DOWNWARD);
  int mode = -1;
  state.measure([&] { mode = std::fegetround(); });
  EXPECT_EQ(mode, FE_TONEAREST);
  EXPECT_THAT(state.conclusion().changed, ElementsAre("the rounding mode"));
}

TEST_F(Measure, WhatACaseThatNeverMeasuresChangedIsRestored) {
  {
    const State state(spec_of(), source, shared);
    std::fesetround(FE_DOWNWARD);
  }
  EXPECT_EQ(std::fegetround(), FE_TONEAREST);
}

TEST_F(Measure, SettingsOfOtherThreadsOfTheBodyAreRestored) {
  state.threads_of_body([](const std::function<void()>& f) {
    f();
    std::thread([&] {
      std::fesetround(FE_TOWARDZERO);
      f();
      EXPECT_EQ(std::fegetround(), FE_TONEAREST);
    }).join();
  });
  state.measure([] {});
  EXPECT_THAT(state.conclusion().changed, ElementsAre("the rounding mode"));
}

TEST_F(Measure, ACaseThatChangesNothingTellsNothing) {
  state.measure([] { keep(std::sqrt(2.0)); });
  EXPECT_TRUE(state.conclusion().changed.empty());
}

TEST_F(Measure, AxesAreReadByName) {
  const State state(spec_of({{"D", "1024"}, {"dtype", "bf16"}}), source, shared);
  EXPECT_EQ(state.integer("D"), 1024);
  EXPECT_EQ(state.text("dtype"), "bf16");
  EXPECT_EQ(state.text("D"), "1024");
  EXPECT_THAT(logic_error_of([&] { state.text("E"); }), AllOf(HasSubstr("dot"), HasSubstr("no axis 'E'")));
  EXPECT_THAT(logic_error_of([&] { state.integer("dtype"); }), HasSubstr("'dtype' of dot is not an integer"));
}

TEST_F(Measure, HotHasOneCopyAndColdExceedsTwiceTheLastCache) {
  State hot(spec_of({}, Caches::kHot), source, shared);
  EXPECT_EQ(hot.rotate(1000), 1U);
  State cold(spec_of(), source, shared);
  const auto cache = static_cast<std::size_t>(last_level_cache_bytes());
  const std::size_t copies = cold.rotate(1 << 20);
  EXPECT_GE(copies << 20, 2 * cache);
  EXPECT_LT((copies - 1) << 20, 2 * cache);
  EXPECT_EQ(cold.rotate(100 * cache), 2U);
  EXPECT_EQ(cold.rotate(0), 1U);
}

TEST_F(Measure, ADeviceRotatesByItsOwnCache) {
  state.last_level_cache(1000);
  EXPECT_EQ(state.rotate(100), 20U);
  EXPECT_EQ(state.copies(), 20U);
  EXPECT_EQ(state.rotate(5000), 2U);
  State hot(spec_of({}, Caches::kHot), source, shared);
  hot.last_level_cache(1000);
  EXPECT_EQ(hot.rotate(100), 1U);
}

TEST_F(Measure, TheCopyCyclesAcrossLeadInAndSamples) {
  const auto cache = static_cast<std::size_t>(last_level_cache_bytes());
  ASSERT_EQ(state.rotate((2 * cache + 2) / 3), 3U);
  std::vector<std::size_t> copies;
  state.measure([&](std::size_t copy) { copies.push_back(copy); });
  EXPECT_THAT(copies, ElementsAre(0, 1, 2, 0, 1, 2, 0, 1, 2, 0));
  ASSERT_EQ(source.infos.size(), 1U);
  EXPECT_EQ(source.infos[0].copies, 3U);
}

TEST_F(Measure, TheLeadInIsRunButNotCounted) {
  int calls = 0;
  state.measure([&] { ++calls; });
  EXPECT_EQ(calls, 10);
  ASSERT_EQ(source.samples.size(), 2U);
  EXPECT_EQ(source.samples[0].iterations, 3U);
  EXPECT_EQ(source.samples[1].iterations, 5U);
}

TEST_F(Measure, TheClockCoversTheIterationsAndNotTheLeadIn) {
  ScriptedSource one({{1, 1}});
  State state(spec_of(), one, shared);
  bool is_lead_in = true;
  state.measure([&] {
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(is_lead_in ? 40 : 2);
    while (std::chrono::steady_clock::now() < end) {
    }
    is_lead_in = false;
  });
  ASSERT_EQ(one.samples.size(), 1U);
  EXPECT_GE(one.samples[0].elapsed_ns, 2e6);
  EXPECT_LT(one.samples[0].elapsed_ns, 35e6);
}

TEST_F(Measure, BatchesBringTheirOwnClock) {
  std::vector<std::uint64_t> batches;
  state.measure_batches([&](std::uint64_t iterations) {
    batches.push_back(iterations);
    return 10.0 * static_cast<double>(iterations);
  });
  EXPECT_THAT(batches, ElementsAre(2, 3, 5));
  ASSERT_EQ(source.samples.size(), 2U);
  EXPECT_EQ(source.samples[0].elapsed_ns, 30);
  EXPECT_EQ(source.samples[1].elapsed_ns, 50);
}

TEST_F(Measure, TheDeviceIsReadAroundEachSampleAndNeverWithin) {
  std::vector<std::string> order;
  std::uint32_t reasons = 0x4;
  const auto read = [&] {
    order.emplace_back("read");
    const DeviceNoise now{1980, 3201, 300.0 + static_cast<double>(order.size()), 40, reasons};
    reasons = 0;
    return now;
  };
  state.watch_device(read);
  state.measure_batches([&](std::uint64_t iterations) {
    order.push_back(std::to_string(iterations));
    return 1.0;
  });
  EXPECT_THAT(order, ElementsAre("read", "2", "3", "read", "read", "5", "read"));
  ASSERT_EQ(source.samples.size(), 2U);
  EXPECT_EQ(source.samples[0].device, (DeviceNoise{1980, 3201, 304, 40, 0x4})) << "held down before it";
  EXPECT_EQ(source.samples[1].device.throttle, 0U);
  ScriptedSource one({{1, 1}});
  State timed(spec_of(), one, shared);
  timed.watch_device(read);
  order.clear();
  timed.measure([&] { order.emplace_back("call"); });
  EXPECT_THAT(order, ElementsAre("read", "call", "call", "read"));
  EXPECT_EQ(one.samples.at(0).device.sm_mhz, 1980);
}

TEST_F(Measure, ASurroundedCallIsNoSample) {
  std::vector<std::string> order;
  const RunWrapper wrapper = [&](const std::function<void()>& run) {
    order.emplace_back("before");
    run();
    order.emplace_back("after");
  };
  ScriptedSource asked({{1, 0}, {2, 0, &wrapper}, {1, 0}});
  State state(spec_of(), asked, shared);
  state.measure([&] { order.emplace_back("call"); });
  EXPECT_THAT(order, ElementsAre("call", "before", "call", "call", "after", "call"));
  ASSERT_EQ(asked.samples.size(), 3U);
  EXPECT_EQ(asked.samples[1].elapsed_ns, 0) << "nobody timed it";
  ScriptedSource batches({{2, 0, &wrapper}});
  State other(spec_of(), batches, shared);
  order.clear();
  other.measure_batches([&](std::uint64_t iterations) {
    order.push_back(std::to_string(iterations));
    return 1.0;
  });
  EXPECT_THAT(order, ElementsAre("before", "2", "after"));
}

TEST_F(Measure, ABatchWithoutATimeFailsTheCase) {
  for (const double time : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(),
                            -1.0, 1.01e18, 1e-310}) {
    ScriptedSource one({{1, 0}});
    State state(spec_of(), one, shared);
    EXPECT_THROW(state.measure_batches([&](std::uint64_t) { return time; }), std::runtime_error) << time;
    EXPECT_TRUE(one.samples.empty());
  }
}

TEST_F(Measure, MeasuringTwiceIsAnError) {
  state.measure([] {});
  EXPECT_THAT(logic_error_of([&] { state.measure([] {}); }), HasSubstr("dot measures twice"));
  EXPECT_EQ(source.infos.size(), 1U);
}

TEST_F(Measure, WhatTheCaseSaysIsInItsInfo) {
  state.work({.flops = 2, .bytes = 12, .bytes_written = 4, .dtype = "f32"});
  state.input("x", "f32[3]");
  state.note("isa", "avx2");
  state.rate("token_per_sec", 4, "tokens/s");
  state.value("ratio", 0.5, "1", Direction::kLowerIsBetter);
  state.measure([] {});
  const CaseInfo& info = source.infos.at(0);
  EXPECT_EQ(info.work.flops, 2);
  EXPECT_EQ(info.work.bytes_written, 4);
  EXPECT_EQ(info.inputs.at("x"), "f32[3]");
  EXPECT_EQ(info.notes.at("isa"), "avx2");
  ASSERT_EQ(info.metrics.size(), 2U);
  EXPECT_EQ(info.metrics[0].kind, ReportedMetric::Kind::kRate);
  EXPECT_EQ(info.metrics[0].direction, Direction::kHigherIsBetter);
  EXPECT_EQ(info.metrics[1].kind, ReportedMetric::Kind::kValue);
  EXPECT_EQ(info.metrics[1].amount, 0.5);
  EXPECT_FALSE(info.verified);
}

TEST_F(Measure, ColumnsAreMeansOverTheTimedIterations) {
  Column even = state.column("even", "1"), bytes = state.column("bytes", "B", Direction::kHigherIsBetter);
  int calls = 0;
  state.measure([&] {
    even.add(calls % 2);
    bytes.add(100);
    ++calls;
  });
  const CaseInfo& info = source.infos.at(0);
  ASSERT_EQ(info.metrics.size(), 2U);
  EXPECT_EQ(info.metrics[1].kind, ReportedMetric::Kind::kColumn);
  EXPECT_EQ(info.metrics[1].direction, Direction::kHigherIsBetter);
  EXPECT_THAT(source.samples.at(0).columns, ElementsAre(1.0 / 3, 100))
      << "the two before the clock do not count";
  EXPECT_THAT(source.samples.at(1).columns, ElementsAre(3.0 / 5, 100));
}

TEST_F(Measure, ColumnsStandBesideAClockOfTheCasesOwn) {
  Column launched = state.column("launched", "1");
  state.measure_batches([&](std::uint64_t iterations) {
    launched.add(2 * static_cast<double>(iterations));
    return 10.0 * static_cast<double>(iterations);
  });
  EXPECT_THAT(source.samples.at(0).columns, ElementsAre(2));
}

TEST_F(Measure, AColumnThatIsNoNumberFailsTheCase) {
  Column ratio = state.column("ratio", "1");
  EXPECT_THROW(state.measure([&] { ratio.add(std::numeric_limits<double>::quiet_NaN()); }),
               std::runtime_error);
}

TEST_F(Measure, NumbersThatCannotBeAreRefusedBeforeTheFirstSample) {
  State written(spec_of(), source, shared);
  written.work({.bytes = 4, .bytes_written = 8, .dtype = {}});
  EXPECT_THAT(logic_error_of([&] { written.measure([] {}); }), HasSubstr("writes 8 bytes of 4"));
  State negative(spec_of(), source, shared);
  negative.work({.flops = -1, .dtype = {}});
  EXPECT_THAT(logic_error_of([&] { negative.measure([] {}); }), HasSubstr("reports work of -1"));
  for (const double beyond : {1.01e100, 1e300, 1e-310}) {
    State state(spec_of(), source, shared);
    state.work({.flops = beyond, .dtype = {}});
    EXPECT_THAT(logic_error_of([&] { state.measure([] {}); }), HasSubstr("reports work of ")) << beyond;
  }
  State nan(spec_of(), source, shared);
  nan.value("loss", std::numeric_limits<double>::quiet_NaN(), "1", Direction::kLowerIsBetter);
  EXPECT_THAT(logic_error_of([&] { nan.measure([] {}); }), HasSubstr("loss = nan"));
  EXPECT_TRUE(source.infos.empty());
}

TEST_F(Measure, SkipSaysWhy) {
  try {
    state.skip("no AMX here");
  } catch (const SkipCase& skip) {
    EXPECT_EQ(skip.reason, "no AMX here");
  }
  state.require_memory(1);
  try {
    state.require_memory(std::size_t{1} << 60);
    FAIL() << "an exbibyte was there";
  } catch (const SkipCase& skip) {
    EXPECT_THAT(skip.reason, AllOf(HasSubstr("needs"), HasSubstr("are available")));
  }
}

TEST_F(Measure, SetupRunsBeforeEachCallAndIsNotTimed) {
  State state(spec_of({}, Caches::kHot), source, shared);
  std::string calls;
  state.measure([&] { calls += 'b'; },
                [&] {
                  calls += 's';
                  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(2);
                  while (std::chrono::steady_clock::now() < end) {
                  }
                });
  EXPECT_EQ(calls, "sbsbsbsbsbsbsbsbsbsb");
  ASSERT_EQ(source.samples.size(), 2U);
  EXPECT_EQ(source.samples[1].iterations, 5U);
  EXPECT_LT(source.samples[1].elapsed_ns, 5e6);
  ASSERT_EQ(source.infos.at(0).metrics.size(), 1U);
  EXPECT_EQ(source.infos[0].metrics[0].name, kClockOverhead);
  ASSERT_EQ(source.samples[1].columns.size(), 1U);
  EXPECT_GT(source.samples[1].columns[0], 0);
  EXPECT_LT(source.samples[1].columns[0], 1e5);
}

TEST_F(Measure, SetupIsToldTheCopyThatTheBodyGets) {
  state.last_level_cache(100);
  ASSERT_EQ(state.rotate(100), 2U);
  std::vector<std::size_t> prepared, used;
  state.measure([&](std::size_t copy) { used.push_back(copy); },
                [&](std::size_t copy) { prepared.push_back(copy); });
  EXPECT_EQ(prepared, used);
  EXPECT_THAT(used, ElementsAre(0, 1, 0, 1, 0, 1, 0, 1, 0, 1));
}

constexpr std::size_t kBytes = 8 * kHugePageBytes;

class Wish {
 public:
  explicit Wish(const char* value) {
    if (const char* found = ::getenv(kHugePagesVariable)) before_ = found;
    value == nullptr ? ::unsetenv(kHugePagesVariable) : ::setenv(kHugePagesVariable, value, 1);
  }
  ~Wish() { before_ ? ::setenv(kHugePagesVariable, before_->c_str(), 1) : ::unsetenv(kHugePagesVariable); }
  Wish(const Wish&) = delete;
  Wish& operator=(const Wish&) = delete;

 private:
  std::optional<std::string> before_;
};

TEST(BufferPagesTest, AreHugeWhereTheyAreAskedForAndTheKernelGivesThem) {
  const Wish wish("yes");
  const Buffer buffer(kBytes), small(4096);
  EXPECT_EQ(buffer_pages().possible, kBytes);
  const std::string policy = huge_page_policy();
  if (policy == "madvise" || policy == "always") {
    EXPECT_GT(buffer_pages().huge, 0U);
  } else {
    EXPECT_EQ(buffer_pages().huge, 0U) << "said, not failed";
  }
}

TEST(BufferPagesTest, AreSmallWhereTheyAreRefused) {
  const Wish wish("no");
  const Buffer buffer(kBytes);
  EXPECT_EQ(buffer_pages().possible, kBytes);
  EXPECT_EQ(buffer_pages().huge, 0U);
  EXPECT_EQ(text_of(buffer_pages()), "0 %");
  EXPECT_EQ(huge_share(buffer_pages()), 0);
}

TEST(BufferPagesTest, AreLeftToTheKernel) {
  const Wish wish("default");
  const Buffer buffer(kBytes);
  if (huge_page_policy() != "always") {
    EXPECT_EQ(buffer_pages().huge, 0U);
  }
}

TEST(BufferPagesTest, AreCountedWhileTheBufferIsThere) {
  const Wish wish(nullptr);
  EXPECT_EQ(text_of(buffer_pages()), "");
  {
    Buffer first(kBytes), second;
    second = std::move(first);
    const Buffer third(std::move(second));
    EXPECT_EQ(buffer_pages().possible, kBytes);
  }
  EXPECT_EQ(buffer_pages().possible, 0U);
  EXPECT_EQ(buffer_pages().huge, 0U);
  std::thread([] {
    const Buffer elsewhere(kBytes);
    EXPECT_EQ(buffer_pages().possible, kBytes);
  }).join();
  EXPECT_EQ(buffer_pages().possible, 0U);
}

TEST(BufferPagesTest, AWishThatIsNoneIsRefusedByName) {
  const Wish wish("maybe");
  EXPECT_THAT(test::message_of([] { Buffer(1); }),
              AllOf(HasSubstr("HEADROOM_HUGE_PAGES"), HasSubstr("'maybe'"), HasSubstr("yes, no or default")));
}

TEST(BufferPagesTest, AreANoteOfTheCase) {
  const Wish wish("no");
  ScriptedSource source;
  SharedObjects shared;
  State with(CaseSpec{}, source, shared);
  {
    const Buffer buffer(kBytes);
    with.measure([] {});
  }
  ASSERT_EQ(source.infos.size(), 1U);
  EXPECT_EQ(source.infos[0].notes.at(kHugePagesKey), "0 %");
  EXPECT_EQ(source.infos[0].huge_pages, 0);
  State without(CaseSpec{}, source, shared);
  without.measure([] {});
  EXPECT_FALSE(source.infos.at(1).notes.contains(kHugePagesKey));
}

}  // namespace
}  // namespace headroom
