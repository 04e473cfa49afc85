// SPDX-License-Identifier: Apache-2.0
#include "headroom_torch/cuda/cuda_place.h"

#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <c10/util/Exception.h>

#include "headroom/base/error.h"
#include "headroom_cuda_device/device.h"
#include "headroom_cuda_device/launch_samples.h"
#include "headroom_torch/cuda/case_memory.h"
#include "headroom_torch/tensors/compat.h"
#include "headroom_torch/tensors/failure_text.h"

namespace headroom::torch_runner {
namespace {

constexpr c10::DeviceIndex kDevice = 0;

void run_on_cuda(State& state, PlacedExperiment run) {
  const auto device = cuda::device_of(state);
  state.note("libtorch", kTorchVersion);
  const c10::cuda::CUDAStream stream = c10::cuda::getStreamFromExternal(device->stream(), kDevice);
  const c10::cuda::CUDAStreamGuard guard(stream);
  CaseMemory memory(stream);
  const auto measure = [&](State& measured, const Place::Call& call) {
    const cuda::Launch launch = [&](std::size_t copy, cudaStream_t /*ATen's current one*/) { call(copy); };
    cuda::measure_on_device(measured, *device, launch,
                            [&](const std::function<void()>& capture) { memory.around_capture(capture); });
  };
  run(state, {c10::Device(c10::kCUDA, kDevice), measure});
}

}  // namespace

Experiment::Function on_cuda(PlacedExperiment run) {
  return [run](State& state) {
    try {
      run_on_cuda(state, run);
    } catch (const c10::OutOfMemoryError& error) {
      state.skip(failure_text(error));
    } catch (const c10::Error& error) {
      throw Error(failure_text(error));
    }
  };
}

}  // namespace headroom::torch_runner
