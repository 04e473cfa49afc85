// SPDX-License-Identifier: Apache-2.0
#include "headroom_native/experiments.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <thread>

#include "headroom/base/error.h"
#include "headroom/experiment/state.h"
#include "headroom_native/isa.h"
#include "headroom_native/peers/peers.h"
#include "headroom_native/tuning.h"

namespace headroom::native {
namespace {

using ::testing::HasSubstr;

/// Asks for a few samples and keeps what the case said.
class FewSamples : public SampleSource {
 public:
  explicit FewSamples(std::uint64_t iterations = 3) : iterations_(iterations) {}

  void ready(const CaseInfo& said) override { info = said; }
  std::optional<SampleRequest> next() override {
    if (samples.size() == 3) return std::nullopt;
    return SampleRequest{iterations_, 1};
  }
  void deliver(const Sample& sample) override { samples.push_back(sample); }

  CaseInfo info;
  std::vector<Sample> samples;

 private:
  std::uint64_t iterations_;
};

struct Outcome {
  CaseInfo info;
  std::vector<Sample> samples;
  std::string skipped;
};

CaseSpec hot_case(const std::string& experiment, AxisValues axes, int threads = 2) {
  CaseSpec spec;
  spec.experiment = experiment;
  spec.axes = std::move(axes);
  spec.threads = threads;
  spec.caches = Caches::kHot;
  return spec;
}

Outcome run(const CaseSpec& spec) {
  Registry registry;
  register_native_experiments(registry);
  const Experiment* experiment = registry.find(spec.experiment);
  if (experiment == nullptr) throw std::logic_error("no experiment " + spec.experiment);
  FewSamples source;
  SharedObjects shared;
  State state(spec, source, shared);
  try {
    experiment->function()(state);
  } catch (const SkipCase& skip) {
    return {{}, {}, skip.reason};
  }
  return {source.info, source.samples, {}};
}

void expect_measured(const Outcome& outcome, const std::string& what) {
  EXPECT_EQ(outcome.skipped, "") << what;
  ASSERT_EQ(outcome.samples.size(), 3U) << what;
  for (const Sample& sample : outcome.samples) EXPECT_GT(sample.elapsed_ns, 0) << what;
}

void expect_right(const Outcome& outcome, const std::string& what) {
  expect_measured(outcome, what);
  EXPECT_TRUE(outcome.info.verified) << what;
  EXPECT_LE(outcome.info.max_error, outcome.info.tolerance) << what;
  EXPECT_LT(outcome.info.tolerance, 0.01) << what;
}

const std::vector<const char*> kSizes{"1", "2", "3", "31", "33", "127"};

TEST(Experiments, GemvIsRightForOddSizes) {
  for (const char* size : kSizes) {
    for (const char* dtype : {"bf16", "int8"}) {
      for (const char* backend : {"native", "native_strict", "reference"}) {
        for (const int threads : {1, 2}) {
          CaseSpec spec = hot_case("gemv", {{"D", size}, {"dtype", dtype}}, threads);
          spec.backend = backend;
          expect_right(run(spec), std::string(size) + dtype + backend);
        }
      }
    }
  }
}

TEST(Experiments, GatherGemvIsRightForOddSizes) {
  for (const char* size : kSizes) {
    for (const char* dtype : {"bf16", "int8"}) {
      for (const char* backend : {"native", "reference"}) {
        CaseSpec spec = hot_case("gather_gemv", {{"D", size}, {"dtype", dtype}});
        spec.backend = backend;
        expect_right(run(spec), std::string(size) + dtype + backend);
      }
    }
  }
}

TEST(Experiments, LayerNormIsRightForOddSizes) {
  for (const char* size : kSizes) {
    for (const char* backend : {"native", "reference"}) {
      CaseSpec spec = hot_case("layer_norm", {{"D", size}, {"BS", "5"}, {"dtype", "bf16"}});
      spec.backend = backend;
      expect_right(run(spec), std::string(size) + backend);
    }
  }
}

TEST(Experiments, MlpIsRightForOddSizes) {
  for (const char* size : kSizes) {
    for (const char* backend : {"native", "reference"}) {
      CaseSpec spec = hot_case("mlp_layer_norm_gelu", {{"D", size}, {"hidden", "333"}, {"dtype", "bf16"}});
      spec.backend = backend;
      expect_right(run(spec), std::string(size) + backend);
    }
  }
}

TEST(Experiments, EachVariantIsRightOrDoesNotApply) {
  std::size_t measured = 0;
  const auto check = [&](CaseSpec spec, const std::vector<std::string>& variants) {
    for (const std::string& variant : variants) {
      spec.variant = variant;
      const Outcome outcome = run(spec);
      if (!outcome.skipped.empty()) {
        EXPECT_THAT(outcome.skipped, ::testing::AnyOf(HasSubstr("VBMI"), HasSubstr("all threads")))
            << variant;
        continue;
      }
      expect_right(outcome, spec.experiment + " " + variant);
      EXPECT_EQ(outcome.info.notes.at("variant"), variant);
      ++measured;
    }
  };
  check(hot_case("gemv", {{"D", "129"}, {"dtype", "bf16"}}), gemv_variants());
  check(hot_case("gemv", {{"D", "129"}, {"dtype", "int8"}}), gemv_variants());
  check(hot_case("gather_gemv", {{"D", "130"}, {"dtype", "int8"}}), gemv_variants());
  check(hot_case("layer_norm", {{"D", "160"}, {"BS", "9"}, {"dtype", "bf16"}}), norm_variants());
  check(hot_case("mlp_layer_norm_gelu", {{"D", "127"}, {"hidden", "333"}, {"dtype", "bf16"}}),
        gemv_variants());
  EXPECT_GE(measured, 40U);
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

TEST(Experiments, PeersAgreeWithFloat64) {
  for (const std::string& backend : gemv_peers()) {
    for (const char* size : {"64", "129", "1000"}) {
      CaseSpec spec = hot_case("gemv", {{"D", size}, {"dtype", "bf16"}});
      spec.backend = backend;
      expect_right(run(spec), backend + size);
      spec.experiment = "gather_gemv";
      expect_right(run(spec), backend + size);
    }
    CaseSpec cold = hot_case("gather_gemv", {{"D", "1000"}, {"dtype", "bf16"}});
    cold.backend = backend;
    cold.caches = Caches::kCold;
    expect_right(run(cold), backend + " cold");
  }
  for (const std::string& backend : layer_norm_peers()) {
    CaseSpec spec = hot_case("layer_norm", {{"D", "100"}, {"BS", "9"}, {"dtype", "bf16"}});
    spec.backend = backend;
    expect_right(run(spec), backend);
  }
  for (const std::string& backend : mlp_peers()) {
    CaseSpec spec = hot_case("mlp_layer_norm_gelu", {{"D", "100"}, {"hidden", "333"}, {"dtype", "bf16"}});
    spec.backend = backend;
    expect_right(run(spec), backend);
  }
}

TEST(Experiments, PeersSayWhatTheyDoNotHave) {
  for (const std::string& backend : gemv_peers()) {
    CaseSpec spec = hot_case("gemv", {{"D", "64"}, {"dtype", "int8"}});
    spec.backend = backend;
    EXPECT_THAT(run(spec).skipped, HasSubstr("int8")) << backend;
  }
}

TEST(Experiments, OpenBlasCountsTheBytesOfItsFloats) {
  const auto peers = gemv_peers();
  if (std::ranges::find(peers, "openblas") == peers.end()) GTEST_SKIP() << "built without OpenBLAS";
  CaseSpec spec = hot_case("gemv", {{"D", "100"}, {"dtype", "bf16"}});
  spec.backend = "openblas";
  const CaseInfo info = run(spec).info;
  EXPECT_EQ(info.work.bytes, 4 * 100 * 100);
  EXPECT_EQ(info.work.flops, 2 * 100 * 100);
  EXPECT_THAT(info.notes.at("weights"), HasSubstr("f32"));
}

TEST(Experiments, EachInstructionSetIsRight) {
  for (const Isa isa : available_isas()) {
    setenv("HEADROOM_ISA", name_of(isa), 1);
    expect_right(run(hot_case("gemv", {{"D", "1025"}, {"dtype", "bf16"}})), name_of(isa));
    expect_right(run(hot_case("gather_gemv", {{"D", "127"}, {"dtype", "int8"}})), name_of(isa));
    expect_right(run(hot_case("layer_norm", {{"D", "1000"}, {"BS", "3"}, {"dtype", "bf16"}})), name_of(isa));
    expect_right(run(hot_case("mlp_layer_norm_gelu", {{"D", "127"}, {"hidden", "1000"}, {"dtype", "bf16"}})),
                 name_of(isa));
    expect_measured(run(hot_case("limit.read", {{"bytes", "16384"}, {"pattern", "linear"}})), name_of(isa));
  }
  unsetenv("HEADROOM_ISA");
}

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

TEST(Experiments, LimitsCountWholeLinesOnly) {
  for (const char* experiment : {"limit.read", "limit.write", "limit.copy"}) {
    const char* pattern = std::string(experiment) == "limit.read" ? "linear" : "plain";
    const Outcome outcome = run(hot_case(experiment, {{"bytes", "1000"}, {"pattern", pattern}}));
    expect_measured(outcome, experiment);
    const double per_pass = outcome.info.work.bytes / std::stod(outcome.info.notes.at("passes"));
    EXPECT_EQ(per_pass, std::string(experiment) == "limit.copy" ? 896 : 960) << experiment;
  }
}

TEST(Experiments, LimitsSayWhatTheyWrite) {
  const Work write = run(hot_case("limit.write", {{"bytes", "65536"}, {"pattern", "nontemporal"}})).info.work;
  EXPECT_EQ(write.bytes_written, write.bytes);
  const Work copy = run(hot_case("limit.copy", {{"bytes", "65536"}, {"pattern", "prefetch"}})).info.work;
  EXPECT_EQ(copy.bytes_written, copy.bytes / 2);
}

TEST(Experiments, AWorkingSetUnderOneLineIsSkipped) {
  EXPECT_THAT(run(hot_case("limit.read", {{"bytes", "63"}, {"pattern", "linear"}})).skipped, HasSubstr("63"));
}

TEST(Experiments, WhatDoesNotFitInMemoryIsSkippedWithBothSizes) {
  const AxisValues huge{{"D", "1000000"}, {"dtype", "bf16"}};
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

TEST(Experiments, PeaksRunOrAreSkippedWithAReason) {
  for (const char* dtype : {"f64", "f32", "bf16", "int8"}) {
    for (const char* pattern : {"fma", "dot", "amx"}) {
      const Outcome outcome = run(hot_case("limit.peak", {{"dtype", dtype}, {"pattern", pattern}}));
      if (!outcome.skipped.empty()) continue;
      expect_measured(outcome, dtype);
      EXPECT_GT(outcome.info.work.flops, 0);
      EXPECT_EQ(outcome.info.work.dtype, dtype);
    }
  }
}

TEST(Experiments, PingPongNeedsTwoThreads) {
  EXPECT_THAT(run(hot_case("limit.pingpong", {}, 1)).skipped, HasSubstr("two threads"));
  if (std::thread::hardware_concurrency() < 2) GTEST_SKIP() << "one CPU";
  const Outcome outcome = run(hot_case("limit.pingpong", {}, 2));
  expect_measured(outcome, "limit.pingpong");
  // A transfer between caches takes more than a cycle and less than a system call.
  EXPECT_GT(outcome.samples[0].elapsed_ns / 3, 1);
}

TEST(Experiments, BackendsOfOneCaseRunSideBySide) {
  Registry registry;
  register_native_experiments(registry);
  SharedObjects shared;
  // The inner case runs while the outer one holds its inputs, as two cases of a runner do.
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
  EXPECT_EQ(registry.all().size(), 12U);
  for (const Experiment& experiment : registry.all()) {
    EXPECT_NE(experiment.summary(), "") << experiment.name();
    EXPECT_EQ(experiment.is_limit(), experiment.name().starts_with("limit.")) << experiment.name();
    EXPECT_EQ(experiment.is_on_request(), !experiment.model().empty()) << experiment.name();
  }
}

}  // namespace
}  // namespace headroom::native
