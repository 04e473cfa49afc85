// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "headroom/base/error.h"
#include "headroom_native/experiments.h"
#include "headroom_native/kernels/gemv/gemv_kernel.h"
#include "headroom_native/kernels/isa.h"
#include "headroom_native/kernels/norm_kernel.h"
#include "headroom_native/kernels/tuning.h"
#include "headroom_native/peers/peers.h"
#include "native_case.h"

namespace headroom::native {
namespace {

using testing::HasSubstr;

TEST(Experiments, AreRightForOddSizes) {
  const std::vector<const char*> plain{"native", "reference"}, exact{"native", "native_strict", "reference"};
  const std::tuple<const char*, AxisTexts, std::vector<const char*>, std::vector<int>> experiments[] = {
      {"gemv", {{"dtype", "bf16"}}, exact, {1, 2}},
      {"gemv", {{"dtype", "int8"}}, exact, {1, 2}},
      {"gather_gemv", {{"dtype", "bf16"}}, plain, {2}},
      {"gather_gemv", {{"dtype", "int8"}}, plain, {2}},
      {"layer_norm", {{"BS", "5"}, {"dtype", "bf16"}}, plain, {2}},
      {"mlp_layer_norm_gelu", {{"hidden", "333"}, {"dtype", "bf16"}}, plain, {2}}};
  for (const char* size : {"1", "2", "3", "31", "33", "127"}) {
    for (const auto& [experiment, axes, backends, thread_counts] : experiments) {
      for (const char* backend : backends) {
        for (const int threads : thread_counts) {
          CaseSpec spec = hot_case(experiment, axes, threads);
          spec.axes.insert(spec.axes.begin(), {"D", size});
          spec.backend = backend;
          expect_right(run(spec), std::string(experiment) + " of " + size + ", " + backend);
        }
      }
    }
  }
}

TEST(Experiments, EachVariantIsRight) {
  std::size_t measured = 0;
  const auto check = [&](CaseSpec spec, const std::vector<std::string>& variants) {
    for (const std::string& variant : variants) {
      spec.variant = variant;
      const Outcome outcome = run(spec);
      expect_right(outcome, spec.experiment + " " + variant);
      EXPECT_EQ(outcome.info.notes.at("variant"), variant);
      ++measured;
    }
  };
  check(hot_case("gemv", {{"D", "129"}, {"dtype", "bf16"}}), gemv_variants({"bf16"}));
  check(hot_case("gemv", {{"D", "129"}, {"dtype", "int8"}}), gemv_variants({"int8"}));
  check(hot_case("gather_gemv", {{"D", "130"}, {"dtype", "int8"}}), gemv_variants({"int8"}));
  check(hot_case("layer_norm", {{"D", "160"}, {"BS", "9"}, {"dtype", "bf16"}}), norm_variants());
  check(hot_case("mlp_layer_norm_gelu", {{"D", "127"}, {"hidden", "333"}, {"dtype", "bf16"}}),
        mlp_variants());
  EXPECT_GE(measured, 40U);
}

TEST(Variants, AreDifferentCodeAtEveryLevel) {
  for (const Isa isa : available_isas()) {
    for (const char* dtype : {"bf16", "int8"}) {
      const std::vector<GemvChoice> choices = gemv_choices({dtype}, isa);
      EXPECT_GE(choices.size(), 16U);
      for (std::size_t i = 0; i < choices.size(); ++i) {
        ASSERT_TRUE(has_gemv_form(dtype, isa, choices[i].form)) << name_of(isa) << " " << choices[i].name;
        for (std::size_t j = 0; j < i; ++j) {
          const bool same = gemv_kernel(dtype, isa, choices[i].form).multiply ==
                                gemv_kernel(dtype, isa, choices[j].form).multiply &&
                            effective_walk(choices[i].walk) == effective_walk(choices[j].walk) &&
                            choices[i].one_thread == choices[j].one_thread;
          EXPECT_FALSE(same) << name_of(isa) << " " << dtype << ": " << choices[i].name << " and "
                             << choices[j].name;
        }
      }
    }
  }
  const std::vector<NormChoice>& norms = norm_choices();
  for (std::size_t i = 0; i < norms.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j)
      EXPECT_FALSE(norms[i].walk == norms[j].walk) << norms[i].name << " and " << norms[j].name;
  }
}

TEST(Variants, ByOneThreadAreNoneOfACaseOfOne) {
  CaseSpec spec = hot_case("gemv", {{"D", "129"}, {"dtype", "bf16"}}, 1);
  spec.variant = "4 rows, one thread";
  EXPECT_THAT(run(spec).skipped, HasSubstr("one thread"));
}

TEST(Variants, OfATableAreThereOnlyWhereACaseCanHaveThem) {
  const auto has_table = [](const std::vector<std::string>& names) {
    return std::ranges::any_of(names, [](const std::string& name) { return name.starts_with("table"); });
  };
  EXPECT_FALSE(has_table(gemv_variants({"bf16"})));
  const bool can = has_byte_permutation(chosen_isa());
  EXPECT_EQ(has_table(gemv_variants({"bf16", "int8"})), can);
  const ForcedIsa lowest("baseline");
  EXPECT_FALSE(has_table(gemv_variants({"bf16", "int8"})));
  const ForcedIsa unknown("avx9");
  EXPECT_FALSE(gemv_variants({"int8"}).empty()) << "the error is for the cases to tell";
}

TEST(Experiments, TheErrorOfTheSumsIsSaidBeforeRounding) {
  const auto error_of = [](const char* backend) {
    CaseSpec spec = hot_case("gemv", {{"D", "500"}, {"dtype", "int8"}});
    spec.backend = backend;
    return std::stod(run(spec).info.notes.at("error of sums"));
  };
  EXPECT_LT(error_of("native"), 1e-4);
  EXPECT_LT(error_of("native_strict"), 1e-6);
  EXPECT_GT(error_of("native_strict"), 0);
}

TEST(Experiments, AnUnknownVariantIsAnError) {
  CaseSpec spec = hot_case("gemv", {{"D", "16"}, {"dtype", "bf16"}});
  spec.variant = "7 rows";
  EXPECT_THROW(run(spec), Error);
}

class EachIsaTest : public ::testing::TestWithParam<Isa> {};

TEST_P(EachIsaTest, IsRight) {
  const std::string name = name_of(GetParam());
  if (std::ranges::count(available_isas(), GetParam()) == 0) GTEST_SKIP() << "this CPU has no " << name;
  const ForcedIsa forced(name.c_str());
  expect_right(run(hot_case("gemv", {{"D", "1025"}, {"dtype", "bf16"}})), name);
  expect_right(run(hot_case("gather_gemv", {{"D", "127"}, {"dtype", "int8"}})), name);
  expect_right(run(hot_case("layer_norm", {{"D", "1000"}, {"BS", "3"}, {"dtype", "bf16"}})), name);
  expect_right(run(hot_case("mlp_layer_norm_gelu", {{"D", "127"}, {"hidden", "1000"}, {"dtype", "bf16"}})),
               name);
  expect_measured(run(hot_case("limit.read", {{"bytes", "16384"}, {"pattern", "linear"}})), name);
}
INSTANTIATE_TEST_SUITE_P(All, EachIsaTest, ::testing::ValuesIn(all_isas()), isa_name);

TEST(Experiments, BytesAreThoseOfThePyTorchBenchmark) {
  const CaseInfo gemv = run(hot_case("gemv", {{"D", "100"}, {"dtype", "bf16"}})).info;
  EXPECT_EQ(gemv.work.bytes, 2 * 100 * 100);
  EXPECT_EQ(gemv.work.flops, 2 * 100 * 100);
  const CaseInfo gather = run(hot_case("gather_gemv", {{"D", "100"}, {"dtype", "int8"}})).info;
  EXPECT_EQ(gather.work.bytes, 2 * 100 * 100);
  EXPECT_EQ(gather.work.flops, 2 * 2 * 100 * 100);
  const CaseInfo norm = run(hot_case("layer_norm", {{"D", "100"}, {"BS", "7"}, {"dtype", "bf16"}})).info;
  EXPECT_EQ(norm.work.bytes, 2 * 7 * 100 * 2);
  EXPECT_EQ(norm.work.bytes_written, 7 * 100 * 2);
  const CaseInfo mlp =
      run(hot_case("mlp_layer_norm_gelu", {{"D", "10"}, {"hidden", "50"}, {"dtype", "bf16"}})).info;
  EXPECT_EQ(mlp.work.flops, 2 * (10 * 50 + 50 * 10));
  EXPECT_EQ(mlp.work.bytes, 2 * (10 * 50 + 50 * 10));
  EXPECT_EQ(mlp.work.dtype, "bf16");
}

TEST(Experiments, WhatDoesNotFitInMemoryIsSkippedWithBothSizes) {
  const AxisTexts huge{{"D", "1000000"}, {"dtype", "bf16"}};
  EXPECT_THAT(run(hot_case("gemv", huge)).skipped, HasSubstr("available"));
  EXPECT_THAT(run(hot_case("gather_gemv", huge)).skipped, HasSubstr("available"));
  EXPECT_THAT(run(hot_case("gemv", {{"D", "9000000000000000000"}, {"dtype", "bf16"}})).skipped,
              HasSubstr("available"));
  EXPECT_THAT(run(hot_case("limit.copy", {{"bytes", "9000000000000000000"}, {"pattern", "plain"}})).skipped,
              HasSubstr("available"));
}

TEST(Experiments, ZeroIsAnErrorThatNamesTheAxis) {
  try {
    run(hot_case("gemv", {{"D", "0"}, {"dtype", "bf16"}}));
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("D"));
  }
}

TEST(Experiments, BackendsOfOneCaseRunSideBySide) {
  Registry registry;
  register_native_experiments(registry);
  SharedObjects shared;
  class Inner : public FewSamples {
   public:
    void ready(const CaseInfo& said) override {
      FewSamples::ready(said);
      then();
    }
    std::function<void()> then;
  };
  Inner outer;
  FewSamples inner;
  CaseSpec spec = hot_case("gemv", {{"D", "64"}, {"dtype", "int8"}});
  State outer_state(spec, outer, shared);
  spec.backend = "reference";
  State inner_state(spec, inner, shared);
  outer.then = [&] { registry.find("gemv")->function()(inner_state); };
  registry.find("gemv")->function()(outer_state);
  EXPECT_TRUE(outer.info.verified);
  EXPECT_TRUE(inner.info.verified);
  EXPECT_EQ(inner.samples.size(), 3U);
}

TEST(Experiments, EveryOneHasASummaryAndLimitsAreMarked) {
  Registry registry;
  register_native_experiments(registry);
  EXPECT_EQ(registry.all().size(), 15U);
  for (const Experiment& experiment : registry.all()) {
    EXPECT_NE(experiment.summary(), "") << experiment.name();
    EXPECT_EQ(experiment.is_limit(), experiment.name().starts_with("limit.")) << experiment.name();
    EXPECT_EQ(experiment.is_on_request(), !experiment.model().empty()) << experiment.name();
  }
}

TEST(LimitExperiments, LimitsCountWholeLinesOnly) {
  for (const char* experiment : {"limit.read", "limit.write", "limit.copy"}) {
    const char* pattern = std::string(experiment) == "limit.read" ? "linear" : "plain";
    const Outcome outcome = run(hot_case(experiment, {{"bytes", "1000"}, {"pattern", pattern}}));
    expect_measured(outcome, experiment);
    const double per_pass = outcome.info.work.bytes / std::stod(outcome.info.notes.at("passes"));
    EXPECT_EQ(per_pass, std::string(experiment) == "limit.copy" ? 896 : 960) << experiment;
  }
}

TEST(LimitExperiments, LimitsSayWhatTheyWrite) {
  const Work write = run(hot_case("limit.write", {{"bytes", "65536"}, {"pattern", "nontemporal"}})).info.work;
  EXPECT_EQ(write.bytes_written, write.bytes);
  const Work copy = run(hot_case("limit.copy", {{"bytes", "65536"}, {"pattern", "prefetch"}})).info.work;
  EXPECT_EQ(copy.bytes_written, copy.bytes / 2);
}

TEST(LimitExperiments, AWorkingSetUnderOneLineIsSkipped) {
  EXPECT_THAT(run(hot_case("limit.read", {{"bytes", "63"}, {"pattern", "linear"}})).skipped, HasSubstr("63"));
}

TEST(LimitExperiments, PeaksRunOrAreSkippedWithAReason) {
  for (const char* dtype : {"f64", "f32", "bf16", "int8"}) {
    for (const char* pattern : {"fma", "dot", "amx"}) {
      const Outcome outcome = run(hot_case("limit.peak", {{"dtype", dtype}, {"pattern", pattern}}));
      if (!outcome.skipped.empty()) {
        EXPECT_NE(std::string(pattern), "fma") << "every CPU multiplies and adds: " << outcome.skipped;
        continue;
      }
      expect_measured(outcome, dtype);
      EXPECT_GT(outcome.info.work.flops, 0);
      EXPECT_EQ(outcome.info.work.dtype, dtype);
    }
  }
}

TEST(LimitExperiments, PingPongNeedsTwoThreads) {
  EXPECT_THAT(run(hot_case("limit.pingpong", {}, 1)).skipped, HasSubstr("2 threads"));
  if (std::thread::hardware_concurrency() < 2) GTEST_SKIP() << "one CPU";
  const Outcome outcome = run(hot_case("limit.pingpong", {}, 2));
  expect_measured(outcome, "limit.pingpong");
  // Between a cycle and a system call.
  EXPECT_GT(outcome.samples[0].elapsed_ns / 3, 1);
}

/// oneDNN needs AVX-512 for bf16, which ONEDNN_MAX_CPU_ISA can hide.
bool may_be_missing(const Outcome& outcome) {
  const bool hidden = std::getenv("ONEDNN_MAX_CPU_ISA") != nullptr;
  return outcome.skipped.starts_with("oneDNN does not support this case") &&
         (hidden || available_isas().back() < Isa::kAvx512);
}

TEST(Peers, PeersAgreeWithFloat64) {
  std::string missing;
  const auto check = [&](CaseSpec spec, const std::string& backend) {
    spec.backend = backend;
    const Outcome outcome = run(spec);
    const std::string what = backend + " " + spec.experiment;
    if (may_be_missing(outcome)) {
      missing += what + ": " + outcome.skipped + "\n";
    } else {
      expect_right(outcome, what);
    }
  };
  for (const std::string& backend : gemv_peers()) {
    for (const char* size : {"64", "129", "1000"}) {
      check(hot_case("gemv", {{"D", size}, {"dtype", "bf16"}}), backend);
      check(hot_case("gather_gemv", {{"D", size}, {"dtype", "bf16"}}), backend);
    }
    CaseSpec cold = hot_case("gather_gemv", {{"D", "1000"}, {"dtype", "bf16"}});
    cold.caches = Caches::kCold;
    check(cold, backend);
  }
  for (const std::string& backend : layer_norm_peers()) {
    check(hot_case("layer_norm", {{"D", "100"}, {"BS", "9"}, {"dtype", "bf16"}}), backend);
  }
  for (const std::string& backend : mlp_peers()) {
    check(hot_case("mlp_layer_norm_gelu", {{"D", "100"}, {"hidden", "333"}, {"dtype", "bf16"}}), backend);
  }
  if (!missing.empty()) GTEST_SKIP() << missing;
}

TEST(Peers, PeersSayWhatTheyDoNotHave) {
  for (const std::string& backend : gemv_peers()) {
    CaseSpec spec = hot_case("gemv", {{"D", "64"}, {"dtype", "int8"}});
    spec.backend = backend;
    EXPECT_THAT(run(spec).skipped, HasSubstr("int8")) << backend;
  }
}

TEST(Peers, OpenBlasCountsTheBytesOfItsFloats) {
  const auto peers = gemv_peers();
  if (std::ranges::find(peers, "openblas") == peers.end()) GTEST_SKIP() << "built without OpenBLAS";
  CaseSpec spec = hot_case("gemv", {{"D", "100"}, {"dtype", "bf16"}});
  spec.backend = "openblas";
  const CaseInfo info = run(spec).info;
  EXPECT_EQ(info.work.bytes, 4 * 100 * 100);
  EXPECT_EQ(info.work.flops, 2 * 100 * 100);
  EXPECT_THAT(info.notes.at("weights"), HasSubstr("f32"));
}

class LevelIsAvailable : public ::testing::Environment {
  void SetUp() override {
    const char* wanted = std::getenv("HEADROOM_ISA");
    for (const Isa isa : all_isas()) {
      if (wanted == nullptr || name_of(isa) != std::string(wanted)) continue;
      if (!std::ranges::count(available_isas(), isa))
        GTEST_SKIP() << "no test runs: this CPU has no " << wanted;
    }
  }
};
[[maybe_unused]] const auto* const kLevelIsThere =
    ::testing::AddGlobalTestEnvironment(new LevelIsAvailable);  // gtest deletes it

class IsaLevelTest : public ::testing::TestWithParam<Isa> {};

TEST_P(IsaLevelTest, IsChosenWhereTheEnvironmentNamesIt) {
  const ForcedIsa forced(name_of(GetParam()));
  if (std::ranges::count(available_isas(), GetParam()) == 0) {
    EXPECT_THROW(chosen_isa(), Error);
    GTEST_SKIP() << "this CPU has no " << name_of(GetParam()) << ": its kernels are not tested";
  }
  EXPECT_EQ(chosen_isa(), GetParam());
}
INSTANTIATE_TEST_SUITE_P(All, IsaLevelTest, ::testing::ValuesIn(all_isas()), isa_name);

TEST(Isa, LevelsAreAvailableUpToTheBest) {
  const std::vector<Isa> available = available_isas(), all = all_isas();
  ASSERT_FALSE(available.empty());
  const std::vector<Isa> first(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(available.size()));
  EXPECT_EQ(available, first);
}

TEST(Isa, TheBestIsChosenByDefault) {
  {
    const ForcedIsa none(nullptr);
    EXPECT_EQ(chosen_isa(), available_isas().back());
  }
  const ForcedIsa empty("");
  EXPECT_EQ(chosen_isa(), available_isas().back());
}

TEST(Isa, AnUnknownNameIsAnErrorThatListsTheNames) {
  const ForcedIsa unknown("avx9");
  try {
    chosen_isa();
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(),
                ::testing::AllOf(::testing::HasSubstr("avx9"), ::testing::HasSubstr("avx512_bf16")));
  }
}

TEST(Isa, AForcedBaselineRunsOtherCodeThanTheBest) {
  if (available_isas().size() == 1) GTEST_SKIP() << "this CPU has the baseline only";
  EXPECT_NE(gemv_kernel("int8", Isa::kBaseline).isa, gemv_kernel("int8", available_isas().back()).isa);
  EXPECT_NE(gemv_kernel("int8", Isa::kBaseline).multiply,
            gemv_kernel("int8", available_isas().back()).multiply);
}

/// Highway has no SSE2 target; the baseline must still be vectorised.
TEST(Isa, TheBaselineHasVectors) {
#if defined(__x86_64__) && !defined(__SSE4_1__)
  EXPECT_EQ(portable_gemv_kernel("bf16", Isa::kBaseline).isa, "SSE2");
  EXPECT_EQ(portable_norm_kernel(Isa::kBaseline).isa, "SSE2");
#elif defined(__aarch64__)
  EXPECT_THAT(portable_gemv_kernel("bf16", Isa::kBaseline).isa, ::testing::HasSubstr("NEON"));
  EXPECT_EQ(available_isas(), std::vector{Isa::kBaseline});
#else
  GTEST_SKIP() << "the baseline of this compiler is not that of an architecture";
#endif
}

}  // namespace
}  // namespace headroom::native
