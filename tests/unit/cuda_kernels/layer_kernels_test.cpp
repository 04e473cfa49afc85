// SPDX-License-Identifier: Apache-2.0
#include "emulated_device.h"
// emulated_device.h comes first: it defines CUDA's keywords.
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "headroom/experiment/bf16.h"
#include "headroom/experiment/random.h"
#include "headroom/workload/gpt_fast_workloads.h"
#include "headroom/workload/oracle.h"
#include "headroom_cuda/kernels/gemv_kernels.cuh"
#include "headroom_cuda/kernels/kernel_plan.h"
#include "headroom_cuda/kernels/norm_kernels.cuh"

namespace headroom::cuda {
namespace {

using emulated::Order;

template <typename T>
struct GemvCase {
  std::size_t rows, columns;
  std::vector<T> weights;
  std::vector<Bf16> x;
  std::vector<std::int64_t> chosen{};

  GemvCase(std::size_t rows_of_it, std::size_t columns_of_it, std::size_t matrices = 1)
      : rows(rows_of_it), columns(columns_of_it), weights(matrices * rows * columns), x(columns) {
    fill_random(std::span(weights), 1);
    fill_random(std::span(x), 2);
  }
  static const char* dtype() { return sizeof(T) == 1 ? "int8" : "bf16"; }

  std::vector<double> expected() const {
    std::vector<double> all;
    const std::vector<std::int64_t> matrices = chosen.empty() ? std::vector<std::int64_t>{0} : chosen;
    for (const std::int64_t matrix : matrices) {
      const auto* from =
          reinterpret_cast<const std::byte*>(weights.data() + std::size_t(matrix) * rows * columns);
      const std::vector<double> part = exact_gemv(alone(), dtype(), from, rows, to_doubles(x));
      all.insert(all.end(), part.begin(), part.end());
    }
    return all;
  }
};

template <typename T>
using WeightsOf = std::conditional_t<sizeof(T) == 1, Int8Weights, Bf16Weights>;

/// The previous launch writes x and the choice of matrices.
template <typename T, GemvForm kForm, bool kAligned>
void run(const GemvCase<T>& of, unsigned team_threads, unsigned blocks, Order order,
         unsigned threads = kGemvThreads) {
  const ExactMemory weights(of.weights), x(of.x), chosen(of.chosen);
  const std::size_t outputs = of.rows * std::max<std::size_t>(1, of.chosen.size());
  const ExactMemory y(outputs * sizeof(Bf16));
  GemvProblem problem;
  problem.matrix = {weights.begin(),
                    weights.end(),
                    of.chosen.empty() ? nullptr : chosen.as<std::int64_t>(),
                    static_cast<std::uint32_t>(of.rows),
                    static_cast<std::uint32_t>(of.columns),
                    static_cast<std::uint32_t>(outputs)};
  problem.x = x.as<std::uint16_t>();
  problem.y = y.as<std::uint16_t>();
  const auto end_of_x = x.written_later(), end_of_choice = chosen.written_later();
  const auto end = [&] {
    EXPECT_TRUE(y.is_untouched());
    end_of_x();
    end_of_choice();
  };
  emulated::launch_early(blocks, threads, order, end, [&] {
    gemv_kernel<WeightsOf<T>, kForm.vectors, kForm.rows, kAligned>(problem, team_threads);
  });
  SCOPED_TRACE(testing::Message() << of.dtype() << " [" << of.rows << "," << of.columns << "] by "
                                  << name_of(kForm) << ", teams of " << team_threads << ", blocks " << blocks
                                  << (order == Order::kForward ? ", forward" : ", backward"));
  expect_close({y.as<Bf16>(), outputs}, of.expected(), GemvWorkload::kTolerance);
}

template <typename Body>
void for_each_form(const Body& body) {
  [&]<std::size_t... kIndex>(std::index_sequence<kIndex...>) {
    (body.template operator()<kGemvForms[kIndex]>(), ...);
  }
  (std::make_index_sequence<kGemvForms.size()>{});
}

template <typename T>
class GemvKernel : public testing::Test {};
using Items = testing::Types<std::int8_t, Bf16>;
TYPED_TEST_SUITE(GemvKernel, Items);

TYPED_TEST(GemvKernel, EveryFormIsRightWhereRowsAreAligned) {
  const GemvCase<TypeParam> of(21, 1056);
  for_each_form([&]<GemvForm kForm>() {
    run<TypeParam, kForm, true>(of, 32, 2, Order::kForward);
    run<TypeParam, kForm, true>(of, 128, 3, Order::kBackward);
  });
}

TYPED_TEST(GemvKernel, IsRightForRowsThatBeginAnywhere) {
  for (const std::size_t columns : {1, 2, 3, 7, 15, 16, 17, 31, 127, 1023, 1025, 4097}) {
    const GemvCase<TypeParam> of(5, columns);
    run<TypeParam, kUnalignedForm, false>(of, 32, 2, columns % 4 == 1 ? Order::kForward : Order::kBackward);
  }
}

TYPED_TEST(GemvKernel, TeamsOfAWholeBlockAndRowsLongerThanThatAreRight) {
  const GemvCase<TypeParam> in_one(9, 8192), in_many(3, 20000);
  run<TypeParam, GemvForm{2, 4}, true>(in_one, 512, 1, Order::kForward);
  run<TypeParam, GemvForm{1, 4}, true>(in_many, 256, 1, Order::kBackward);
  const GemvCase<TypeParam> odd(3, 9001);
  run<TypeParam, kUnalignedForm, false>(odd, 512, 1, Order::kForward);
}

TYPED_TEST(GemvKernel, SmallBlocksAreRight) {
  const GemvCase<TypeParam> of(37, 4112);
  run<TypeParam, GemvForm{1, 4}, true>(of, 256, 3, Order::kForward, 256);
  run<TypeParam, GemvForm{4, 2}, true>(of, 64, 2, Order::kBackward, 256);
}

TYPED_TEST(GemvKernel, MoreBlocksThanRowsAreRight) {
  const GemvCase<TypeParam> of(3, 64);
  run<TypeParam, GemvForm{1, 1}, true>(of, 32, 7, Order::kForward);
}

TYPED_TEST(GemvKernel, ChosenMatricesComeOneBehindTheOther) {
  for (const std::size_t columns : {64, 65}) {
    GemvCase<TypeParam> of(11, columns, 8);
    of.chosen = {3, 5};
    if (columns == 64) run<TypeParam, GemvForm{1, 4}, true>(of, 32, 2, Order::kForward);
    if (columns == 65) run<TypeParam, kUnalignedForm, false>(of, 32, 2, Order::kForward);
    of.chosen = {7, 0};
    run<TypeParam, kUnalignedForm, false>(of, 64, 3, Order::kBackward);
  }
}

TYPED_TEST(GemvKernel, InfinitiesAndNansOfXReachEveryRow) {
  GemvCase<TypeParam> of(6, 100);
  of.x[70] = to_bf16(std::numeric_limits<float>::infinity());
  run<TypeParam, kUnalignedForm, false>(of, 32, 1, Order::kForward);
  of.x[99] = to_bf16(std::numeric_limits<float>::quiet_NaN());
  run<TypeParam, kUnalignedForm, false>(of, 32, 1, Order::kForward);
}

TEST(GemvKernelOfBf16, WhatIsNotFiniteStaysInItsRow) {
  for (const std::size_t columns : {65, 72}) {
    GemvCase<Bf16> of(8, columns);
    of.weights[2 * columns] = to_bf16(std::numeric_limits<float>::quiet_NaN());
    of.weights[5 * columns - 1] = to_bf16(-std::numeric_limits<float>::infinity());
    run<Bf16, kUnalignedForm, false>(of, 32, 2, Order::kForward);
    if (columns == 72) run<Bf16, GemvForm{1, 2}, true>(of, 32, 2, Order::kForward);
  }
}

TEST(GemvKernelOfInt8, MoreRowsThanABlockKeepsSumsOfAreDoneInPasses) {
  const GemvCase<std::int8_t> of(kPartials + 5, 16);
  run<std::int8_t, GemvForm{1, 4}, true>(of, 32, 1, Order::kForward);
}

TEST(GemvKernelOfInt8, EveryWeightIsExact) {
  GemvCase<std::int8_t> of(256, 16);
  std::ranges::fill(of.weights, std::int8_t{0});
  std::ranges::fill(of.x, to_bf16(1));
  for (int row = 0; row < 256; ++row) of.weights[std::size_t(row) * 16 + row % 16] = std::int8_t(row - 128);
  run<std::int8_t, GemvForm{1, 4}, true>(of, 32, 2, Order::kForward);
}

struct Layer {
  std::size_t outputs, inputs;
  std::vector<Bf16> weights, bias, gamma, beta;

  Layer(std::size_t outputs_of_it, std::size_t inputs_of_it, std::uint64_t seed)
      : outputs(outputs_of_it),
        inputs(inputs_of_it),
        weights(outputs * inputs),
        bias(outputs),
        gamma(outputs),
        beta(outputs) {
    fill_random(std::span(weights), seed);
    fill_random(std::span(bias), seed + 1);
    fill_random(std::span(gamma), seed + 2);
    fill_random(std::span(beta), seed + 3);
  }
  std::vector<double> exact(const std::vector<double>& x) const {
    const auto* from = reinterpret_cast<const std::byte*>(weights.data());
    return exact_layer_norm(exact_gemv(alone(), "bf16", from, outputs, x, to_doubles(bias)),
                            to_doubles(gamma), to_doubles(beta));
  }
};

struct DeviceLayer {
  ExactMemory weights, bias, gamma, beta, values, moments;
  const Layer& of;
  unsigned blocks;

  DeviceLayer(const Layer& layer, unsigned blocks_of_launch)
      : weights(layer.weights),
        bias(layer.bias),
        gamma(layer.gamma),
        beta(layer.beta),
        values(layer.outputs * sizeof(float)),
        moments(blocks_of_launch * sizeof(Moments)),
        of(layer),
        blocks(blocks_of_launch) {}
  GemvMatrix matrix() const {
    const auto rows = static_cast<std::uint32_t>(of.outputs);
    return {weights.begin(), weights.end(), nullptr, rows, static_cast<std::uint32_t>(of.inputs), rows};
  }
  UnnormedVector result() const { return {values.as<float>(), moments.as<Moments>(), blocks}; }
  NormParameters norm() const { return {gamma.as<std::uint16_t>(), beta.as<std::uint16_t>()}; }
};

struct Chain {
  Layer up, down;
  std::vector<Bf16> x;

  Chain(std::size_t size, std::size_t hidden) : up(hidden, size, 10), down(size, hidden, 20), x(size) {
    fill_random(std::span(x), 1);
  }
  std::vector<double> expected() const {
    std::vector<double> inner = up.exact(to_doubles(x));
    for (double& value : inner) value = to_float(to_bf16(static_cast<float>(value)));
    return down.exact(inner);
  }
};

template <GemvForm kForm, bool kAligned>
void run(const Chain& of, unsigned team_threads, unsigned blocks, Order order, int times = 1) {
  const DeviceLayer up(of.up, blocks), down(of.down, blocks);
  const ExactMemory x(of.x), finished(std::vector<std::uint32_t>{0}), y(of.x.size() * sizeof(Bf16));
  const LinearProblem first{up.matrix(), x.as<std::uint16_t>(), up.bias.as<std::uint16_t>(), up.result()};
  const NormedLinearProblem second{down.matrix(),
                                   up.result(),
                                   up.norm(),
                                   down.bias.as<std::uint16_t>(),
                                   down.result(),
                                   down.norm(),
                                   finished.as<std::uint32_t>(),
                                   y.as<std::uint16_t>()};
  for (int time = 0; time < times; ++time) {
    for (const ExactMemory* made : {&y, &up.values, &up.moments, &down.values, &down.moments}) {
      std::fill(made->begin(), made->end(), std::byte{0xff});
    }
    const auto end_of_x = x.written_later();
    const auto before_first = [&] {
      EXPECT_TRUE(up.values.is_untouched() && up.moments.is_untouched());
      end_of_x();
    };
    emulated::launch_early(blocks, kGemvThreads, order, before_first,
                           [&] { linear_kernel<kForm.vectors, kForm.rows, kAligned>(first, kWarp); });
    const auto end_of_values = up.values.written_later(), end_of_moments = up.moments.written_later();
    const auto before_second = [&] {
      EXPECT_TRUE(down.values.is_untouched() && down.moments.is_untouched() && y.is_untouched());
      end_of_values();
      end_of_moments();
    };
    emulated::launch_early(blocks, kGemvThreads, order, before_second, [&] {
      normed_linear_kernel<kForm.vectors, kForm.rows, kAligned>(second, team_threads);
    });
    SCOPED_TRACE(testing::Message() << of.x.size() << " to " << of.up.outputs << ", " << blocks
                                    << " blocks, time " << time);
    expect_close({y.as<Bf16>(), of.x.size()}, of.expected(), MlpWorkload::kTolerance);
    EXPECT_EQ(*finished.as<std::uint32_t>(), 0U);
  }
}

TEST(LinearKernels, TheChainIsRightWhereRowsAreAligned) {
  run<kLinearForm, true>(Chain(64, 104), 32, 3, Order::kBackward);
  run<kLinearForm, true>(Chain(8, 1040), 32, 1, Order::kForward);
}

TEST(LinearKernels, ASecondLaunchFindsWhatTheFirstFound) {
  run<kLinearForm, true>(Chain(16, 24), 32, 2, Order::kForward, 2);
}

TEST(LinearKernels, TheChainIsRightForRowsThatBeginAnywhere) {
  run<kUnalignedForm, false>(Chain(1, 101), 32, 1, Order::kBackward);
  run<kUnalignedForm, false>(Chain(65, 299), 64, 2, Order::kForward);
}

TEST(LinearKernels, ANanReachesWhatANormMixes) {
  Chain of(16, 24);
  of.up.weights[5] = to_bf16(std::numeric_limits<float>::quiet_NaN());
  run<kLinearForm, true>(of, 32, 1, Order::kForward);
  Chain infinite(16, 24);
  infinite.x[3] = to_bf16(std::numeric_limits<float>::infinity());
  run<kLinearForm, true>(infinite, 32, 1, Order::kForward);
}

struct NormCase {
  std::size_t rows, columns;
  std::vector<Bf16> x;
  std::vector<float> gamma, beta;

  NormCase(std::size_t rows_of_it, std::size_t columns_of_it)
      : rows(rows_of_it), columns(columns_of_it), x(rows * columns), gamma(columns), beta(columns) {
    fill_random(std::span(x), 1);
    fill_random(std::span(gamma), 2);
    fill_random(std::span(beta), 3);
  }
};

/// kVectors 0: the kernel for long rows.
template <int kVectors, bool kAligned>
void run(const NormCase& of, unsigned threads, unsigned blocks, Order order) {
  const ExactMemory x(of.x), gamma(of.gamma), beta(of.beta), y(of.x.size() * sizeof(Bf16));
  const NormProblem problem{x.as<std::uint16_t>(),
                            gamma.as<float>(),
                            beta.as<float>(),
                            y.as<std::uint16_t>(),
                            static_cast<std::uint32_t>(of.rows),
                            static_cast<std::uint32_t>(of.columns),
                            kNormEpsilon};
  if constexpr (kVectors == 0) {
    emulated::launch(blocks, threads, order, [&] { long_norm_kernel<kAligned>(problem); });
  } else {
    const auto end_of_x = x.written_later();
    const auto end = [&] {
      EXPECT_TRUE(y.is_untouched());
      end_of_x();
    };
    emulated::launch_early(blocks, threads, order, end, [&] { norm_kernel<kVectors, kAligned>(problem); });
  }
  SCOPED_TRACE(testing::Message() << "[" << of.rows << "," << of.columns << "] by " << threads
                                  << " threads of " << kVectors << " vectors, " << blocks << " blocks"
                                  << (order == Order::kForward ? ", forward" : ", backward"));
  expect_close({y.as<Bf16>(), of.x.size()},
               exact_layer_norm(alone(), of.x, to_doubles(of.gamma), to_doubles(of.beta)),
               LayerNormWorkload::kTolerance);
}

TEST(NormKernel, RowsOfAWarpAndOfABlockAreRight) {
  const NormCase narrow(9, 256), wide(5, 2048);
  for (const Order order : {Order::kForward, Order::kBackward}) {
    run<1, true>(narrow, 32, 2, order);
    run<2, true>(narrow, 32, 3, order);
    run<4, true>(narrow, 32, 4, order);
    run<1, true>(wide, 256, 2, order);
    run<2, true>(wide, 128, 2, order);
    run<4, true>(wide, 64, 2, order);
    run<0, true>(wide, 64, 2, order);
  }
}

TEST(NormKernel, RowsThatEndBeforeTheThreadsAreRight) {
  for (const std::size_t columns : {8, 16, 1024, 1032, 1960}) {
    const NormCase of(3, columns);
    run<1, true>(of, 256, 1, Order::kForward);
    run<4, true>(of, 64, 1, Order::kBackward);
    run<0, true>(of, 64, 1, Order::kBackward);
  }
}

TEST(NormKernel, RowsThatBeginAnywhereAreRight) {
  for (const std::size_t columns : {1, 2, 3, 7, 9, 31, 255, 257, 1023}) {
    const NormCase of(7, columns);
    run<2, false>(of, 128, 2, Order::kForward);
    run<0, false>(of, 64, 2, Order::kBackward);
  }
  const NormCase of(3, 4095);
  run<1, false>(of, 512, 1, Order::kForward);
  run<1, false>(of, 512, 2, Order::kBackward);
  run<0, false>(of, 512, 2, Order::kForward);
}

TEST(NormKernel, AMeanFarFromZeroCostsNoDigits) {
  NormCase of(2, 1024);
  for (std::size_t i = 0; i < of.x.size(); ++i) of.x[i] = to_bf16(i % 3 == 0 ? 1000.0F : 1008.0F);
  run<1, true>(of, 128, 1, Order::kForward);
  run<0, true>(of, 128, 1, Order::kForward);
}

TEST(NormKernel, EqualValuesGiveBeta) {
  NormCase of(2, 72);
  std::ranges::fill(of.x, to_bf16(3));
  run<4, true>(of, 32, 1, Order::kForward);
}

TEST(NormKernel, WhatIsNotFiniteStaysInItsRow) {
  for (const std::size_t columns : {513, 520}) {
    NormCase of(5, columns);
    of.x[columns] = to_bf16(std::numeric_limits<float>::infinity());
    of.x[4 * columns - 1] = to_bf16(std::numeric_limits<float>::quiet_NaN());
    run<2, false>(of, 64, 2, Order::kForward);
    run<0, false>(of, 64, 2, Order::kForward);
    if (columns == 520) run<2, true>(of, 64, 2, Order::kForward);
  }
}

TEST(ConvertKernel, EveryInt8IsExactWhateverTheirNumber) {
  for (const std::size_t count : {1, 15, 16, 17, 1000, 20001}) {
    std::vector<std::int8_t> values(count);
    for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<std::int8_t>(i % 256);
    const ExactMemory from(values), to(count * sizeof(Bf16));
    emulated::launch(2, 256, emulated::Order::kForward,
                     [&] { convert_kernel(from.as<std::int8_t>(), to.as<std::uint16_t>(), count); });
    for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(to_float(to.as<Bf16>()[i]), values[i]) << i;
  }
}

}  // namespace
}  // namespace headroom::cuda
