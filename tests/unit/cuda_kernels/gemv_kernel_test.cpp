// SPDX-License-Identifier: Apache-2.0
#include "emulated_device.h"
// Kernels need CUDA's words, which are above.
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "exact_memory.h"
#include "expect_close.h"
#include "headroom/experiment/bf16.h"
#include "headroom/experiment/random.h"
#include "headroom/workload/gemv_workload.h"
#include "headroom/workload/oracle.h"
#include "headroom_cuda/kernels/gemv_kernels.cuh"
#include "headroom_cuda/kernels/gemv_plan.h"

namespace headroom::cuda {
namespace {

using emulated::Order;

/// Weights of `matrices` matrices and x, at random, and y in float64 for those that are chosen.
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
      const std::vector<double> part = exact_gemv(alone(), dtype(), from, rows, as_doubles(x));
      all.insert(all.end(), part.begin(), part.end());
    }
    return all;
  }
};

template <typename T>
using WeightsOf = std::conditional_t<sizeof(T) == 1, Int8Weights, Bf16Weights>;

/// As an early launch: x, and which matrices are chosen, come from the launch before.
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

/// Calls body.operator()<form>() for each that is compiled.
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

}  // namespace
}  // namespace headroom::cuda
