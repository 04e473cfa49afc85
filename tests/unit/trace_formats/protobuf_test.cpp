// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "../packed_files.h"
#include "format_files.h"
#include "headroom_trace/index/steps.h"
#include "headroom_trace/readers/convert.h"

namespace headroom::trace {
namespace {

using testing::HasSubstr;

constexpr std::int64_t kBase = 1'700'000'000'000'000'000;

void expect_the_run(const Trace& trace) {
  expect_sound(trace);
  EXPECT_EQ(trace.problems.count, 0U);
  EXPECT_TRUE(trace.is_complete);
  EXPECT_EQ(event_of(trace, "sgemm_128x64_nn"), EventRow(Category::kKernel, kBase + 20'000, 100'250, 77));
  const GpuDetail& work = work_of(trace, "sgemm_128x64_nn");
  EXPECT_EQ(std::tuple(work.device, work.stream, work.registers_per_thread, work.grid[0], work.block[0]),
            std::tuple(0, 7, 122, 66U, 256U));
  EXPECT_EQ(trace.events.category[row_of(trace, "cudaLaunchKernel")], Category::kRuntime);
  EXPECT_EQ(trace.events.correlation[row_of(trace, "cudaLaunchKernel")], 77);
}

TEST(Perfetto, KinetosTraceReadsAsItsJsonWould) {
  const Trace trace = read(format_path("kineto.pftrace"));
  expect_the_run(trace);
  EXPECT_EQ(std::tuple(trace.rank, trace.world_size), std::tuple(3, 8));
  ASSERT_EQ(trace.devices.size(), 1U);
  EXPECT_EQ(trace.devices[0].name, "NVIDIA H100");
  EXPECT_EQ(trace.devices[0].multiprocessors, 132);
  const std::size_t op = row_of(trace, "aten::mm");
  ASSERT_EQ(trace.events.category[op], Category::kCpuOp);
  const OpDetail& detail = trace.ops.at(trace.events.detail[op]);
  EXPECT_EQ(std::tuple(detail.sequence, detail.external_id, trace.names[detail.dims]),
            std::tuple(12, 2, "[[64,64],[64,64]]"));
  EXPECT_EQ(trace.events.category[row_of(trace, "Optimizer.step#SGD.step")], Category::kUserAnnotation);
  EXPECT_EQ(trace.events.category[row_of(trace, "record_param_comms")], Category::kCpuOp);
  EXPECT_EQ(trace.collectives.size(), 1U);
  EXPECT_EQ(trace.events.category[row_of(trace, "ProfilerStep#5")], Category::kUserAnnotation);
  const GpuDetail& copy = work_of(trace, "Memcpy DtoH (Device -> Pageable)");
  EXPECT_EQ(copy.bytes, 1048576);
  EXPECT_DOUBLE_EQ(copy.bandwidth_gb_s, 20.97152);
  ASSERT_EQ(trace.memory.size(), 1U);
  EXPECT_EQ(std::tuple(trace.memory[0].bytes, trace.memory[0].total_reserved), std::tuple(1048576, 2097152));
  const Thread& host = trace.threads[trace.events.thread[op]];
  EXPECT_EQ(place_of(trace, "aten::mm"), "4242/4242");
  EXPECT_EQ(std::tuple(host.process_name, host.process_labels, host.thread_name),
            std::tuple("python", "CPU", "thread 4242 (python)"));
  const Thread& stream = trace.threads[trace.events.thread[row_of(trace, "sgemm_128x64_nn")]];
  EXPECT_EQ(place_of(trace, "sgemm_128x64_nn"), "0/7");
  EXPECT_EQ(stream.process_labels, "GPU 0");
}

TEST(Perfetto, PackedOrFromMemoryItIsTheSame) {
  const std::string bytes = read_file(format_path("kineto.pftrace"));
  expect_the_run(read_text(bytes, "memory"));
  const std::filesystem::path path = testing::TempDir() + "headroom-packed.pftrace";
  for (const std::string& packed : {gzip_of(bytes), zstd_of(bytes), zip_of({{"a.pftrace", bytes}})}) {
    write_file_atomically(path, packed);
    expect_the_run(read(path));
  }
  std::filesystem::remove(path);
}

TEST(Perfetto, ASequencesNamesDefaultsAndClocksCount) {
  const Trace trace = read(format_path("rocprofv3.pftrace"));
  expect_sound(trace);
  EXPECT_EQ(trace.problems.count, 0U);
  // 1000 us of the sequence's clock are 1 ms monotonic, 5 ms of boot time.
  const std::int64_t correlation = trace.events.correlation[row_of(trace, "hipLaunchKernel")];
  EXPECT_EQ(event_of(trace, "hipLaunchKernel"), EventRow(Category::kRuntime, 5'005'000, 3000, correlation));
  EXPECT_EQ(trace.threads[trace.events.thread[row_of(trace, "hipLaunchKernel")]].tid, "322");
  EXPECT_EQ(event_of(trace, "axpy(float*)"), EventRow(Category::kKernel, 5'010'000, 40'000, correlation));
  const GpuDetail& work = work_of(trace, "axpy(float*)");  // its grid is a list argument
  EXPECT_EQ(std::tuple(work.device, work.stream, work.grid[0], work.grid[1]), std::tuple(1, 2, 66U, 2U));
}

TEST(Perfetto, WhatNobodyNeedsIsCountedAndSkipped) {
  ReadOptions options;
  options.needs = Needs::kGpuWork;
  const Trace trace = read(format_path("kineto.pftrace"), options);
  expect_sound(trace);
  EXPECT_EQ(std::tuple(trace.events.size(), trace.gpu.size()), std::tuple(4U, 2U));
  EXPECT_EQ(trace.events_skipped_by_need, 5U);
}

TEST(Perfetto, ItCanBeConverted) {
  std::string json;
  convert_to_chrome_trace(format_path("kineto.pftrace"), [&](std::string_view text) { json += text; }, {});
  const Trace trace = read_text(json, "converted");
  expect_the_run(trace);
  EXPECT_EQ(trace.rank, 3);
  EXPECT_EQ(trace.devices.size(), 1U);
}

TEST(Perfetto, ArgumentsThatNestAreWrittenAsJson) {
  std::string json;
  convert_to_chrome_trace(format_path("rocprofv3.pftrace"), [&](std::string_view text) { json += text; }, {});
  EXPECT_THAT(
      json, HasSubstr(R"("args":{"correlation":41,"grid":[66,2,1],"of":{"a":"b"},"device":1,"stream":2}})"));
}

TEST(Perfetto, ACutFileGivesWhatIsThereAndSaysWhereItEnds) {
  const std::string bytes = read_file(format_path("kineto.pftrace"));
  const Trace trace = read_text(std::string_view(bytes).substr(0, bytes.size() - 3), "cut");
  expect_sound(trace);
  EXPECT_FALSE(trace.is_complete);
  ASSERT_GE(trace.problems.count, 1U);
  EXPECT_THAT(trace.problems.first.back().what, HasSubstr("ends inside a packet"));
  EXPECT_GT(trace.problems.first.back().offset, bytes.size() - 60);
  EXPECT_EQ(trace.gpu.size(), 2U);
  EXPECT_EQ(trace.problems.events_skipped, 1U);  // the cut slice has no end
}

TEST(Perfetto, AnEventWhoseNamesAreLostIsSaid) {
  const std::string event = std::string("\x48\x01\x50\x01", 4);  // begin, name 1
  const std::string packet =
      std::string("\x40\x05\x50\x07\x68\x02\x5a", 7) + static_cast<char>(event.size()) + event;
  const Trace trace = read_text("\n" + std::string(1, static_cast<char>(packet.size())) + packet, "lost");
  expect_sound(trace);
  ASSERT_EQ(trace.problems.events_skipped, 1U);
  EXPECT_THAT(trace.problems.first[0].what, HasSubstr("before the start of the file"));
}

TEST(Perfetto, CutAndChangedItIsReadOrRefused) {
  expect_robust("kineto.pftrace");
  expect_robust("rocprofv3.pftrace");
}

TEST(Xplane, PlanesOfDevicesGiveWorkAndThoseOfTheHostCalls) {
  const Trace trace = read(format_path("gpu.xplane.pb"));
  expect_sound(trace);
  EXPECT_EQ(trace.problems.count, 0U);
  EXPECT_EQ(event_of(trace, "gemm_fusion_dot"), EventRow(Category::kKernel, kBase + 20'000, 100'250, 77));
  EXPECT_EQ(trace.events.correlation[row_of(trace, "cudaLaunchKernel")], 77);
  EXPECT_EQ(trace.events.category[row_of(trace, "cudaLaunchKernel")], Category::kRuntime);
  EXPECT_EQ(trace.events.category[row_of(trace, "cuMemcpyDtoHAsync_v2")], Category::kDriver);
  const GpuDetail& work = work_of(trace, "gemm_fusion_dot");
  EXPECT_EQ(std::tuple(work.device, work.stream, work.registers_per_thread, work.grid[0], work.block[0]),
            std::tuple(0, 13, 122, 66U, 256U));
  EXPECT_EQ(trace.events.category[row_of(trace, "MemcpyD2H")], Category::kGpuMemcpy);
  EXPECT_EQ(work_of(trace, "MemcpyD2H").bytes, 1048576);
  EXPECT_EQ(trace.events.category[row_of(trace, "jit_step")], Category::kGpuAnnotation);
  EXPECT_EQ(trace.events.category[row_of(trace, "PjitFunction(step)")], Category::kCpuOp);
  EXPECT_EQ(trace.events.category[row_of(trace, "step_num#5")], Category::kUserAnnotation);
  ASSERT_EQ(trace.devices.size(), 1U);
  EXPECT_EQ(trace.devices[0].multiprocessors, 132);
  EXPECT_EQ(trace.devices[0].total_memory_bytes, 85017493504.0);
  EXPECT_EQ(trace.threads[trace.events.thread[row_of(trace, "gemm_fusion_dot")]].process_name,
            "/device:GPU:0");
}

TEST(Xplane, ConvertedItKeepsEveryDevice) {
  const std::string first = read_file(format_path("gpu.xplane.pb"));
  std::string second = first;
  second.replace(second.find("/device:GPU:0"), 13, "/device:GPU:1");
  const std::filesystem::path path = testing::TempDir() + "headroom-two-devices.xplane.pb";
  write_file_atomically(path, first + second);  // concatenated messages are one with all planes
  std::string json;
  convert_to_chrome_trace(path, [&](std::string_view text) { json += text; }, {});
  std::filesystem::remove(path);
  const Trace trace = read_text(json, "converted");
  expect_sound(trace);
  EXPECT_EQ(std::tuple(trace.devices.size(), trace.gpu.size()), std::tuple(2U, 4U));
}

TEST(Xplane, WhatJaxWroteOnACpuHasItsSteps) {
  const Trace trace = read(format_path("jax_cpu.xplane.pb"));
  expect_sound(trace);
  EXPECT_EQ(trace.problems.count, 0U);
  EXPECT_TRUE(trace.is_complete);
  EXPECT_EQ(trace.gpu.size(), 0U);
  EXPECT_GT(trace.events.duration_ns[row_of(trace, "step_num#0")], 0);
  EXPECT_GT(trace.events.duration_ns[row_of(trace, "step_num#1")], 0);
  EXPECT_EQ(step_set(trace).source, StepSource::kStepNum);
  EXPECT_EQ(step_set(trace).steps.front().number, 0);
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
