// SPDX-License-Identifier: Apache-2.0
#include "headroom_cuda/llm/llm_decode.h"

#include <fmt/format.h>

#include <chrono>

#include "headroom/workload/llm_workload.h"
#include "headroom_cuda/llm/device_decoder.h"
#include "headroom_cuda/llm/device_llm.h"
#include "headroom_cuda_device/device.h"
#include "headroom_cuda_device/launch_samples.h"

namespace headroom::cuda {

void llm_decode(State& state, const LlmConfig& config) {
  const auto device = device_of(state);
  const Team team = fresh_threads(state.threads());
  const auto workload = llm_workload(state, config, team, LlmIteration::kGeneration);
  const auto start = std::chrono::steady_clock::now();
  const LlmConfig& made = workload->weights.config();
  const auto model =
      state.shared<DeviceLlm>(fmt::format("llm on the device {} {} layers={} seed={}", made.model, made.dtype,
                                          made.layers, state.seed()),
                              [&] { return std::make_shared<DeviceLlm>(state, workload->weights); });
  DeviceDecoder decoder(state, *device, *model, workload->positions(),
                        {LlmWorkload::kTopK, LlmWorkload::kTemperature, state.seed()});
  state.note("variant", decoder.plans());
  state.note("pass", fmt::format("{} launches in a graph", decoder.launches()));
  verify_llm(state, *workload, decoder, team, llm_tolerance(made, false),
             std::chrono::steady_clock::now() - start, LlmIteration::kGeneration);
  decoder.start_with(workload->prompt);
  const Launch generation = [&](std::size_t /*copy*/, cudaStream_t /*the device's own*/) {
    decoder.launch_start(workload->prompt.size());
    for (std::size_t token = 1; token < workload->new_tokens; ++token) decoder.launch_next();
  };
  measure_on_device(state, *device, generation, {}, Capture::kNone);
}

}  // namespace headroom::cuda
