// SPDX-License-Identifier: Apache-2.0
#include "headroom_cuda_device/cupti/activity_records.h"

#include <gtest/gtest.h>

#include <variant>

namespace headroom::cuda {
namespace {

std::string no_names(CUpti_CallbackDomain /*domain*/, std::uint32_t /*function*/) {
  return "";
}

/// As CUPTI hands them over: memory of which the first member says what it is.
template <typename Record>
const CUpti_Activity& as_handed_over(const Record& record) {
  return *static_cast<const CUpti_Activity*>(static_cast<const void*>(&record));
}

template <typename Record>
trace::DeviceActivity taken(const Record& record, const CallName& name_of = no_names) {
  trace::DeviceActivity activity;
  add_record(as_handed_over(record), name_of, activity);
  return activity;
}

CUpti_ActivityKernel9 kernel_record() {
  CUpti_ActivityKernel9 record{};
  record.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
  record.name = "_ZN8headroom4cuda4gemvIaEEvPKT_Pf";
  record.start = 1'763'798'400'000'000'100;
  record.end = 1'763'798'400'000'007'300;
  record.deviceId = 1;
  record.contextId = 2;
  record.streamId = 13;
  record.correlationId = 77;
  record.gridX = 264;
  record.gridY = record.gridZ = 1;
  record.blockX = 32;
  record.blockY = 8;
  record.blockZ = 1;
  record.registersPerThread = 40;
  record.staticSharedMemory = 1024;
  record.dynamicSharedMemory = 64 * 1024;
  record.graphId = 5;
  return record;
}

TEST(ActivityRecords, AKernel) {
  const trace::DeviceActivity activity = taken(kernel_record());
  ASSERT_EQ(activity.work.size(), 1U);
  const trace::RecordedWork& work = activity.work.front();
  EXPECT_EQ(work.name, "void headroom::cuda::gemv<signed char>(signed char const*, float*)");
  EXPECT_EQ(work.start_ns, 1'763'798'400'000'000'100);
  EXPECT_EQ(work.end_ns - work.start_ns, 7200);
  EXPECT_EQ(work.device, 1);
  EXPECT_EQ(work.context, 2);
  EXPECT_EQ(work.stream, 13);
  EXPECT_EQ(work.correlation, 77);
  EXPECT_EQ(work.graph, 5);
  const auto& shape = std::get<trace::KernelShape>(work.shape);
  EXPECT_EQ(shape.grid, (std::array{264, 1, 1}));
  EXPECT_EQ(shape.block, (std::array{32, 8, 1}));
  EXPECT_EQ(shape.registers_per_thread, 40);
  EXPECT_EQ(shape.shared_memory_bytes, 65 * 1024);
}

#if CUPTI_API_VERSION >= 130000
TEST(ActivityRecords, AKernelOfTheNewestCuptiBeginsAsThatOfTheOldest) {
  CUpti_ActivityKernel10 record{};
  record.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
  record.name = "plain";
  record.start = 100;
  record.end = 300;
  record.streamId = 7;
  record.blockX = 128;
  record.graphId = 3;
  const trace::DeviceActivity activity = taken(record);
  ASSERT_EQ(activity.work.size(), 1U);
  EXPECT_EQ(activity.work[0].name, "plain");
  EXPECT_EQ(activity.work[0].end_ns, 300);
  EXPECT_EQ(activity.work[0].stream, 7);
  EXPECT_EQ(activity.work[0].graph, 3);
  EXPECT_EQ(std::get<trace::KernelShape>(activity.work[0].shape).block[0], 128);
}
#endif

TEST(ActivityRecords, ACopyAndASet) {
  CUpti_ActivityMemcpy5 copy{};
  copy.kind = CUPTI_ACTIVITY_KIND_MEMCPY;
  copy.copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_DTOH;
  copy.srcKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
  copy.dstKind = CUPTI_ACTIVITY_MEMORY_KIND_PINNED;
  copy.bytes = 1ULL << 33;
  copy.start = 10;
  copy.end = 20;
  const trace::DeviceActivity copied = taken(copy);
  ASSERT_EQ(copied.work.size(), 1U);
  const auto& copy_shape = std::get<trace::CopyShape>(copied.work.front().shape);
  EXPECT_EQ(copy_shape.kind, "DtoH");
  EXPECT_EQ(copy_shape.from, "Device");
  EXPECT_EQ(copy_shape.to, "Pinned");
  EXPECT_EQ(copy_shape.bytes, 1LL << 33);

  CUpti_ActivityMemset4 set{};
  set.kind = CUPTI_ACTIVITY_KIND_MEMSET;
  set.memoryKind = CUPTI_ACTIVITY_MEMORY_KIND_MANAGED;
  set.bytes = 64;
  set.start = set.end = 10;
  const trace::DeviceActivity filled = taken(set);
  ASSERT_EQ(filled.work.size(), 1U) << "a set may be shorter than the clock's tick";
  EXPECT_EQ(std::get<trace::SetShape>(filled.work.front().shape).memory, "Managed");
}

TEST(ActivityRecords, ACopyBetweenDevices) {
  CUpti_ActivityMemcpyPtoP4 copy{};
  copy.kind = CUPTI_ACTIVITY_KIND_MEMCPY2;
  copy.copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_PTOP;
  copy.srcKind = copy.dstKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
  copy.bytes = 4096;
  copy.start = 10;
  copy.end = 20;
  copy.deviceId = 1;
  copy.streamId = 13;
  copy.correlationId = 5;
  const trace::DeviceActivity copied = taken(copy);
  ASSERT_EQ(copied.work.size(), 1U);
  EXPECT_EQ(copied.work[0].device, 1);
  EXPECT_EQ(copied.work[0].stream, 13);
  EXPECT_EQ(copied.work[0].correlation, 5);
  EXPECT_EQ(std::get<trace::CopyShape>(copied.work[0].shape).kind, "PtoP");
  EXPECT_EQ(std::get<trace::CopyShape>(copied.work[0].shape).bytes, 4096);
}

TEST(ActivityRecords, CallsByTheirNamesWithoutVersions) {
  CUpti_ActivityAPI call{};
  call.kind = CUPTI_ACTIVITY_KIND_RUNTIME;
  call.cbid = 211;
  call.start = 5;
  call.end = 9;
  call.threadId = 4711;
  call.correlationId = 3;
  const auto name_of = [](CUpti_CallbackDomain domain, std::uint32_t function) {
    return domain == CUPTI_CB_DOMAIN_RUNTIME_API && function == 211 ? "cudaLaunchKernel_v7000" : "";
  };
  trace::DeviceActivity activity = taken(call, name_of);
  ASSERT_EQ(activity.calls.size(), 1U);
  EXPECT_EQ(activity.calls[0].name, "cudaLaunchKernel");
  EXPECT_FALSE(activity.calls[0].is_driver);
  EXPECT_EQ(activity.calls[0].thread, 4711);
  EXPECT_EQ(activity.calls[0].function, 211);
  call.kind = CUPTI_ACTIVITY_KIND_DRIVER;
  activity = taken(call, name_of);
  EXPECT_TRUE(activity.calls[0].is_driver);
  EXPECT_EQ(activity.calls[0].name, "function 211") << "one that this CUPTI has no name for";
}

TEST(ActivityRecords, WhatHasNoTimesCountsAsDropped) {
  CUpti_ActivityKernel9 kernel = kernel_record();
  kernel.start = kernel.end = 0;
  CUpti_ActivityAPI call{};
  call.kind = CUPTI_ACTIVITY_KIND_RUNTIME;
  trace::DeviceActivity activity = taken(kernel);
  add_record(as_handed_over(call), no_names, activity);
  EXPECT_EQ(activity.dropped_records, 2);
  EXPECT_TRUE(activity.work.empty());
  EXPECT_TRUE(activity.calls.empty());
}

TEST(ActivityRecords, OtherKindsAreLeftAlone) {
  CUpti_Activity other{};
  other.kind = CUPTI_ACTIVITY_KIND_DEVICE;
  const trace::DeviceActivity activity = taken(other);
  EXPECT_TRUE(activity.work.empty());
  EXPECT_EQ(activity.dropped_records, 0);
}

TEST(CallName, VersionsOfTheRuntimeGoThoseOfTheDriverStay) {
  EXPECT_EQ(call_name("cudaMemcpyAsync_v3020"), "cudaMemcpyAsync");
  EXPECT_EQ(call_name("cudaLaunchKernelExC_v11060"), "cudaLaunchKernelExC");
  EXPECT_EQ(call_name("cudaLaunchKernel_ptsz_v7000"), "cudaLaunchKernel");
  EXPECT_EQ(call_name("cuMemcpyHtoDAsync_v2"), "cuMemcpyHtoDAsync_v2");
  EXPECT_EQ(call_name("cuLaunchKernel"), "cuLaunchKernel");
  EXPECT_EQ(call_name("cuLaunchKernel_ptsz"), "cuLaunchKernel_ptsz");
  EXPECT_EQ(call_name("cuda_version_v"), "cuda_version_v");
}

TEST(KernelName, MangledOrNot) {
  EXPECT_EQ(kernel_name("_Z5scalePf"), "scale(float*)");
  EXPECT_EQ(kernel_name("sm90_xmma_gemm_bf16bf16"), "sm90_xmma_gemm_bf16bf16");
  EXPECT_EQ(kernel_name(""), "");
}

}  // namespace
}  // namespace headroom::cuda
