// SPDX-License-Identifier: Apache-2.0
// The profiles of XLA: one that JAX wrote on a CPU, and one with a GPU.
#include <gmock/gmock.h>

#include "format_files.h"
#include "headroom/trace/readers/convert.h"

namespace headroom::trace {
namespace {

using ::testing::HasSubstr;

constexpr std::int64_t kBase = 1'700'000'000'000'000'000;

TEST(Xplane, PlanesOfDevicesGiveWorkAndThoseOfTheHostCalls) {
  const Trace trace = read(format_path("gpu.xplane.pb"));
  expect_sound(trace);
  EXPECT_EQ(trace.problems.count, 0U);
  const std::size_t kernel = row_of(trace, "gemm_fusion_dot");
  EXPECT_EQ(trace.events.category[kernel], Category::kKernel);
  EXPECT_EQ(trace.events.start_ns[kernel], kBase + 20'000);
  EXPECT_EQ(trace.events.duration_ns[kernel], 100'250);
  EXPECT_EQ(trace.events.correlation[kernel], 77);
  EXPECT_EQ(trace.events.correlation[row_of(trace, "cudaLaunchKernel")], 77);
  EXPECT_EQ(trace.events.category[row_of(trace, "cudaLaunchKernel")], Category::kRuntime);
  EXPECT_EQ(trace.events.category[row_of(trace, "cuMemcpyDtoHAsync_v2")], Category::kDriver);
  const GpuDetail& work = work_of(trace, "gemm_fusion_dot");
  EXPECT_EQ(work.device, 0);
  EXPECT_EQ(work.stream, 13);
  EXPECT_EQ(work.registers_per_thread, 122);
  EXPECT_EQ(work.grid[0], 66U);
  EXPECT_EQ(work.block[0], 256U);
  EXPECT_EQ(trace.events.category[row_of(trace, "MemcpyD2H")], Category::kGpuMemcpy);
  EXPECT_EQ(work_of(trace, "MemcpyD2H").bytes, 1048576);
  EXPECT_EQ(trace.events.category[row_of(trace, "jit_step")], Category::kGpuAnnotation);
  EXPECT_EQ(trace.events.category[row_of(trace, "PjitFunction(step)")], Category::kCpuOp);
  EXPECT_EQ(trace.events.category[row_of(trace, "ProfilerStep#5")], Category::kUserAnnotation);
  ASSERT_EQ(trace.devices.size(), 1U);
  EXPECT_EQ(trace.devices[0].multiprocessors, 132);
  EXPECT_EQ(trace.devices[0].total_memory_bytes, 85017493504.0);
  EXPECT_EQ(trace.threads[trace.events.thread[kernel]].process_name, "/device:GPU:0");
}

TEST(Xplane, ConvertedItKeepsEveryDevice) {
  const std::string first = read_file(format_path("gpu.xplane.pb"));
  std::string second = first;
  second.replace(second.find("/device:GPU:0"), 13, "/device:GPU:1");
  const std::filesystem::path path = testing::TempDir() + "headroom-two-devices.xplane.pb";
  write_file_atomically(path, first + second);  // one message after the other is one with all their planes
  std::string json;
  convert_to_chrome_trace(path, [&](std::string_view text) { json += text; }, {});
  std::filesystem::remove(path);
  const Trace trace = read_text(json, "converted");
  expect_sound(trace);
  EXPECT_EQ(trace.devices.size(), 2U);
  EXPECT_EQ(trace.gpu.size(), 4U);
}

TEST(Xplane, WhatJaxWroteOnACpuHasItsSteps) {
  const Trace trace = read(format_path("jax_cpu.xplane.pb"));
  expect_sound(trace);
  EXPECT_EQ(trace.problems.count, 0U);
  EXPECT_TRUE(trace.is_complete);
  EXPECT_EQ(trace.gpu.size(), 0U);
  EXPECT_GT(trace.events.duration_ns[row_of(trace, "ProfilerStep#0")], 0);
  EXPECT_GT(trace.events.duration_ns[row_of(trace, "ProfilerStep#1")], 0);
}

TEST(Xplane, ACutFileGivesWhatIsThere) {
  const std::string bytes = read_file(format_path("gpu.xplane.pb"));
  const Trace trace = read_text(std::string_view(bytes).substr(0, bytes.size() - 30), "cut");
  expect_sound(trace);
  EXPECT_FALSE(trace.is_complete);
  EXPECT_EQ(trace.gpu.size(), 2U);
  ASSERT_GE(trace.problems.count, 1U);
  EXPECT_THAT(trace.problems.first.back().what, HasSubstr("ends inside a plane"));
}

TEST(Xplane, CutAndChangedItIsReadOrRefused) {
  expect_robust("gpu.xplane.pb");
  expect_robust("jax_cpu.xplane.pb", 2000);
}

}  // namespace
}  // namespace headroom::trace
