// SPDX-License-Identifier: Apache-2.0
#include "headroom_cuda_device/cupti/cupti_recorder.h"

#include <cuda_runtime_api.h>
#include <gmock/gmock.h>

#include <filesystem>
#include <string>
#include <vector>

#include "../error_message.h"
#include "headroom/trace/readers/read.h"
#include "headroom/trace/recording/seed_utilization.h"
#include "headroom/trace/work/trace_checks.h"
#include "headroom_cuda_device/cuda_check.h"

namespace headroom::cuda {
namespace {

using testing::AnyOf;
using testing::HasSubstr;

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
                AnyOf(HasSubstr("cudaGetDeviceCount failed"), HasSubstr("CUPTI, which records")));
  }
  EXPECT_THAT(test::message_of([&] { trace::record_call<CuptiRecorder>(file.string(), [] {}); }),
              HasSubstr("CU"));
  EXPECT_FALSE(std::filesystem::exists(file));
}

TEST_F(Recorded, StopNeedsAStart) {
  CuptiRecorder recorder(file);
  EXPECT_THAT(test::message_of([&] { recorder.stop(); }), HasSubstr("was stopped without a start"));
}

/// Fills memory of the device and fetches it.
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
  EXPECT_GT(trace::seed_utilization(trace, 1e-3).utilization, 0);
}

}  // namespace
}  // namespace headroom::cuda
