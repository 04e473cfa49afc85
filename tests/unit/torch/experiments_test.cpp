// SPDX-License-Identifier: Apache-2.0
#include <ATen/ATen.h>
#include <ATen/Context.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <tuple>

#include "headroom/base/error.h"
#include "headroom/experiment/registry.h"
#include "headroom/workload/gpt_fast_workloads.h"
#include "headroom_native/llm/decoder.h"
#include "headroom_torch/collectives/collectives.h"
#include "headroom_torch/experiments.h"
#include "headroom_torch/llm/aten_decoder.h"
#include "headroom_torch/tensors/libtorch.h"
#include "headroom_torch/tensors/tensors.h"

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
  std::set<std::size_t> copies;
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

// A place with its own clock simulates a GPU.
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

/// oneDNN sums in f32 (with AVX-512), ATen's own loops in a type that depends on libtorch's version.
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
      if (info.sums_in == Precision::kF32) {
        EXPECT_LE(info.tolerance, exact) << "not loosened";
      }
      // Proof of sums in bf16.
      if (info.sums_in == Precision::kBf16) {
        EXPECT_GT(info.max_error, GemvWorkload::kTolerance.relative);
      }
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
    // A sample has 12 iterations after a lead-in of one.
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
    EXPECT_LT(on_gpu.relative, 0.02);
    EXPECT_EQ(on_gpu.sums_in, precision);
  }
}

LlmConfig small(const std::string& dtype, std::size_t experts) {
  LlmConfig config;
  config.model = "small";
  config.dtype = dtype;
  config.layers = 2;
  config.dim = 96;
  config.heads = 6;
  config.kv_heads = 2;
  config.hidden = 160;
  config.vocab = 73;
  config.experts = experts;
  config.chosen = experts > 1 ? 2 : 1;
  return config;
}

double rms_of(std::span<const double> values) {
  double squares = 0;
  for (const double value : values) squares += value * value;
  return std::sqrt(squares / static_cast<double>(values.size()));
}

class AtenDecoderTest
    : public ::testing::TestWithParam<std::tuple<std::string, std::size_t, AtenDecoder::Int8>> {
 protected:
  const LlmConfig config_ = small(std::get<0>(GetParam()), std::get<1>(GetParam()));
  const LlmWeights weights_{config_, 9, fresh_threads(1)};
  AtenDecoder aten_{weights_, 32, 20, 0.8, std::get<2>(GetParam())};
};

TEST_P(AtenDecoderTest, LogitsAgreeWithFloat64) {
  const std::vector<std::int32_t> tokens{1, 40, 7, 7, 22};
  const std::span<const std::int32_t> all(tokens);
  aten_.forward(all.first(3));
  aten_.forward(all.subspan(3, 1));
  const std::span<const float> logits = aten_.forward(all.last(1));
  const ExactLogits exact = exact_logits(fresh_threads(1), weights_, all, aten_.routing());
  EXPECT_LE(exact.routing_gap, 0.05);
  const double rms = rms_of(exact.logits);
  for (std::size_t i = 0; i < logits.size(); ++i) EXPECT_NEAR(logits[i], exact.logits[i], 0.06 * rms) << i;
}

TEST_P(AtenDecoderTest, GreedyTokensAreThoseOfTheNativeDecoder) {
  using native::LlmDecoder;
  native::ThreadPool pool(2);
  const native::Isa isa = native::available_isas().back();
  LlmDecoder native(weights_, pool, isa, 32, native::TopKSampler(20, 0.8F, 1, isa));
  std::vector<std::int32_t> tokens = {1, 2, 3};
  std::span<const float> ours = native.forward(tokens), theirs = aten_.forward(tokens);
  int clear = 0;
  for (int step = 0; step < 24; ++step) {
    const ExactLogits exact = exact_logits(fresh_threads(1), weights_, tokens, native.routing());
    std::vector<double> sorted = exact.logits;
    std::ranges::sort(sorted, std::greater<>());
    const std::int32_t token = native::greedy_token(ours);
    // bf16's error allows either.
    if (sorted[0] - sorted[1] > 0.12 * rms_of(exact.logits)) {
      ++clear;
      EXPECT_EQ(native::greedy_token(theirs), token) << step;
    }
    tokens.push_back(token);
    ours = native.forward(std::span(&token, 1));
    theirs = aten_.forward(std::span(&token, 1));
  }
  EXPECT_GE(clear, 12) << "too few steps that show anything";
}

TEST_P(AtenDecoderTest, SamplesAmongTheLargest) {
  const std::span<const float> logits = aten_.forward(std::vector<std::int32_t>{5});
  std::vector<float> sorted(logits.begin(), logits.end());
  std::ranges::sort(sorted, std::greater<>());
  for (int i = 0; i < 50; ++i) EXPECT_GE(logits[static_cast<std::size_t>(aten_.sample())], sorted[19]);
}

INSTANTIATE_TEST_SUITE_P(Models, AtenDecoderTest,
                         ::testing::Combine(::testing::Values("bf16", "int8"), ::testing::Values(1U, 5U),
                                            ::testing::Values(AtenDecoder::Int8::kFresh,
                                                              AtenDecoder::Int8::kIntoPlace)),
                         [](const auto& suite) {
                           return std::get<0>(suite.param) +
                                  (std::get<1>(suite.param) > 1 ? "_experts" : "_dense") +
                                  (std::get<2>(suite.param) == AtenDecoder::Int8::kFresh ? "" : "_in_place");
                         });

/// `lanes` interleaved parts; their sum is bf16 too.
Product in_bf16(std::int64_t lanes) {
  return [lanes](const at::Tensor& weights, const at::Tensor& x) {
    const std::int64_t columns = weights.size(-1);
    at::Tensor parts = at::zeros({weights.size(0), lanes}, at::kBFloat16);
    for (std::int64_t k = 0; k + lanes <= columns; k += lanes)
      parts = parts + weights.narrow(-1, k, lanes) * x.narrow(0, k, lanes);
    for (std::int64_t k = columns - columns % lanes; k < columns; ++k)
      parts.select(1, 0).add_(weights.select(-1, k) * x[k]);
    at::Tensor sum = parts.select(1, 0).clone();
    for (std::int64_t lane = 1; lane < lanes; ++lane) sum = sum + parts.select(1, lane);
    return sum;
  };
}

/// Exact per block, rounded to bf16, added in bf16.
Product in_blocks(std::int64_t blocks) {
  return [blocks](const at::Tensor& weights, const at::Tensor& x) {
    const std::int64_t size = weights.size(-1) / blocks;
    at::Tensor sum = at::zeros({weights.size(0)}, at::kBFloat16);
    for (std::int64_t block = 0; block < blocks; ++block) {
      const at::Tensor part = weights.narrow(-1, block * size, size).to(at::kDouble);
      sum = sum + at::mv(part, x.narrow(0, block * size, size).to(at::kDouble)).to(at::kBFloat16);
    }
    return sum;
  };
}

at::Tensor in_f32(const at::Tensor& weights, const at::Tensor& x) {
  return at::matmul(weights.to(at::kFloat), x.to(at::kFloat)).to(at::kBFloat16);
}

TEST(SumPrecision, IsF32WhereOnlyTheResultIsRounded) {
  for (const std::int64_t size : {1, 3, 64, 100, 1024, 4096})
    EXPECT_EQ(precision_of_sums(in_f32, {size, size}, Place{}), Precision::kF32) << size;
  EXPECT_EQ(precision_of_sums(in_f32, {2, 256, 256}, Place{}), Precision::kF32);
}

TEST(SumPrecision, IsBf16InHoweverManyPartsTheSumIsMade) {
  for (const std::int64_t lanes : {1, 2, 8, 16, 32}) {
    for (const std::int64_t size : {128, 1000, 1024})
      EXPECT_EQ(precision_of_sums(in_bf16(lanes), {size, size}, Place{}), Precision::kBf16)
          << lanes << " lanes, " << size;
  }
  for (const std::int64_t blocks : {2, 3, 4})
    EXPECT_EQ(precision_of_sums(in_blocks(blocks), {1024, 1020}, Place{}), Precision::kBf16) << blocks;
}

TEST(SumPrecision, AnOperatorThatAnswersNoNumberDoesNotPassForF32) {
  const auto nan = [](const at::Tensor& weights, const at::Tensor& x) { return at::mv(weights, x) * NAN; };
  EXPECT_EQ(precision_of_sums(nan, {64, 64}, Place{}), Precision::kBf16);
}

TEST(SumPrecision, NoMoreRowsAreMadeThanNeeded) {
  std::int64_t rows = 0;
  const auto product = [&](const at::Tensor& weights, const at::Tensor& x) {
    rows = weights.size(-2);
    return in_f32(weights, x);
  };
  precision_of_sums(product, {1 << 20, 16}, Place{});
  EXPECT_EQ(rows, kProbedRows);
}

const char* const kDtypes[] = {"f32", "f64", "f16", "i32", "i64"};

TEST(CollectivePattern, TellsRanksAndPlacesApartAndAddsUp) {
  const CollectivePattern pattern(5, 3);
  for (std::int64_t place = 0; place < 100; ++place) {
    int sum = 0;
    for (int rank = 0; rank < 5; ++rank) sum += pattern.value(rank, place);
    EXPECT_EQ(pattern.sum(place), sum);
    EXPECT_NE(pattern.value(0, place), pattern.value(1, place));
    EXPECT_NE(pattern.value(0, place), pattern.value(0, place + 1));
  }
}

TEST(CollectiveData, WhatWasFilledIsRightInEveryType) {
  const CollectivePattern pattern(2, 1);
  const auto expected = [&](std::int64_t place) { return pattern.sum(place); };
  for (const char* dtype : kDtypes) {
    at::Tensor data = at::zeros({257}, at::TensorOptions().dtype(collective_scalar_type(dtype)));
    fill_with(data, expected);
    EXPECT_EQ(mismatch_text(data, expected), "") << dtype;
    data[12] = expected(12) + 1;
    EXPECT_EQ(mismatch_text(data, expected).substr(0, 20), "element 12 of 257 is") << dtype;
    EXPECT_NE(mismatch_text(data, expected).find("(1 is wrong)"), std::string::npos) << dtype;
    poison(data);
    EXPECT_NE(mismatch_text(data, expected).find("(257 are wrong)"), std::string::npos) << dtype;
  }
}

TEST(CollectiveData, OtherTypesAreRefused) {
  EXPECT_THROW(collective_scalar_type("bf16"), Error);
  at::Tensor bytes = at::zeros({4}, at::TensorOptions().dtype(at::kByte));
  EXPECT_THROW(poison(bytes), Error);
}

}  // namespace
}  // namespace headroom::torch_runner
