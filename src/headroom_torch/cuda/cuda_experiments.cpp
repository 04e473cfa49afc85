// SPDX-License-Identifier: Apache-2.0
#include <ATen/cuda/CUDAGraph.h>
#include <c10/core/Device.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <c10/util/Exception.h>

#include <cstddef>
#include <functional>

#include "headroom/base/error.h"
#include "headroom/experiment/experiment.h"
#include "headroom/experiment/registry.h"
#include "headroom_cuda_device/cupti/cupti_recorder.h"
#include "headroom_cuda_device/device.h"
#include "headroom_cuda_device/launch_timer.h"
#include "headroom_torch/experiments.h"
#include "headroom_torch/tensors/libtorch.h"
#include "headroom_torch/tensors/tensors.h"
#include "headroom_trace/recording/recorder.h"

namespace headroom::torch_runner {

/// A captured graph keeps writing where its tensors were, so captures allocate from a private pool, as in
/// at::cuda::CUDAGraph. A case's graphs share it: iterations write before they read, in stream order.
class CaseMemory {
 public:
  explicit CaseMemory(c10::cuda::CUDAStream stream);
  /// Destroy after the graphs and tensors. Returns memory to the driver.
  ~CaseMemory();
  CaseMemory(const CaseMemory&) = delete;
  CaseMemory& operator=(const CaseMemory&) = delete;

  void around_capture(const std::function<void()>& capture);

 private:
  c10::cuda::CUDAStream stream_;
  c10::MempoolId_t pool_;
  std::size_t captures_ = 0;
};

namespace {

namespace allocator = c10::cuda::CUDACachingAllocator;

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

CaseMemory::CaseMemory(c10::cuda::CUDAStream stream)
    : stream_(stream), pool_(at::cuda::graph_pool_handle()) {}

CaseMemory::~CaseMemory() {
  try {
    for (; captures_ > 0; --captures_) allocator::releasePool(stream_.device_index(), pool_);
    allocator::emptyCache();
  } catch (const std::exception&) {
    // A failed device has been reported already.
  }
}

void CaseMemory::around_capture(const std::function<void()>& capture) {
  const c10::DeviceIndex device = stream_.device_index();
  allocator::beginAllocateToPool(device, pool_,
                                 [ours = stream_.stream()](cudaStream_t stream) { return stream == ours; });
  ++captures_;
  try {
    capture();
  } catch (...) {
    allocator::endAllocateToPool(device, pool_);
    throw;
  }
  allocator::endAllocateToPool(device, pool_);
}

/// Runs on the first GPU of CUDA_VISIBLE_DEVICES, timed on the device. Skips a case that exceeds device
/// memory; throws Error for other failures.
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

/// gpt-fast's benchmarks in ATen operators. Backends: "aten_cuda", with new outputs in each call;
/// "aten_cuda_out", preallocated. The registry then requires a CUDA device.
void register_torch_cuda_experiments(Registry& registry) {
  registry.require_with(cuda::require_device);
  registry.trace_with(trace::record_call<cuda::CuptiRecorder>);
  registry.end_where_lost_with(cuda::lost_context);
  registry.describe_devices_with(cuda::describe_devices);
  SeedExperiments experiments = placed_experiments(on_cuda);
  for (SeedExperiment* one : {&experiments.gemv, &experiments.gather_gemv})
    one->backends = {"aten_cuda", "aten_cuda_out"};
  // On CUDA, native_layer_norm.out copies its result into the output.
  for (SeedExperiment* one : {&experiments.layer_norm, &experiments.mlp_layer_norm_gelu})
    one->backends = {"aten_cuda"};
  add_seed_experiments(registry, experiments, "cuda");
}

}  // namespace headroom::torch_runner

namespace {

/// Runs before main().
[[maybe_unused]] const bool registered =
    (headroom::torch_runner::register_torch_cuda_experiments(headroom::registry()), true);

}  // namespace
