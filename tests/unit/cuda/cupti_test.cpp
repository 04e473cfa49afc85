// SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime_api.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <variant>
#include <vector>

#include "../error_message.h"
#include "headroom_cuda_device/cuda_check.h"
#include "headroom_cuda_device/cupti/cupti_recorder.h"
#include "headroom_trace/peers/pytorch_utilization.h"
#include "headroom_trace/readers/read.h"
#include "headroom_trace/work/trace_checks.h"

namespace headroom::cuda {
namespace {

using testing::AnyOf;
using testing::ElementsAre;
using testing::HasSubstr;

bool is_loaded() {
  std::ifstream maps("/proc/self/maps");
  const std::string text{std::istreambuf_iterator<char>(maps), {}};
  return text.find("libcupti") != std::string::npos;
}

class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) { setenv(name, value, 1); }
  ~Variable() { unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
};

TEST(CuptiLibrary, ItIsNotLoadedBeforeItIsNeeded) {
  const bool before = is_loaded();  // by another test
  const CuptiRecorder recorder("/tmp/never.json");
  EXPECT_EQ(is_loaded(), before);
}

TEST(CuptiLibrary, WhereItIsLookedFor) {
  const Variable home("CUDA_HOME", "/opt/mine");
  const std::vector<std::string> candidates = cupti_candidates();
  EXPECT_THAT(candidates.front(), HasSubstr("libcupti.so.1"));
  EXPECT_THAT(candidates, testing::Contains("/opt/mine/lib64/libcupti.so.12"));
  EXPECT_THAT(candidates, testing::Contains("/opt/mine/extras/CUPTI/lib64/libcupti.so.13"));
  const Variable named("HEADROOM_CUPTI", "/elsewhere/libcupti.so");
  EXPECT_THAT(cupti_candidates(), ElementsAre("/elsewhere/libcupti.so"));
}

TEST(CuptiLibrary, WhatIsMissingIsSaidWithWhatToDo) {
  const std::string none = test::message_of([] { load_cupti({"/no/libcupti.so.13"}); });
  EXPECT_THAT(none, HasSubstr("CUPTI was not found"));
  EXPECT_THAT(none, HasSubstr("HEADROOM_CUPTI"));
  EXPECT_THAT(none, HasSubstr("/no/libcupti.so.13"));
  EXPECT_THAT(test::message_of([] { load_cupti({"libc.so.6"}); }), HasSubstr("it has no cuptiGetVersion"));
}

TEST(CuptiLibrary, TheToolkitsIsUnderstood) {
  CuptiLibrary library;
  try {
    library = load_cupti(cupti_candidates());
  } catch (const Error& error) {
    GTEST_SKIP() << error.what();
  }
  EXPECT_TRUE(is_loaded());
  EXPECT_GT(library.version, 0U);
  const char* name = nullptr;
  ASSERT_EQ(library.get_callback_name(CUPTI_CB_DOMAIN_RUNTIME_API, 211, &name), CUPTI_SUCCESS);
  EXPECT_STREQ(name, "cudaLaunchKernel_v7000");
  EXPECT_THAT(test::message_of([&] { library.check(CUPTI_ERROR_NOT_INITIALIZED, "cuptiActivityEnable"); }),
              HasSubstr("cuptiActivityEnable failed: CUPTI_ERROR_NOT_INITIALIZED"));
}

std::string no_names(CUpti_CallbackDomain /*domain*/, std::uint32_t /*function*/) {
  return "";
}

template <typename Record>
const CUpti_Activity& as_delivered(const Record& record) {
  return *static_cast<const CUpti_Activity*>(static_cast<const void*>(&record));
}

template <typename Record>
trace::DeviceActivity taken(const Record& record, const CallName& name_of = no_names) {
  trace::DeviceActivity activity;
  add_record(as_delivered(record), name_of, activity);
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
  add_record(as_delivered(call), no_names, activity);
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

bool has_device() {
  int devices = 0;
  const bool is_there = cudaGetDeviceCount(&devices) == cudaSuccess && devices > 0;
  cudaGetLastError();
  return is_there;
}

class Recorded : public testing::Test {
 protected:
  std::filesystem::path file = std::filesystem::path(testing::TempDir()) / "cupti_recorder_test.json";
  ~Recorded() override { std::filesystem::remove(file); }
};

TEST_F(Recorded, WithoutADeviceItSaysSoEachTimeAndWritesNothing) {
  if (has_device()) GTEST_SKIP() << "this machine has a GPU";
  CuptiRecorder recorder(file);
  for (int time = 0; time < 2; ++time) {
    EXPECT_THAT(test::message_of([&] { recorder.start(); }),
                AnyOf(HasSubstr("cudaGetDeviceCount failed"), HasSubstr("CUPTI was not found")));
  }
  EXPECT_THAT(test::message_of([&] { trace::record_call<CuptiRecorder>(file.string(), [] {}); }),
              HasSubstr("CU"));
  EXPECT_FALSE(std::filesystem::exists(file));
}

TEST_F(Recorded, StopNeedsAStart) {
  CuptiRecorder recorder(file);
  EXPECT_THAT(test::message_of([&] { recorder.stop(); }), HasSubstr("was stopped without a start"));
}

void fill_and_fetch(void* memory, std::vector<char>& host) {
  check(cudaMemset(memory, 7, host.size()), "cudaMemset");
  check(cudaMemcpy(host.data(), memory, host.size(), cudaMemcpyDeviceToHost), "cudaMemcpy");
}

TEST_F(Recorded, WorkIsFoundWithItsCallsWithinTheStep) {
  if (!has_device()) GTEST_SKIP() << "needs a GPU";
  std::vector<char> host(1 << 16);
  void* memory = nullptr;
  check(cudaMalloc(&memory, host.size()), "cudaMalloc");
  trace::record_call<CuptiRecorder>(file.string(), [&] { fill_and_fetch(memory, host); });
  check(cudaFree(memory), "cudaFree");
  const trace::Trace trace = trace::read(file, {});
  for (const trace::TraceCheck& one : trace::trace_checks(trace))
    EXPECT_EQ(one.is_anomaly ? one.count : 0, 0U) << one.what;
  ASSERT_EQ(trace.gpu.size(), 2U);
  const trace::Events& events = trace.events;
  const std::uint32_t set = trace.gpu[0].event, copy = trace.gpu[1].event;
  EXPECT_EQ(trace.names[events.name[set]], "Memset (Device)");
  EXPECT_THAT(std::string(trace.names[events.name[copy]]), HasSubstr("Memcpy DtoH (Device -> Pageable)"));
  EXPECT_EQ(trace.gpu[1].bytes, static_cast<double>(host.size()));
  std::size_t calls = 0;
  for (std::size_t i = 0; i < events.size(); ++i) {
    if (events.category[i] == trace::Category::kUserAnnotation) {
      EXPECT_LE(events.start_ns[i], events.start_ns[set]);
      EXPECT_GE(events.end_ns(i), events.end_ns(copy));
    }
    const bool is_call = events.category[i] == trace::Category::kRuntime;
    if (is_call && (events.correlation[i] == events.correlation[set] ||
                    events.correlation[i] == events.correlation[copy]))
      ++calls;
  }
  EXPECT_EQ(calls, 2U);
  EXPECT_GT(trace::pytorch_utilization(trace, 1e-3).utilization, 0);
}

trace::DeviceDescription hopper() {
  trace::DeviceDescription device;
  device.name = "NVIDIA H200";
  device.compute_major = 9;
  device.multiprocessors = 132;
  device.max_threads_per_block = 1024;
  device.max_threads_per_multiprocessor = 2048;
  device.registers_per_block = device.registers_per_multiprocessor = 65536;
  device.shared_memory_per_block = 48 * 1024;
  device.shared_memory_per_block_optin = 227 * 1024;
  device.shared_memory_per_multiprocessor = 228 * 1024;
  return device;
}

std::int32_t blocks(std::int32_t threads, std::int32_t registers, std::int64_t shared_bytes = 0) {
  return resident_blocks(hopper(), {{1, 1, 1}, {threads, 1, 1}, registers, shared_bytes, 0});
}

TEST(ResidentBlocks, BoundByThreads) {
  EXPECT_EQ(blocks(1024, 32), 2);
  EXPECT_EQ(blocks(256, 32), 8);
  EXPECT_EQ(blocks(32, 16), 32) << "a multiprocessor holds 32 blocks at most";
}

TEST(ResidentBlocks, BoundByRegisters) {
  // 40 x 32 = 1280 registers a warp: 12 warps in a quarter of 65536, 48 in all, 6 blocks of 8.
  EXPECT_EQ(blocks(256, 40), 6);
  EXPECT_EQ(blocks(1024, 64), 1);
  EXPECT_EQ(blocks(128, 255), 2);
}

TEST(ResidentBlocks, BoundBySharedMemory) {
  EXPECT_EQ(blocks(128, 32, 100 * 1024), 2);
  EXPECT_EQ(blocks(128, 32, 113 * 1024), 2);
  EXPECT_EQ(blocks(128, 32, 114 * 1024), 1);
  EXPECT_EQ(blocks(128, 32, 227 * 1024), 1);
}

TEST(ResidentBlocks, UnknownDevicesGiveNone) {
  EXPECT_EQ(resident_blocks({}, {{1, 1, 1}, {128, 1, 1}, 32, 0, 0}), 0);
  trace::DeviceDescription later = hopper();
  later.compute_major = 99;
  EXPECT_EQ(resident_blocks(later, {{1, 1, 1}, {128, 1, 1}, 32, 0, 0}), 0);
}

}  // namespace
}  // namespace headroom::cuda
