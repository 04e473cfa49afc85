// SPDX-License-Identifier: Apache-2.0
#include "headroom_cuda_device/cupti/activity_records.h"

#include <cxxabi.h>

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <string_view>

namespace headroom::cuda {
namespace {

// A CUPTI writes the records of its own version. Of those since CUDA 12.0, which may be loaded, each begins
// as the one before it does: read are the oldest.
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

/// Kineto's words for them.
const char* copy_kind(std::uint8_t kind) {
  switch (kind) {
    case CUPTI_ACTIVITY_MEMCPY_KIND_HTOD:
      return "HtoD";
    case CUPTI_ACTIVITY_MEMCPY_KIND_DTOH:
      return "DtoH";
    case CUPTI_ACTIVITY_MEMCPY_KIND_HTOA:
      return "HtoA";
    case CUPTI_ACTIVITY_MEMCPY_KIND_ATOH:
      return "AtoH";
    case CUPTI_ACTIVITY_MEMCPY_KIND_ATOA:
      return "AtoA";
    case CUPTI_ACTIVITY_MEMCPY_KIND_ATOD:
      return "AtoD";
    case CUPTI_ACTIVITY_MEMCPY_KIND_DTOA:
      return "DtoA";
    case CUPTI_ACTIVITY_MEMCPY_KIND_DTOD:
      return "DtoD";
    case CUPTI_ACTIVITY_MEMCPY_KIND_HTOH:
      return "HtoH";
    case CUPTI_ACTIVITY_MEMCPY_KIND_PTOP:
      return "PtoP";
    default:
      return "Unknown";
  }
}

const char* memory_kind(std::uint16_t kind) {
  switch (kind) {
    case CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE:
      return "Pageable";
    case CUPTI_ACTIVITY_MEMORY_KIND_PINNED:
      return "Pinned";
    case CUPTI_ACTIVITY_MEMORY_KIND_DEVICE:
      return "Device";
    case CUPTI_ACTIVITY_MEMORY_KIND_ARRAY:
      return "Array";
    case CUPTI_ACTIVITY_MEMORY_KIND_MANAGED:
      return "Managed";
    case CUPTI_ACTIVITY_MEMORY_KIND_DEVICE_STATIC:
      return "Device Static";
    case CUPTI_ACTIVITY_MEMORY_KIND_MANAGED_STATIC:
      return "Managed Static";
    default:
      return "Unknown";
  }
}

/// What kernels, copies and sets have in common.
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

/// Within a device or between two of them.
template <typename Record>
void add_copy(const Record& copy, trace::DeviceActivity& activity) {
  add_work(copy,
           trace::CopyShape{copy_kind(copy.copyKind), memory_kind(copy.srcKind), memory_kind(copy.dstKind),
                            static_cast<std::int64_t>(copy.bytes)},
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

}  // namespace

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
      return add_work(set, trace::SetShape{memory_kind(set.memoryKind), static_cast<std::int64_t>(set.bytes)},
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
  // Versions of CUDA have four digits and more; a driver's "_v2" has one.
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

}  // namespace headroom::cuda
