// SPDX-License-Identifier: Apache-2.0
#include "headroom_cuda_device/cupti/cupti_recorder.h"

#include <cuda_occupancy.h>
#include <cuda_runtime_api.h>
#include <cxxabi.h>
#include <fmt/format.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <climits>
#include <cstddef>
#include <cstdlib>
#include <iterator>
#include <mutex>
#include <span>
#include <string_view>
#include <variant>

#include "headroom/base/error.h"
#include "headroom/base/text.h"
#include "headroom/process/loaded_library.h"
#include "headroom_cuda_device/cuda_check.h"
#include "headroom_cuda_device/device.h"

namespace headroom::cuda {
namespace {

template <typename Function>
void find(const LoadedLibrary& library, Function*& function, const char* name) {
  function = library.function<Function>(name);
  if (function == nullptr) throw Error(std::string("it has no ") + name);
}

CuptiLibrary load(const std::string& path) {
  LoadedLibrary library(path);
  CuptiLibrary made;
  made.path = path;
  find(library, made.get_version, "cuptiGetVersion");
  find(library, made.get_result_string, "cuptiGetResultString");
  find(library, made.get_timestamp, "cuptiGetTimestamp");
  find(library, made.get_callback_name, "cuptiGetCallbackName");
  find(library, made.set_thread_id_type, "cuptiSetThreadIdType");
  find(library, made.register_callbacks, "cuptiActivityRegisterCallbacks");
  find(library, made.enable, "cuptiActivityEnable");
  find(library, made.disable, "cuptiActivityDisable");
  find(library, made.flush_all, "cuptiActivityFlushAll");
  find(library, made.next_record, "cuptiActivityGetNextRecord");
  find(library, made.dropped_records, "cuptiActivityGetNumDroppedRecords");
  made.check(made.get_version(&made.version), "cuptiGetVersion");
  // CUPTI hooks into the driver and cannot be unloaded.
  library.keep();
  return made;
}

// Since CUDA 12.0 records are only extended: the oldest layout works for all.
using KernelRecord = CUpti_ActivityKernel9;
using CopyRecord = CUpti_ActivityMemcpy5;
using PeerCopyRecord = CUpti_ActivityMemcpyPtoP4;
using SetRecord = CUpti_ActivityMemset4;
#if CUPTI_API_VERSION >= 130000
static_assert(offsetof(CUpti_ActivityKernel10, graphId) == offsetof(KernelRecord, graphId));
static_assert(offsetof(CUpti_ActivityKernel10, name) == offsetof(KernelRecord, name));
static_assert(offsetof(CUpti_ActivityKernel10, registersPerThread) ==
              offsetof(KernelRecord, registersPerThread));
static_assert(offsetof(CUpti_ActivityMemcpy6, graphId) == offsetof(CopyRecord, graphId));
static_assert(offsetof(CUpti_ActivityMemcpy6, bytes) == offsetof(CopyRecord, bytes));
#endif

/// By CUpti_ActivityMemcpyKind and CUpti_ActivityMemoryKind.
constexpr std::array kCopyKinds{"Unknown", "HtoD", "DtoH", "HtoA", "AtoH", "AtoA",
                                "AtoD",    "DtoA", "DtoD", "HtoH", "PtoP"};
static_assert(CUPTI_ACTIVITY_MEMCPY_KIND_HTOD == 1 && CUPTI_ACTIVITY_MEMCPY_KIND_ATOH == 4 &&
              CUPTI_ACTIVITY_MEMCPY_KIND_DTOD == 8 && CUPTI_ACTIVITY_MEMCPY_KIND_PTOP == 10);
constexpr std::array kMemoryKinds{"Unknown", "Pageable", "Pinned",        "Device",
                                  "Array",   "Managed",  "Device Static", "Managed Static"};
static_assert(CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE == 1 && CUPTI_ACTIVITY_MEMORY_KIND_ARRAY == 4 &&
              CUPTI_ACTIVITY_MEMORY_KIND_MANAGED_STATIC == 7);

const char* name_of_kind(std::span<const char* const> names, std::size_t kind) {
  return names[kind < names.size() ? kind : 0];
}

template <typename Record>
void add_work(const Record& record, decltype(trace::RecordedWork::shape) shape, std::string name,
              trace::DeviceActivity& activity) {
  if (record.start == 0 || record.end < record.start) {
    ++activity.dropped_records;
    return;
  }
  trace::RecordedWork& work = activity.work.emplace_back();
  work.shape = std::move(shape);
  work.name = std::move(name);
  work.device = static_cast<std::int32_t>(record.deviceId);
  work.context = static_cast<std::int32_t>(record.contextId);
  work.stream = static_cast<std::int32_t>(record.streamId);
  work.correlation = record.correlationId;
  work.graph = record.graphId;
  work.start_ns = static_cast<std::int64_t>(record.start);
  work.end_ns = static_cast<std::int64_t>(record.end);
}

void add_kernel(const KernelRecord& record, trace::DeviceActivity& activity) {
  trace::KernelShape shape;
  shape.grid = {record.gridX, record.gridY, record.gridZ};
  shape.block = {record.blockX, record.blockY, record.blockZ};
  shape.registers_per_thread = record.registersPerThread;
  shape.shared_memory_bytes =
      std::int64_t{record.staticSharedMemory} + std::int64_t{record.dynamicSharedMemory};
  add_work(record, shape, kernel_name(record.name == nullptr ? "" : record.name), activity);
}

template <typename Record>
void add_copy(const Record& copy, trace::DeviceActivity& activity) {
  add_work(copy,
           trace::CopyShape{name_of_kind(kCopyKinds, copy.copyKind), name_of_kind(kMemoryKinds, copy.srcKind),
                            name_of_kind(kMemoryKinds, copy.dstKind), static_cast<std::int64_t>(copy.bytes)},
           "", activity);
}

void add_call(const CUpti_ActivityAPI& record, const CallName& name_of, trace::DeviceActivity& activity) {
  if (record.start == 0 || record.end < record.start) {
    ++activity.dropped_records;
    return;
  }
  trace::ApiCall& call = activity.calls.emplace_back();
  call.is_driver = record.kind == CUPTI_ACTIVITY_KIND_DRIVER;
  call.name = name_of(call.is_driver ? CUPTI_CB_DOMAIN_DRIVER_API : CUPTI_CB_DOMAIN_RUNTIME_API, record.cbid);
  call.name = call.name.empty() ? "function " + std::to_string(record.cbid) : call_name(call.name);
  call.function = static_cast<std::int32_t>(record.cbid);
  call.thread = record.threadId;
  call.correlation = record.correlationId;
  call.start_ns = static_cast<std::int64_t>(record.start);
  call.end_ns = static_cast<std::int64_t>(record.end);
}

/// Reserved by the driver in each block since 8.0 (cudaDevAttrReservedSharedMemoryPerBlock).
constexpr std::size_t kReservedSharedMemory = 1024;

cudaOccDeviceProp properties_of(const trace::DeviceDescription& device) {
  cudaOccDeviceProp properties;
  properties.computeMajor = device.compute_major;
  properties.computeMinor = device.compute_minor;
  properties.maxThreadsPerBlock = device.max_threads_per_block;
  properties.maxThreadsPerMultiprocessor = device.max_threads_per_multiprocessor;
  properties.regsPerBlock = device.registers_per_block;
  properties.regsPerMultiprocessor = device.registers_per_multiprocessor;
  properties.warpSize = device.warp_size;
  properties.sharedMemPerBlock = static_cast<std::size_t>(device.shared_memory_per_block);
  properties.sharedMemPerMultiprocessor = static_cast<std::size_t>(device.shared_memory_per_multiprocessor);
  properties.numSms = device.multiprocessors;
  properties.sharedMemPerBlockOptin = static_cast<std::size_t>(device.shared_memory_per_block_optin);
  properties.reservedSharedMemPerBlock = device.compute_major >= 8 ? kReservedSharedMemory : 0;
  return properties;
}

/// Tens of thousands of kernels, about 200 bytes each.
constexpr std::size_t kBufferBytes = std::size_t{8} << 20;
/// A page; CUPTI requires 8 bytes.
constexpr std::size_t kAlignment = 4096;

/// Global, as CUPTI's callbacks take no argument.
struct Receiver {
  std::mutex mutex;
  TakeRecord take;
  std::size_t dropped = 0;
};

Receiver& receiver() {
  static Receiver one;
  return one;
}

void CUPTIAPI request_buffer(std::uint8_t** buffer, std::size_t* size, std::size_t* most_records) {
  // Without a buffer CUPTI drops and counts records.
  *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(kAlignment, kBufferBytes));
  *size = *buffer == nullptr ? 0 : kBufferBytes;
  *most_records = 0;
}

void take_all(Receiver& to, std::uint8_t* buffer, std::size_t valid_bytes) {
  CUpti_Activity* record = nullptr;
  for (;;) {
    const CUptiResult status = cupti().next_record(buffer, valid_bytes, &record);
    if (status == CUPTI_ERROR_MAX_LIMIT_REACHED) break;
    if (status != CUPTI_SUCCESS) {
      ++to.dropped;
      break;
    }
    if (to.take) to.take(*record);
  }
  std::size_t dropped = 0;
  if (cupti().dropped_records(nullptr, 0, &dropped) == CUPTI_SUCCESS) to.dropped += dropped;
}

void CUPTIAPI complete_buffer(CUcontext /*context*/, std::uint32_t /*stream*/, std::uint8_t* buffer,
                              std::size_t /*size*/, std::size_t valid_bytes) {
  Receiver& to = receiver();
  const std::lock_guard lock(to.mutex);
  try {
    if (valid_bytes > 0) take_all(to, buffer, valid_bytes);
  } catch (...) {
    // A C callback must not throw.
    ++to.dropped;
  }
  std::free(buffer);
}

/// Returns the tightest of several readings.
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

void CuptiLibrary::check(CUptiResult status, const char* call) const {
  if (status == CUPTI_SUCCESS) return;
  const char* reason = nullptr;
  if (get_result_string == nullptr || get_result_string(status, &reason) != CUPTI_SUCCESS) reason = nullptr;
  throw Error(std::string(call) +
              " failed: " + (reason == nullptr ? "error " + std::to_string(status) : std::string(reason)) +
              " (" + path + ")");
}

std::vector<std::string> cupti_candidates() {
  const char* named = std::getenv("HEADROOM_CUPTI");
  if (named != nullptr && *named != '\0') return {named};
  const std::vector<std::string> roots = toolkit_roots();
  std::vector<std::string> candidates;
  for (const int major : {CUDART_VERSION / 1000, CUDART_VERSION / 1000 == 12 ? 13 : 12}) {
    const std::string name = "libcupti.so." + std::to_string(major);
    candidates.push_back(name);
    for (const std::string& root : roots) {
      for (const char* folder : {"/lib64/", "/extras/CUPTI/lib64/"})
        candidates.push_back(root + folder + name);
    }
  }
  return candidates;
}

CuptiLibrary load_cupti(const std::vector<std::string>& candidates) {
  std::vector<std::string> reasons;
  for (const std::string& candidate : candidates) {
    try {
      return load(candidate);
    } catch (const Error& error) {
      reasons.push_back(candidate + ": " + error.what());
    }
  }
  throw Error(
      "cannot record GPU work: CUPTI was not found; install the CUDA toolkit, or set HEADROOM_CUPTI to the "
      "path of its libcupti.so (" +
      join(reasons, "; ") + ")");
}

const CuptiLibrary& cupti() {
  static const CuptiLibrary library = load_cupti(cupti_candidates());
  return library;
}

void add_record(const CUpti_Activity& record, const CallName& name_of, trace::DeviceActivity& activity) {
  switch (record.kind) {
    case CUPTI_ACTIVITY_KIND_KERNEL:
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
      return add_kernel(reinterpret_cast<const KernelRecord&>(record), activity);
    case CUPTI_ACTIVITY_KIND_MEMCPY:
      return add_copy(reinterpret_cast<const CopyRecord&>(record), activity);
    case CUPTI_ACTIVITY_KIND_MEMCPY2:
      return add_copy(reinterpret_cast<const PeerCopyRecord&>(record), activity);
    case CUPTI_ACTIVITY_KIND_MEMSET: {
      const auto& set = reinterpret_cast<const SetRecord&>(record);
      return add_work(
          set,
          trace::SetShape{name_of_kind(kMemoryKinds, set.memoryKind), static_cast<std::int64_t>(set.bytes)},
          "", activity);
    }
    case CUPTI_ACTIVITY_KIND_RUNTIME:
    case CUPTI_ACTIVITY_KIND_DRIVER:
      return add_call(reinterpret_cast<const CUpti_ActivityAPI&>(record), name_of, activity);
    default:
      return;
  }
}

std::string call_name(const std::string& name) {
  std::string_view text = name;
  // A CUDA version has at least four digits; a driver suffix such as "_v2" has one.
  const std::size_t version = text.rfind("_v");
  if (version != std::string_view::npos && text.size() - version >= 6 &&
      std::ranges::all_of(text.substr(version + 2), [](unsigned char c) { return std::isdigit(c) != 0; })) {
    text = text.substr(0, version);
  }
  for (const std::string_view variant : {"_ptsz", "_ptds"}) {
    if (text.starts_with("cuda") && text.ends_with(variant)) text.remove_suffix(variant.size());
  }
  return std::string(text);
}

std::string kernel_name(const char* name) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> plain(
      abi::__cxa_demangle(name, nullptr, nullptr, &status), &std::free);
  return status == 0 && plain ? plain.get() : name;
}

std::int32_t resident_blocks(const trace::DeviceDescription& device, const trace::KernelShape& kernel) {
  const cudaOccDeviceProp properties = properties_of(device);
  cudaOccFuncAttributes attributes;
  attributes.maxThreadsPerBlock = INT_MAX;
  attributes.numRegs = kernel.registers_per_thread;
  attributes.partitionedGCConfig = PARTITIONED_GC_OFF;
  // The kernel ran, so its shared memory was allowed.
  attributes.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
  attributes.maxDynamicSharedSizeBytes = static_cast<std::size_t>(kernel.shared_memory_bytes);
  attributes.sharedSizeBytes = 0;
  const cudaOccDeviceState state;
  const int threads = kernel.block[0] * kernel.block[1] * kernel.block[2];
  cudaOccResult result{};
  const cudaOccError status =
      cudaOccMaxActiveBlocksPerMultiprocessor(&result, &properties, &attributes, &state, threads,
                                              static_cast<std::size_t>(kernel.shared_memory_bytes));
  return status == CUDA_OCC_SUCCESS ? result.activeBlocksPerMultiprocessor : 0;
}

ActivityBuffers::ActivityBuffers(TakeRecord take) {
  {
    Receiver& to = receiver();
    const std::lock_guard lock(to.mutex);
    if (to.take) throw Error("the CUDA work of this process is being recorded already");
    to.take = std::move(take);
    to.dropped = 0;
  }
  try {
    cupti().check(cupti().register_callbacks(request_buffer, complete_buffer),
                  "cuptiActivityRegisterCallbacks");
  } catch (...) {
    receiver().take = nullptr;
    throw;
  }
}

ActivityBuffers::~ActivityBuffers() {
  Receiver& to = receiver();
  const std::lock_guard lock(to.mutex);
  to.take = nullptr;
}

std::size_t ActivityBuffers::take_dropped() {
  Receiver& to = receiver();
  const std::lock_guard lock(to.mutex);
  return std::exchange(to.dropped, 0);
}

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
  // The C library has gettid() since 2.30.
  activity_.steps = {{syscall(SYS_gettid), activity_.started.steady_ns, 0}};
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
  convert_to_host_time();
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

void CuptiRecorder::convert_to_host_time() {
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
