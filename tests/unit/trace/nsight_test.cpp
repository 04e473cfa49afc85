// SPDX-License-Identifier: Apache-2.0
// Exports of Nsight Systems, and databases that are none.
#include <gmock/gmock.h>
#include <sqlite3.h>

#include "format_files.h"
#include "packed_files.h"

namespace headroom::trace {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

void expect_the_run(const Trace& trace) {
  expect_sound(trace);
  EXPECT_EQ(trace.problems.count, 0U);
  const std::size_t kernel = row_of(trace, "sgemm_128x64_nn(float*, float*)");
  EXPECT_EQ(trace.events.category[kernel], Category::kKernel);
  EXPECT_EQ(trace.events.start_ns[kernel], 20'000);
  EXPECT_EQ(trace.events.duration_ns[kernel], 100'250);
  const GpuDetail& work = work_of(trace, "sgemm_128x64_nn(float*, float*)");
  EXPECT_EQ(work.device, 0);
  EXPECT_EQ(work.stream, 7);
  EXPECT_EQ(work.registers_per_thread, 122);
  EXPECT_EQ(work.grid[0], 66U);
  const std::size_t call = row_of(trace, "cudaLaunchKernel");
  EXPECT_EQ(trace.events.category[call], Category::kRuntime);
  EXPECT_EQ(trace.events.correlation[call], trace.events.correlation[kernel]);
  EXPECT_EQ(trace.threads[trace.events.thread[call]].pid, "4242");
  EXPECT_EQ(trace.threads[trace.events.thread[call]].tid, "4243");
}

TEST(Nsight, TablesBecomeTheColumnsOfATrace) {
  const Trace trace = read(format_path("nsight.sqlite"));
  expect_the_run(trace);
  EXPECT_EQ(trace.events.category[row_of(trace, "cuMemsetD8Async")], Category::kDriver);
  const GpuDetail& copy = work_of(trace, "Memcpy DtoH (Device -> Pageable)");
  EXPECT_EQ(copy.bytes, 1048576);
  EXPECT_DOUBLE_EQ(copy.bandwidth_gb_s, 20.97152);
  EXPECT_EQ(work_of(trace, "Memset (Device)").bytes, 4096);
  ASSERT_EQ(trace.syncs.size(), 1U);
  EXPECT_EQ(trace.names[trace.syncs[0].kind], "Stream Sync");
  const std::size_t op = row_of(trace, "aten::mm");
  EXPECT_EQ(trace.events.category[op], Category::kCpuOp);
  EXPECT_EQ(trace.ops.at(trace.events.detail[op]).sequence, 12);
  EXPECT_EQ(trace.events.category[row_of(trace, "ProfilerStep#5")], Category::kUserAnnotation);
  ASSERT_EQ(trace.devices.size(), 1U);
  EXPECT_EQ(trace.devices[0].id, 0);  // CUDA's number, which is not the machine's
  EXPECT_EQ(trace.devices[0].max_threads_per_multiprocessor, 2048);
  EXPECT_EQ(trace.events_without_columns, 4U);  // a mark, and what names process and stream
}

TEST(Nsight, PackedOrFromMemoryItIsTheSame) {
  const std::string bytes = read_file(format_path("nsight.sqlite"));
  expect_the_run(read_text(bytes, "memory"));
  const std::filesystem::path path = testing::TempDir() + "headroom nsight #1.sqlite";
  for (const std::string& file : {gzip_of(bytes), bytes}) {
    write_file_atomically(path, file);
    expect_the_run(read(path));
  }
  std::filesystem::remove(path);
}

TEST(Nsight, ADatabaseOfAnotherKindIsCalledThat) {
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open(":memory:", &database), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(database, "CREATE TABLE runs (id); CREATE VIEW NVTX_EVENTS AS SELECT 1", nullptr,
                         nullptr, nullptr),
            SQLITE_OK);
  sqlite3_int64 size = 0;
  unsigned char* const bytes = sqlite3_serialize(database, "main", &size, 0);
  try {
    read_text({reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size)}, "other.db");
    ADD_FAILURE() << "it was read";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("SQLite database of another kind"), HasSubstr("'runs'"),
                                    HasSubstr("nsys export --type sqlite")));
  }
  sqlite3_free(bytes);
  sqlite3_close(database);
}

TEST(Nsight, CutAndChangedItIsReadOrRefused) {
  expect_robust("nsight.sqlite", 3000);
}

}  // namespace
}  // namespace headroom::trace
