// SPDX-License-Identifier: Apache-2.0
#include "headroom_cuda_device/cupti/cupti_recorder.h"

#include <cuda_runtime_api.h>
#include <fmt/format.h>
#include <unistd.h>

#include <iterator>
#include <variant>

#include "headroom/base/error.h"
#include "headroom_cuda_device/cuda_check.h"
#include "headroom_cuda_device/cupti/activity_records.h"
#include "headroom_cuda_device/cupti/cupti_library.h"
#include "headroom_cuda_device/cupti/resident_blocks.h"

namespace headroom::cuda {
namespace {

/// The tightest of some pairs of readings: between the two clocks an interrupt may come.
trace::ClockPair read_pair() {
  constexpr int kReadings = 10;
  trace::ClockPair best;
  std::int64_t best_width = 0;
  for (int i = 0; i < kReadings; ++i) {
    std::uint64_t theirs = 0;
    const std::int64_t before = trace::read_clocks().steady_ns;
    cupti().check(cupti().get_timestamp(&theirs), "cuptiGetTimestamp");
    const std::int64_t width = trace::read_clocks().steady_ns - before;
    if (i > 0 && width >= best_width) continue;
    best_width = width;
    best = {static_cast<std::int64_t>(theirs), before + width / 2};
  }
  return best;
}

std::string name_of_call(CUpti_CallbackDomain domain, std::uint32_t function) {
  const char* name = nullptr;
  const bool is_known = cupti().get_callback_name(domain, function, &name) == CUPTI_SUCCESS;
  return is_known && name != nullptr ? name : "";
}

trace::DeviceDescription describe(int device) {
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, device), "cudaGetDeviceProperties");
  trace::DeviceDescription made;
  made.id = device;
  made.name = properties.name;
  made.memory_bytes = static_cast<std::int64_t>(properties.totalGlobalMem);
  made.compute_major = properties.major;
  made.compute_minor = properties.minor;
  made.multiprocessors = properties.multiProcessorCount;
  made.warp_size = properties.warpSize;
  made.max_threads_per_block = properties.maxThreadsPerBlock;
  made.max_threads_per_multiprocessor = properties.maxThreadsPerMultiProcessor;
  made.registers_per_block = properties.regsPerBlock;
  made.registers_per_multiprocessor = properties.regsPerMultiprocessor;
  made.shared_memory_per_block = static_cast<std::int64_t>(properties.sharedMemPerBlock);
  made.shared_memory_per_block_optin = static_cast<std::int64_t>(properties.sharedMemPerBlockOptin);
  made.shared_memory_per_multiprocessor = static_cast<std::int64_t>(properties.sharedMemPerMultiprocessor);
  return made;
}

std::vector<trace::DeviceDescription> devices_of_trace() {
  int count = 0;
  check(cudaGetDeviceCount(&count), "cudaGetDeviceCount");
  std::vector<trace::DeviceDescription> devices;
  for (int device = 0; device < count; ++device) devices.push_back(describe(device));
  return devices;
}

void estimate_occupancy(trace::DeviceActivity& activity) {
  for (trace::RecordedWork& work : activity.work) {
    auto* const kernel = std::get_if<trace::KernelShape>(&work.shape);
    if (kernel == nullptr) continue;
    for (const trace::DeviceDescription& device : activity.devices) {
      if (device.id == work.device) kernel->resident_blocks = resident_blocks(device, *kernel);
    }
  }
}

}  // namespace

CuptiRecorder::~CuptiRecorder() {
  if (buffers_) disable_all(std::size(kRecordedKinds));
}

void CuptiRecorder::start() {
  if (buffers_) throw Error("the recorder of " + file_.string() + " was started twice");
  const CuptiLibrary& library = cupti();
  activity_ = {};
  activity_.devices = devices_of_trace();
  activity_.program = "headroom-cuda";
  activity_.recorded_by = fmt::format("headroom-cuda, CUDA {}.{}, CUPTI API {}", CUDART_VERSION / 1000,
                                      CUDART_VERSION % 1000 / 10, library.version);
  activity_.process = getpid();
  library.check(library.set_thread_id_type(CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM), "cuptiSetThreadIdType");
  auto buffers = std::make_unique<ActivityBuffers>(
      [this](const CUpti_Activity& record) { add_record(record, name_of_call, activity_); });
  enable_all();
  buffers_ = std::move(buffers);
  started_ = read_pair();
  activity_.started = trace::read_clocks();
  activity_.steps = {{gettid(), activity_.started.steady_ns, 0}};
}

trace::Recording CuptiRecorder::stop() {
  if (!buffers_) throw Error("the recorder of " + file_.string() + " was stopped without a start");
  const cudaError_t waited = cudaDeviceSynchronize();
  activity_.steps.front().end_ns = trace::read_clocks().steady_ns;
  disable_all(std::size(kRecordedKinds));
  const CUptiResult flushed = cupti().flush_all(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
  const std::size_t dropped = ActivityBuffers::take_dropped();
  buffers_.reset();
  check(waited, "cudaDeviceSynchronize");
  cupti().check(flushed, "cuptiActivityFlushAll");
  activity_.dropped_records += static_cast<std::int64_t>(dropped);
  take_into_host_time();
  estimate_occupancy(activity_);
  trace::write_device_activity(file_, activity_);
  return file_;
}

void CuptiRecorder::enable_all() {
  std::size_t enabled = 0;
  for (const CUpti_ActivityKind kind : kRecordedKinds) {
    const CUptiResult status = cupti().enable(kind);
    if (status != CUPTI_SUCCESS) disable_all(enabled);
    cupti().check(status, "cuptiActivityEnable");
    ++enabled;
  }
}

void CuptiRecorder::disable_all(std::size_t count) const {
  for (std::size_t i = 0; i < count; ++i) cupti().disable(kRecordedKinds[i]);
}

void CuptiRecorder::take_into_host_time() {
  const trace::ClockMap to_steady(started_, read_pair());
  for (trace::RecordedWork& work : activity_.work) {
    work.start_ns = to_steady(work.start_ns);
    work.end_ns = to_steady(work.end_ns);
  }
  for (trace::ApiCall& call : activity_.calls) {
    call.start_ns = to_steady(call.start_ns);
    call.end_ns = to_steady(call.end_ns);
  }
}

}  // namespace headroom::cuda
