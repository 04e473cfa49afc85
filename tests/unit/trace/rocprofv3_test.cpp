// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "format_files.h"

namespace headroom::trace {
namespace {

using ::testing::HasSubstr;

void expect_the_run(const Trace& trace) {
  expect_sound(trace);
  EXPECT_EQ(trace.problems.count, 0U);
  EXPECT_TRUE(trace.is_complete);
  const std::size_t kernel = row_of(trace, "axpy(float*)"), call = row_of(trace, "hipLaunchKernel");
  EXPECT_EQ(trace.events.category[kernel], Category::kKernel);
  EXPECT_EQ(trace.events.start_ns[kernel], 20'000);
  EXPECT_EQ(trace.events.duration_ns[kernel], 100'250);
  EXPECT_EQ(trace.events.category[call], Category::kRuntime);
  EXPECT_EQ(trace.events.correlation[call], trace.events.correlation[kernel]);
  EXPECT_EQ(trace.threads[trace.events.thread[call]].pid, "321");
  EXPECT_EQ(trace.threads[trace.events.thread[call]].tid, "322");
}

TEST(Rocprofv3, RecordsBecomeTheColumnsOfATrace) {
  const Trace trace = read(format_path("rocprofv3.json"));
  expect_the_run(trace);
  const GpuDetail& work = work_of(trace, "axpy(float*)");
  EXPECT_EQ(work.device, 0);
  EXPECT_EQ(work.stream, 2);
  EXPECT_EQ(work.grid[0], 66U);  // 16,800 work-items in groups of 256
  EXPECT_EQ(work.block[0], 256U);
  const GpuDetail& copy = work_of(trace, "MEMORY_COPY_DEVICE_TO_HOST");
  EXPECT_EQ(copy.device, 0);
  EXPECT_EQ(copy.bytes, 1048576);
  EXPECT_EQ(trace.events.category[row_of(trace, "ProfilerStep#5")], Category::kUserAnnotation);
  ASSERT_EQ(trace.devices.size(), 1U);
  EXPECT_EQ(trace.devices[0].name, "AMD Instinct MI300X");
  EXPECT_EQ(trace.devices[0].multiprocessors, 304);
}

TEST(Rocprofv3, TablesMayStandBehindTheRecords) {
  std::string text = read_file(format_path("rocprofv3.json"));
  const std::size_t records = text.find("\"buffer_records\": {"), metadata = text.find("\"metadata\"");
  const std::size_t end = text.rfind("}\n ]");
  const std::string moved = text.substr(records, end - records);
  text = text.substr(0, metadata) + moved + ",\n" +
         text.substr(metadata, text.rfind(',', records) - metadata) + "}]}";
  expect_the_run(read_text(text, "moved"));
}

TEST(Rocprofv3, ARecordThatCannotBeReadIsCountedAndLocated) {
  std::string text = read_file(format_path("rocprofv3.json"));
  const std::size_t at = text.find("\"start_timestamp\": 5000");
  text.replace(at, 23, "\"start_timestamp\": \"x\" ");
  const Trace trace = read_text(text, "changed");
  expect_sound(trace);
  ASSERT_EQ(trace.problems.events_skipped, 1U);
  EXPECT_THAT(trace.problems.first[0].what, HasSubstr("no times"));
  EXPECT_GT(trace.problems.first[0].offset, at - 300);
  EXPECT_LT(trace.problems.first[0].offset, at);
}

TEST(Rocprofv3, CutAndChangedItIsReadOrRefused) {
  expect_robust("rocprofv3.json", 2000);
}

}  // namespace
}  // namespace headroom::trace
