// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <sqlite3.h>

#include <utility>
#include <vector>

#include "../packed_files.h"
#include "format_files.h"

namespace headroom::trace {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(Chakra, NodesAreOperatorsAndWorkOfTheDevice) {
  const Trace trace = read(format_path("chakra.et"));
  expect_sound(trace);
  EXPECT_EQ(trace.problems.count, 0U);
  ASSERT_EQ(trace.events.size(), 3U);
  const std::size_t op = row_of(trace, "aten::mm");
  EXPECT_EQ(std::tuple(trace.events.category[op], trace.events.start_ns[op], trace.events.duration_ns[op]),
            std::tuple(Category::kCpuOp, 1'000'000, 20'000));
  EXPECT_EQ(trace.names[trace.ops.at(trace.events.detail[op]).dims], "[[8,8],[]]");
  EXPECT_EQ(trace.events.category[row_of(trace, "sgemm")], Category::kKernel);
  EXPECT_EQ(work_of(trace, "sgemm").stream, 7);
  const OpDetail& all_reduce = trace.ops.at(trace.events.detail[row_of(trace, "all_reduce")]);
  ASSERT_NE(all_reduce.collective, kNone);
  EXPECT_EQ(trace.names[trace.collectives[all_reduce.collective].name], "all_reduce");
}

std::string chakra_text(const std::string& about) {
  const std::string node(
      "\x08\x01\x12\x08"
      "aten::mm\x18\x04\x30\xe8\x07\x38\x14",
      19);
  return static_cast<char>(about.size()) + about + static_cast<char>(node.size()) + node;
}

TEST(Chakra, TheMessageAboutTheFileMayLackTheVersion) {
  const std::string attributes("\x12\x0a\x0a\x06schema\xea\x01\x00", 13);
  for (const std::string& about : {std::string(), attributes.substr(0, 2) + "\x0a\x06schema" + "\x28\x01",
                                   std::string("\x0a\x05"
                                               "0.0.4"),
                                   std::string("\x0a\x00", 2)}) {
    const std::string bytes = chakra_text(about);
    const Trace trace = read_text(bytes, "et");
    expect_sound(trace);
    ASSERT_EQ(trace.events.size(), 1U) << about.size();
    EXPECT_EQ(trace.names[trace.events.name[0]], "aten::mm");
    EXPECT_EQ(trace.events.duration_ns[0], 20'000);
  }
}

TEST(Chakra, BytesThatAreNoNodeAreNoTraceOfIt) {
  for (const std::string& bytes : {std::string(64, '\0'), chakra_text("").substr(0, 12),
                                   std::string("\0\x04\x12\x02op", 6), std::string("\0\x02\x18\x04", 4)}) {
    EXPECT_THROW(read_text(bytes, "et"), Error) << bytes.size();
  }
}

TEST(Chakra, PyTorchsObserverGivesOperatorsInTheirOrder) {
  const Trace trace = read(format_path("pytorch_execution.json"));
  expect_sound(trace);
  EXPECT_EQ(trace.problems.count, 0U);
  const std::size_t op = row_of(trace, "aten::mm");
  ASSERT_EQ(trace.events.category[op], Category::kCpuOp);
  const OpDetail& detail = trace.ops.at(trace.events.detail[op]);
  EXPECT_EQ(std::tuple(trace.names[detail.dims], trace.names[detail.types], trace.names[detail.values]),
            std::tuple("[[8,8],[8,8]]", R"(["float","float"])", R"(["",""])"));
  EXPECT_EQ(trace.events.category[row_of(trace, "step")], Category::kUserAnnotation);
  EXPECT_EQ(trace.events.duration_ns[op], 0);  // no node has a duration
  const std::size_t relu = row_of(trace, "aten::clamp_min");
  EXPECT_EQ(trace.names[trace.ops.at(trace.events.detail[relu]).types], R"(["float","Scalar"])");
  EXPECT_EQ(trace.names[trace.ops.at(trace.events.detail[relu]).values], R"(["","0"])");
}

TEST(Formats, ATraceKnowsItsWriter) {
  const std::vector<std::pair<const char*, Writer>> files{
      {"chakra.et", Writer::kChakra},       {"pytorch_execution.json", Writer::kPyTorch},
      {"kineto.pftrace", Writer::kPyTorch}, {"rocprofv3.pftrace", Writer::kUnknown},
      {"gpu.xplane.pb", Writer::kJax},      {"nsight.sqlite", Writer::kNsight},
      {"rocprofv3.json", Writer::kRocprof}, {"snapshot_protocol5.pickle", Writer::kPyTorch}};
  for (const auto& [name, writer] : files) EXPECT_EQ(read(format_path(name)).writer, writer) << name;
  const auto of = [](const std::string& events) { return read_text("[" + events + "]", "t.json").writer; };
  const std::string device = R"({"ph":"M","pid":1,"name":"process_name","args":{"name":"%"}},)"
                             R"({"ph":"X","pid":1,"tid":3,"ts":1,"dur":1,"name":"e"})";
  const auto named = [&](const char* name) { return std::string(device).replace(device.find('%'), 1, name); };
  EXPECT_EQ(of(named("/device:GPU:0")), Writer::kJax);
  EXPECT_EQ(of(named("Ascend Hardware")), Writer::kAscend);
  EXPECT_EQ(of(named("python")), Writer::kUnknown);
  EXPECT_EQ(of(R"({"ph":"X","cat":"cpu_op","pid":1,"tid":3,"ts":1,"dur":1,"name":"aten::mm"})"),
            Writer::kPyTorch);
  EXPECT_EQ(read_text(R"({"schemaVersion": 1, "traceEvents": []})", "t.json").writer, Writer::kPyTorch);
}

TEST(Chakra, CutAndChangedTheyAreReadOrRefused) {
  expect_robust("chakra.et");
  expect_robust("pytorch_execution.json", 1500);
}

std::string refusal_of(const std::string& name, const std::string& bytes) {
  const std::filesystem::path path = testing::TempDir() + name;
  write_file_atomically(path, bytes);
  std::string said;
  try {
    read(path);
  } catch (const Error& error) {
    said = error.what();
  }
  std::filesystem::remove(path);
  return said;
}

TEST(Lookalikes, AFileThatIsNoTraceSaysWhatItLooksLike) {
  const std::vector<std::pair<std::string, const char*>> files{
      {"\x7f"
       "ELF\x02\x01\x01",
       "ELF"},
      {"\x89PNG\r\n\x1a\n", "PNG"},
      {"PERFILE2abcdefgh", "perf.data"},
      {"<!DOCTYPE html><html></html>", "HTML"},
      {"name,calls,time\na,1,2\nb,3,4\n", "CSV"},
      {"%PDF-1.7", "PDF"},
      {"\xfd"
       "7zXZ",
       "xz -d"},
      {std::string("\x80\x04K\x01.", 5), "pickle"},
      {std::string(257, '\0') + "ustar", "tar archive"},
  };
  for (const auto& [bytes, what] : files)
    EXPECT_THAT(refusal_of("headroom-lookalike", bytes), AllOf(HasSubstr("looks like"), HasSubstr(what)))
        << what;
}

TEST(Lookalikes, AReportOfNsightSystemsSaysHowToExportIt) {
  for (const char* name : {"run.nsys-rep", "run.qdrep"}) {
    EXPECT_THAT(
        refusal_of(name, "\x01\x02 something of its own"),
        AllOf(HasSubstr("Nsight Systems report"), HasSubstr("nsys export --type sqlite"), HasSubstr(name)));
  }
  EXPECT_EQ(refusal_of("trace.nsys-rep", R"({"traceEvents": []})"), "");
}

TEST(Lookalikes, WhatNobodyKnowsIsNoChromeTrace) {
  EXPECT_THAT(refusal_of("headroom-unknown", "nothing"), HasSubstr("not a Chrome trace"));
}

void expect_the_nsight_run(const Trace& trace) {
  expect_sound(trace);
  EXPECT_EQ(trace.problems.count, 0U);
  const char* const kernel = "sgemm_128x64_nn(float*, float*)";
  const std::int64_t correlation = trace.events.correlation[row_of(trace, "cudaLaunchKernel")];
  EXPECT_EQ(event_of(trace, kernel), EventRow(Category::kKernel, 20'000, 100'250, correlation));
  const GpuDetail& work = work_of(trace, kernel);
  EXPECT_EQ(std::tuple(work.device, work.stream, work.registers_per_thread, work.grid[0]),
            std::tuple(0, 7, 122, 66U));
  EXPECT_EQ(trace.events.category[row_of(trace, "cudaLaunchKernel")], Category::kRuntime);
  EXPECT_EQ(place_of(trace, "cudaLaunchKernel"), "4242/4243");
}

TEST(Nsight, TablesBecomeTheColumnsOfATrace) {
  const Trace trace = read(format_path("nsight.sqlite"));
  expect_the_nsight_run(trace);
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
  EXPECT_EQ(trace.devices[0].id, 0);  // CUDA's number, not the machine's
  EXPECT_EQ(trace.devices[0].max_threads_per_multiprocessor, 2048);
  EXPECT_EQ(trace.events_without_columns, 4U);  // a mark, names of process and stream
}

TEST(Nsight, PackedOrFromMemoryItIsTheSame) {
  const std::string bytes = read_file(format_path("nsight.sqlite"));
  expect_the_nsight_run(read_text(bytes, "memory"));
  const std::filesystem::path path = testing::TempDir() + "headroom nsight #1.sqlite";
  for (const std::string& file : {gzip_of(bytes), bytes}) {
    write_file_atomically(path, file);
    expect_the_nsight_run(read(path));
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
    EXPECT_THAT(error.what(), AllOf(HasSubstr("not an Nsight Systems export"), HasSubstr("'runs'"),
                                    HasSubstr("nsys export --type sqlite")));
  }
  sqlite3_free(bytes);
  sqlite3_close(database);
}

TEST(Nsight, CutAndChangedItIsReadOrRefused) {
  expect_robust("nsight.sqlite", 3000);
}

void expect_the_rocprof_run(const Trace& trace) {
  expect_sound(trace);
  EXPECT_EQ(trace.problems.count, 0U);
  EXPECT_TRUE(trace.is_complete);
  const std::size_t call = row_of(trace, "hipLaunchKernel");
  EXPECT_EQ(event_of(trace, "axpy(float*)"),
            EventRow(Category::kKernel, 20'000, 100'250, trace.events.correlation[call]));
  EXPECT_EQ(trace.events.category[call], Category::kRuntime);
  EXPECT_EQ(place_of(trace, "hipLaunchKernel"), "321/322");
}

TEST(Rocprofv3, RecordsBecomeTheColumnsOfATrace) {
  const Trace trace = read(format_path("rocprofv3.json"));
  expect_the_rocprof_run(trace);
  const GpuDetail& work = work_of(trace, "axpy(float*)");
  EXPECT_EQ(std::tuple(work.device, work.stream), std::tuple(0, 2));
  EXPECT_EQ(work.grid[0], 66U);  // 16,800 work-items in groups of 256
  EXPECT_EQ(work.block[0], 256U);
  const GpuDetail& copy = work_of(trace, "MEMORY_COPY_DEVICE_TO_HOST");
  EXPECT_EQ(std::tuple(copy.device, copy.bytes), std::tuple(0, 1048576));
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
  expect_the_rocprof_run(read_text(text, "moved"));
}

TEST(Rocprofv3, ARecordThatCannotBeReadIsCountedAndLocated) {
  std::string text = read_file(format_path("rocprofv3.json"));
  const std::size_t at = text.find("\"start_timestamp\": 5000");
  text.replace(at, 23, "\"start_timestamp\": \"x\" ");
  const Trace trace = read_text(text, "changed");
  expect_sound(trace);
  ASSERT_EQ(trace.problems.events_skipped, 1U);
  EXPECT_THAT(trace.problems.first[0].what, HasSubstr("invalid start or end"));
  EXPECT_GT(trace.problems.first[0].offset, at - 300);
  EXPECT_LT(trace.problems.first[0].offset, at);
}

TEST(Rocprofv3, CutAndChangedItIsReadOrRefused) {
  expect_robust("rocprofv3.json", 2000);
}

}  // namespace
}  // namespace headroom::trace
