// SPDX-License-Identifier: Apache-2.0
// The experiments at a place with a clock of its own, as a GPU is one. The place is the CPU here: no GPU is
// needed.
#include <ATen/Context.h>
#include <gmock/gmock.h>

#include <set>
#include <string>

#include "headroom/experiment/registry.h"
#include "headroom/workload/gemv_workload.h"
#include "headroom_torch/experiments.h"
#include "headroom_torch/tensors/compat.h"

namespace headroom::torch_runner {
namespace {

constexpr double kNsOfAnIteration = 1000;

class TwoSamples final : public SampleSource {
 public:
  void ready(const CaseInfo& said) override { info = said; }
  std::optional<SampleRequest> next() override {
    if (samples.size() == 2) return std::nullopt;
    return SampleRequest{12, 1};
  }
  void deliver(const Sample& sample) override { samples.push_back(sample); }

  CaseInfo info;
  std::vector<Sample> samples;
};

struct Ran {
  CaseInfo info;
  std::vector<Sample> samples;
  std::set<std::size_t> copies;  ///< that calls were on
};

struct Case {
  std::string experiment;
  AxisTexts axes;
};

const std::vector<Case>& cases() {
  static const std::vector<Case> all{
      {"gemv", {{"D", "1024"}, {"dtype", "int8"}}},
      {"gemv", {{"D", "1024"}, {"dtype", "bf16"}}},
      {"gather_gemv", {{"D", "1024"}, {"dtype", "int8"}}},
      {"layer_norm", {{"D", "64"}, {"BS", "32"}, {"dtype", "bf16"}}},
      {"mlp_layer_norm_gelu", {{"D", "1024"}, {"hidden", "1024"}, {"dtype", "bf16"}}}};
  return all;
}

CaseSpec spec_of(const Case& one, const std::string& backend) {
  CaseSpec spec;
  spec.experiment = one.experiment;
  spec.axes = one.axes;
  spec.backend = backend;
  return spec;
}

/// Runs a case at a place that has a cache of 1 MiB and says that each iteration took a microsecond.
Ran run_placed(const Case& one, const std::string& backend) {
  Ran ran;
  const auto measure = [&ran](State& state, const Place::Call& call) {
    std::size_t copy = 0;
    state.measure_batches([&](std::uint64_t iterations) {
      for (std::uint64_t i = 0; i < iterations; ++i) {
        ran.copies.insert(copy);
        call(copy);
        copy = (copy + 1) % state.copies();
      }
      return kNsOfAnIteration * static_cast<double>(iterations);
    });
  };
  const auto at = [&](PlacedExperiment run) {
    return [&measure, run](State& state) { run(state, {c10::kCPU, measure}); };
  };
  Registry registry;
  SeedExperiments experiments = placed_experiments(at);
  add_seed_experiments(registry, experiments, "cuda");
  TwoSamples source;
  SharedObjects shared;
  State state(spec_of(one, backend), source, shared);
  state.last_level_cache(std::size_t{1} << 20);
  registry.find(one.experiment)->function()(state);
  ran.info = source.info;
  ran.samples = source.samples;
  return ran;
}

CaseInfo run_on_cpu(const Case& one) {
  Registry registry;
  register_torch_experiments(registry);
  TwoSamples source;
  SharedObjects shared;
  State state(spec_of(one, "aten"), source, shared);
  state.last_level_cache(std::size_t{1} << 20);
  registry.find(one.experiment)->function()(state);
  return source.info;
}

TEST(PlacedExperiments, AreVerifiedAndTimedByTheClockOfTheirPlace) {
  for (const Case& one : cases()) {
    for (const char* backend : {"aten_cuda", "aten_cuda_out"}) {
      SCOPED_TRACE(one.experiment + " " + backend);
      const Ran ran = run_placed(one, backend);
      EXPECT_TRUE(ran.info.verified);
      ASSERT_EQ(ran.samples.size(), 2U);
      for (const Sample& sample : ran.samples)
        EXPECT_EQ(sample.elapsed_ns, kNsOfAnIteration * static_cast<double>(sample.iterations));
    }
  }
}

/// Without oneDNN, whose products are summed in f32 and which ATen asks on CPUs with AVX-512 only, ATen has
/// loops of its own, as on any other CPU. What those sum in hangs on libtorch's version.
class WithoutOnednn {
 public:
  WithoutOnednn() { at::globalContext().setUserEnabledMkldnn(false); }
  ~WithoutOnednn() { at::globalContext().setUserEnabledMkldnn(true); }
  WithoutOnednn(const WithoutOnednn&) = delete;
  WithoutOnednn& operator=(const WithoutOnednn&) = delete;
};

TEST(PlacedExperiments, AreRightForWhatTheySumInWithoutOnednn) {
  const WithoutOnednn without;
  for (const Case& one : cases()) {
    for (const char* backend : {"aten_cuda", "aten_cuda_out"}) {
      SCOPED_TRACE(one.experiment + " " + backend);
      const CaseInfo info = run_placed(one, backend).info;
      EXPECT_TRUE(info.verified);
      EXPECT_LE(info.max_error, info.tolerance);
      ASSERT_TRUE(info.sums_in);
      const double exact = one.experiment.ends_with("gemv") ? GemvWorkload::kTolerance.relative : 12 * 0x1p-8;
      if (info.sums_in == Precision::kF32) EXPECT_LE(info.tolerance, exact) << "not loosened";
      // What is summed in bf16 is off by more than sums in f32 may be: that they are is no guess.
      if (info.sums_in == Precision::kBf16) EXPECT_GT(info.max_error, GemvWorkload::kTolerance.relative);
    }
  }
#if !HEADROOM_TORCH_AT_LEAST(2, 0)
  EXPECT_EQ(run_placed(cases()[0], "aten_cuda").info.sums_in, Precision::kBf16) << "1.13 adds as bf16";
#endif
}

TEST(PlacedExperiments, GoThroughAllCopiesOfTheirInputs) {
  for (const Case& one : cases()) {
    SCOPED_TRACE(one.experiment);
    const Ran ran = run_placed(one, "aten_cuda");
    EXPECT_GE(ran.info.copies, 2U);
    // A sample has 12 iterations and a lead-in of one.
    EXPECT_EQ(ran.copies.size(), std::min<std::size_t>(ran.info.copies, 26));
  }
}

TEST(PlacedExperiments, HaveTheWorkOfTheCpusOnesWhereverTheyRun) {
  for (const Case& one : cases()) {
    SCOPED_TRACE(one.experiment);
    const Work work = run_placed(one, "aten_cuda").info.work;
    const Work expected = run_on_cpu(one).work;
    EXPECT_GT(work.bytes, 0);
    EXPECT_EQ(work.bytes, expected.bytes);
    EXPECT_EQ(work.bytes_written, expected.bytes_written);
    EXPECT_EQ(work.flops, expected.flops);
    EXPECT_EQ(work.dtype, expected.dtype);
  }
}

TEST(PlacedExperiments, ProductsOfAGpuMayRoundThePartsOfASumAndNoneOfItsTerms) {
  const Tolerance exact = GemvWorkload::kTolerance;
  EXPECT_EQ(product_tolerance(exact, Place{}, Precision::kF32, {1024}, 1024).relative, exact.relative);
  EXPECT_GT(product_tolerance(exact, Place{}, Precision::kBf16, {1024}, 1024).relative, 0.2);
  for (const Precision precision : {Precision::kF32, Precision::kBf16}) {
    const Tolerance on_gpu =
        product_tolerance(exact, {c10::Device(c10::kCUDA, 0), {}}, precision, {16384}, 16384);
    EXPECT_GT(on_gpu.relative, exact.relative);
    // A wrong or missing product is off by about the root mean square.
    EXPECT_LT(on_gpu.relative, 0.02);
    EXPECT_EQ(on_gpu.sums_in, precision);
  }
}

}  // namespace
}  // namespace headroom::torch_runner
