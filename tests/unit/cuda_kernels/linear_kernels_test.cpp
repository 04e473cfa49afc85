// SPDX-License-Identifier: Apache-2.0
#include "emulated_device.h"
// Kernels need CUDA's words, which are above.
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <vector>

#include "exact_memory.h"
#include "expect_close.h"
#include "headroom/experiment/bf16.h"
#include "headroom/experiment/random.h"
#include "headroom/workload/mlp_workload.h"
#include "headroom/workload/oracle.h"
#include "headroom_cuda/kernels/gemv_plan.h"
#include "headroom_cuda/kernels/linear_kernels.cuh"

namespace headroom::cuda {
namespace {

using emulated::Order;

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
    return exact_layer_norm(exact_gemv(alone(), "bf16", from, outputs, x, as_doubles(bias)),
                            as_doubles(gamma), as_doubles(beta));
  }
};

/// A layer in memory of the device, and what its launch leaves.
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
    std::vector<double> inner = up.exact(as_doubles(x));
    for (double& value : inner) value = to_float(to_bf16(static_cast<float>(value)));
    return down.exact(inner);
  }
};

/// Both as early launches, each reading what the one before it wrote. The second layer with teams of
/// `team_threads`.
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

}  // namespace
}  // namespace headroom::cuda
