// SPDX-License-Identifier: Apache-2.0
#include "headroom_cuda/gpt_fast/gather_gemv.h"

#include <fmt/format.h>

#include "headroom/workload/gather_gemv_workload.h"
#include "headroom_cuda/device/device_case.h"
#include "headroom_cuda/device/device_inputs.h"
#include "headroom_cuda/device/kernel_plan.h"
#include "headroom_cuda/kernels/gemv.h"
#include "headroom_cuda/peers/peers.h"
#include "headroom_cuda_device/device.h"
#include "headroom_cuda_device/launch_samples.h"

namespace headroom::cuda {
namespace {

constexpr std::size_t kChosen = GatherGemvWorkload::kChosen;
/// Pairs of experts that take turns in each copy of the stack.
constexpr std::size_t kPairs = GatherGemvWorkload::kExperts / kChosen;

std::vector<std::int64_t> pairs() {
  std::vector<std::int64_t> all;
  for (std::size_t i = 0; i < kPairs; ++i) {
    for (const std::size_t expert : GatherGemvWorkload::pair(i)) {
      all.push_back(static_cast<std::int64_t>(expert));
    }
  }
  return all;
}

/// For a library: the two matrices of a turn are as far apart as their numbers.
PeerMatrices peer_matrices(const GatherGemvWorkload& inputs, const DeviceCopies& experts) {
  PeerMatrices matrices{inputs.dtype, inputs.size, inputs.size, kChosen, {}, {}, nullptr, nullptr};
  for (std::size_t turn = 0; turn < inputs.experts.copies() * kPairs; ++turn) {
    const GatherGemvWorkload::Pair& pair = GatherGemvWorkload::pair(turn);
    matrices.first.push_back(experts.copy(turn / kPairs) + pair[0] * inputs.matrix_bytes());
    matrices.apart.push_back(static_cast<std::int64_t>(pair[1] - pair[0]));
  }
  return matrices;
}

}  // namespace

void gather_gemv(State& state) {
  const auto device = device_of(state);
  const auto inputs = gather_gemv_workload(state, fresh_threads(state.threads()));
  const std::uint32_t size = device_size(state, inputs->size, "rows");
  const std::uint32_t outputs = device_size(state, kChosen * inputs->size, "rows");
  const auto experts = shared_copies(
      state, fmt::format("gather_gemv D={} dtype={}", inputs->size, inputs->dtype), inputs->experts);
  const DeviceBuffer x = uploaded(state, inputs->x);
  const DeviceBuffer chosen = uploaded(state, pairs());
  DeviceBuffer y(state, inputs->expected.size() * sizeof(Bf16));

  Launch launch;
  if (state.backend() == "cuda") {
    const GemvPlan plan = noted(state, *device,
                                gemv_plan(outputs, size * item_bytes(inputs->dtype),
                                          static_cast<unsigned>(device->multiprocessors()), state.variant()));
    launch = [=, &inputs = *inputs, &experts = *experts, pairs = chosen.as<const std::int64_t>(),
              from = x.as<std::uint16_t>(),
              to = y.as<std::uint16_t>()](std::size_t turn, cudaStream_t stream) {
      const std::size_t copy = turn / kPairs;
      const GemvMatrix matrix{
          experts.copy(copy), experts.end(copy), pairs + kChosen * (turn % kPairs), size, size, outputs};
      launch_gemv({matrix, from, to}, inputs.dtype, plan, stream);
    };
  } else {
    PeerMatrices matrices = peer_matrices(*inputs, *experts);
    matrices.x = x.data();
    matrices.y = y.data();
    launch = peer_launch(state, *device, matrices);
  }
  verify_on_device<Bf16>(state, *device, launch, y, inputs->expected, GatherGemvWorkload::kTolerance);
  measure_on_device(state, *device, launch);
}

}  // namespace headroom::cuda
