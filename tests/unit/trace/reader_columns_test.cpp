// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>
#include <tuple>

#include "headroom_trace/analysis.h"
#include "headroom_trace/columns/attribution.h"
#include "headroom_trace/columns/kernel_names.h"
#include "headroom_trace/index/trace_index.h"
#include "headroom_trace/readers/read.h"
#include "headroom_trace/work/memory.h"

namespace headroom::trace {
namespace {

Trace read_events(const std::string& events, Needs needs = Needs::kAll, const std::string& members = "") {
  ReadOptions options;
  options.needs = needs;
  return read_text("{" + members + "\"traceEvents\": [" + events + "]}", "test.json", options);
}

TEST(ReaderColumns, KernelWithAllItsArguments) {
  const Trace trace =
      read_events(R"json({"ph": "X", "cat": "kernel", "name": "void k<int>(float*)", "pid": 1, "tid": 7,
    "ts": 1669783687389324.125, "dur": 3.5, "args": {"External id": 73689, "queued": 0, "device": 1, "context": 1,
    "stream": 7, "correlation": 73690, "registers per thread": 16, "shared memory": 0, "blocks per SM": 0.3,
    "warps per SM": 1.2, "grid": [24, 2, 1], "block": [128, 1, 3], "est. achieved occupancy %": 2,
    "Collective name": "allreduce", "In msg nelems": 4096, "Out msg nelems": 4097, "Group size": 8, "dtype": "Float",
    "Process Group Name": "0", "Process Group Ranks": "[0, 1]"}})json");
  ASSERT_EQ(trace.events.size(), 1U);
  EXPECT_EQ(std::tuple(trace.events.start_ns[0], trace.events.duration_ns[0], trace.events.category[0]),
            std::tuple(1669783687389324125, 3500, Category::kKernel));
  EXPECT_EQ(trace.events.correlation[0], 73690);
  EXPECT_EQ(trace.names[trace.events.name[0]], "void k<int>(float*)");
  EXPECT_EQ(trace.threads[trace.events.thread[0]].pid, "1");
  EXPECT_EQ(trace.threads[trace.events.thread[0]].tid, "7");
  ASSERT_EQ(trace.gpu.size(), 1U);
  ASSERT_EQ(trace.events.detail[0], 0U);
  const GpuDetail& gpu = trace.gpu[0];
  EXPECT_EQ(std::tuple(gpu.device, gpu.stream, gpu.external_id), std::tuple(1, 7, 73689));
  EXPECT_FLOAT_EQ(gpu.blocks_per_sm, 0.3F);
  EXPECT_FLOAT_EQ(gpu.warps_per_sm, 1.2F);
  EXPECT_FLOAT_EQ(gpu.occupancy_percent, 2.0F);
  EXPECT_EQ(std::tuple(gpu.registers_per_thread, gpu.grid[0], gpu.grid[1], gpu.block[2]),
            std::tuple(16, 24U, 2U, 3U));
  ASSERT_EQ(gpu.collective, 0U);
  const Collective& collective = trace.collectives[0];
  EXPECT_EQ(trace.names[collective.name], "allreduce");
  EXPECT_EQ(trace.names[collective.group], "0");
  EXPECT_EQ(std::tuple(trace.names[collective.ranks], trace.names[collective.dtype], collective.elements_in),
            std::tuple("[0, 1]", "Float", 4096));
  EXPECT_EQ(std::tuple(collective.elements_out, collective.group_size), std::tuple(4097, 8));
}

TEST(ReaderColumns, OldKinetoWithTextThreadsAndLowerCaseIds) {
  const Trace trace =
      read_events(R"json({"ph": "X", "cat": "Memcpy", "name": "Memcpy HtoD", "pid": 0, "tid": "stream 7",
    "ts": 5, "dur": 2, "args": {"device": 0, "stream": 7, "correlation": 334, "external id": 4, "bytes": 1024,
    "memory bandwidth (GB/s)": 0.5}},
    {"ph": "X", "cat": "Runtime", "name": "cudaMemcpyAsync", "pid": 9, "tid": "9", "ts": 1, "dur": 1,
     "args": {"correlation": 334}})json");
  ASSERT_EQ(trace.events.size(), 2U);
  EXPECT_EQ(trace.events.category[0], Category::kGpuMemcpy);
  EXPECT_EQ(trace.events.category[1], Category::kRuntime);
  EXPECT_EQ(trace.threads[trace.events.thread[0]].tid, "stream 7");
  EXPECT_EQ(trace.events.correlation[1], 334);
  EXPECT_EQ(std::tuple(trace.gpu[0].external_id, trace.gpu[0].bytes, trace.gpu[0].bandwidth_gb_s),
            std::tuple(4, 1024, 0.5));
}

TEST(ReaderColumns, OperatorKeepsItsArgumentsAsJson) {
  const Trace trace = read_events(
      R"json({"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 1, "dur": 9,
    "args": {"External id": 12, "Sequence number": 7, "Fwd thread id": 2, "Input Dims": [[2, 3], [3, 4]],
    "Input type": ["float", "a\"b"], "Input Strides": [[3, 1]], "Concrete Inputs": ["", "1"],
    "Call stack": "a.py(1): f\nb.py(2): g"}})json");
  ASSERT_EQ(trace.ops.size(), 1U);
  const OpDetail& op = trace.ops[0];
  EXPECT_EQ(std::tuple(op.external_id, op.sequence, op.forward_thread, trace.names[op.dims]),
            std::tuple(12, 7, 2, "[[2, 3], [3, 4]]"));
  EXPECT_EQ(std::tuple(trace.names[op.types], trace.names[op.strides], trace.names[op.values]),
            std::tuple(R"json(["float", "a\"b"])json", "[[3, 1]]", R"json(["", "1"])json"));
  EXPECT_EQ(trace.names[op.stack], "a.py(1): f\nb.py(2): g");
}

TEST(ReaderColumns, SyncMemoryAndFlow) {
  const Trace trace =
      read_events(R"json({"ph": "X", "cat": "cuda_sync", "name": "Event Sync", "pid": 0, "tid": -1, "ts": 3,
    "dur": 4, "args": {"cuda_sync_kind": "Event Sync", "wait_on_stream": 9, "wait_on_cuda_event_record_corr_id": 21,
    "wait_on_cuda_event_id": 8, "stream": 6, "correlation": 24, "device": 0}},
    {"ph": "i", "s": "t", "name": "[memory]", "pid": 1, "tid": 1, "ts": 2.5, "args": {"Device Type": 1, "Device Id": 0,
     "Addr": 139926520725504, "Bytes": -512, "Total Allocated": 10, "Total Reserved": 20}},
    {"ph": "s", "id": 24, "pid": 1, "tid": 1, "ts": 1, "cat": "ac2g", "name": "ac2g"},
    {"ph": "f", "id": "0x18", "pid": 1, "tid": 2, "ts": 2, "cat": "ac2g", "name": "ac2g", "bp": "e"},
    {"ph": "t", "id": 24, "pid": 1, "tid": 1, "ts": 1, "cat": "ac2g", "name": "ac2g"})json");
  ASSERT_EQ(trace.syncs.size(), 1U);
  EXPECT_EQ(trace.names[trace.syncs[0].kind], "Event Sync");
  EXPECT_EQ(trace.syncs[0].wait_on_stream, 9);
  EXPECT_EQ(trace.syncs[0].wait_on_event_record_correlation, 21);
  EXPECT_EQ(std::tuple(trace.syncs[0].wait_on_event_id, trace.syncs[0].stream), std::tuple(8, 6));
  ASSERT_EQ(trace.memory.size(), 1U);
  EXPECT_EQ(std::tuple(trace.memory[0].at_ns, trace.memory[0].bytes, trace.memory[0].address),
            std::tuple(2500, -512, 139926520725504));
  EXPECT_EQ(trace.memory[0].total_reserved, 20);
  ASSERT_EQ(trace.flows.size(), 2U);
  EXPECT_EQ(std::tuple(trace.flows[0].is_start, trace.flows[0].id), std::tuple(true, trace.flows[1].id));
  EXPECT_EQ(trace.events_without_columns, 1U);
}

TEST(ReaderColumns, NamesOfProcessesAndThreadsBeforeOrAfterTheirEvents) {
  const Trace trace =
      read_events(R"json({"ph": "M", "name": "process_name", "pid": 3, "tid": 0, "args": {"name": "python"}},
    {"ph": "X", "name": "f", "cat": "cpu_op", "pid": 3, "tid": 4, "ts": 1, "dur": 1},
    {"ph": "M", "name": "process_labels", "pid": 3, "tid": 0, "args": {"labels": "GPU 3"}},
    {"ph": "M", "name": "thread_name", "pid": 3, "tid": 4, "args": {"name": "stream 7 "}})json");
  ASSERT_EQ(trace.events.size(), 1U);
  const Thread& thread = trace.threads[trace.events.thread[0]];
  EXPECT_EQ(std::tuple(thread.process_name, thread.process_labels, thread.thread_name),
            std::tuple("python", "GPU 3", "stream 7 "));
}

TEST(ReaderColumns, MembersBesideTheEvents) {
  const std::string kernel =
      R"json({"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 2, "dur": 1})json";
  const std::string members = R"json("schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "H100",
    "totalGlobalMem": 85018279936, "maxThreadsPerMultiprocessor": 2048, "warpSize": 32, "numSms": 132}],
    "distributedInfo": {"backend": "nccl", "rank": 5, "world_size": 16}, "baseTimeNanoseconds": 1735632360000000000,
    "else": [{"x": "]"}])json";
  const Trace before = read_events(kernel, Needs::kAll, members + ", ");
  const Trace after = read_text("{\"traceEvents\": [" + kernel + "], " + members + "}", "test.json");
  for (const Trace* trace : {&before, &after}) {
    EXPECT_EQ(trace->events.start_ns[0], 1735632360000002000);
    ASSERT_EQ(trace->devices.size(), 1U);
    EXPECT_EQ(std::tuple(trace->devices[0].name, trace->devices[0].multiprocessors), std::tuple("H100", 132));
    EXPECT_EQ(trace->devices[0].max_warps_per_multiprocessor(), 64);
    EXPECT_EQ(trace->devices[0].total_memory_bytes, 85018279936.0);
    EXPECT_EQ(std::tuple(trace->rank, trace->world_size, trace->communication_backend, trace->schema_version),
              std::tuple(5, 16, "nccl", 1));
    EXPECT_TRUE(trace->is_complete);
    EXPECT_EQ(trace->problems.count, 0U);
  }
}

TEST(ReaderColumns, DroppedRecordsAreAProblem) {
  const auto said = [](const std::string& value) {
    const Trace trace = read_text(R"({"traceEvents": [], "dropped_records": )" + value + "}", "test.json");
    return trace.problems.count == 0 ? std::string() : trace.problems.first.at(0).what;
  };
  EXPECT_EQ(said("0"), "");
  EXPECT_EQ(said("1").find("1 record was dropped"), 0U) << said("1");
  EXPECT_EQ(said("12").find("12 records were dropped"), 0U) << said("12");
  for (const char* wrong : {"-1", "\"many\"", "[]"}) {
    EXPECT_NE(said(wrong).find("not a number of records"), std::string::npos) << wrong;
  }
}

TEST(ReaderColumns, RankFromTheFilesName) {
  EXPECT_EQ(read_text("[]", "logs/run_rank12.json").rank, 12);
  EXPECT_EQ(read_text("[]", "logs/rank-3_iter16.pt.trace.json").rank, 3);
  EXPECT_EQ(read_text("[]", "logs/Rank[7]_trace.json").rank, 7);
  EXPECT_FALSE(read_text("[]", "frank.json").rank.has_value());
}

TEST(ReaderColumns, ViewersOfJaxSayByThreadWhatAnEventIs) {
  const std::string events =
      R"json({"ph": "M", "pid": 1, "name": "process_name", "args": {"name": "/device:GPU:0"}},
    {"ph": "M", "pid": 1, "tid": 13, "name": "thread_name", "args": {"name": "Stream #13(Compute)"
}
},
    {"ph": "M", "pid": 1, "tid": 2, "name": "thread_name", "args": {"name": "XLA Modules"}},
    {"ph": "M", "pid": 5, "name": "process_name", "args": {"name": "/host:CPU"}},
    {"ph": "X", "pid": 1, "tid": 13, "ts": 10, "dur": 2.25, "name": "loop_add_fusion", "args": {"correlation_id": 8}},
    {"ph": "X", "pid": 1, "tid": 13, "ts": 14, "dur": 1, "name": "MemcpyD2H"},
    {"ph": "X", "pid": 1, "tid": 2, "ts": 10, "dur": 9, "name": "jit_f"},
    {"ph": "X", "pid": 5, "tid": 1, "ts": 1, "dur": 9, "name": "cuLaunchKernel", "args": {"correlation_id": 8}},
    {"ph": "X", "pid": 5, "tid": 1, "ts": 1, "dur": 9, "name": "f.py:12"})json";
  const Trace all = read_events(events);
  const std::vector<Category> expected{Category::kKernel, Category::kGpuMemcpy, Category::kGpuAnnotation,
                                       Category::kRuntime, Category::kOther};
  EXPECT_EQ(all.events.category, expected);
  ASSERT_EQ(all.gpu.size(), 2U);
  EXPECT_EQ(std::tuple(all.gpu[0].device, all.gpu[0].stream), std::tuple(0, 13));
  EXPECT_EQ(all.events.correlation[0], 8);
  const Trace work = read_events(events, Needs::kGpuWork);
  EXPECT_EQ(work.events.size(), 2U);
  EXPECT_EQ(work.events_skipped_by_need, 3U);
  EXPECT_EQ(work.gpu[1].event, 1U);
}

/// XLA's viewer repeats operations by module and by operation.
TEST(ReaderColumns, RowsAboveTheStreamsAreNoWork) {
  const std::string names =
      R"json({"ph": "M", "pid": 1, "name": "process_name", "args": {"name": "/device:%:0"}},
    {"ph": "M", "pid": 1, "tid": 2, "name": "thread_name", "args": {"name": "XLA Modules"}},
    {"ph": "M", "pid": 1, "tid": 3, "name": "thread_name", "args": {"name": "XLA Ops"}},)json";
  const std::string stream =
      R"json({"ph": "M", "pid": 1, "tid": 13, "name": "thread_name", "args": {"name": "Stream #13(Compute)"}},
    {"ph": "X", "pid": 1, "tid": 13, "ts": 10, "dur": 2, "name": "loop_add_fusion"},)json";
  const std::string rows =
      R"json({"ph": "X", "pid": 1, "tid": 2, "ts": 10, "dur": 9, "name": "jit_f"},
    {"ph": "X", "pid": 1, "tid": 3, "ts": 10, "dur": 2, "name": "add.1"})json";
  const auto work = [&](const std::string& kind, bool has_streams) {
    std::string text = names + (has_streams ? stream : "") + rows;
    text.replace(text.find('%'), 1, kind);
    const Trace trace = read_events(text);
    std::vector<std::string> found;
    for (const GpuDetail& one : trace.gpu) found.emplace_back(trace.names[trace.events.name[one.event]]);
    return found;
  };
  EXPECT_EQ(work("GPU", true), std::vector<std::string>{"loop_add_fusion"});
  EXPECT_EQ(work("GPU", false), std::vector<std::string>{"add.1"});
  EXPECT_EQ(work("TPU", false), std::vector<std::string>{"add.1"});
}

TEST(ReaderColumns, WaitsOfMtiaAreNoWork) {
  const std::string events =
      R"json({"ph": "X", "cat": "mtia_ccp_events", "name": "pe_exe", "pid": 5, "tid": 1, "ts": 9000, "dur": 1000,
     "args": {"stream": 1}},
    {"ph": "X", "cat": "mtia_ccp_events", "name": "event_record", "pid": 5, "tid": 1, "ts": 10000.5, "dur": 0.3,
     "args": {"stream": 1}},
    {"args": {"stream": 2, "wait_on_stream": 1}, "dur": 9001, "ts": 1000, "tid": 2, "pid": 5, "name": "event_wait",
     "cat": "mtia_ccp_events", "ph": "X"},
    {"ph": "X", "cat": "kernel", "name": "event_wait", "pid": 5, "tid": 2, "ts": 10002, "dur": 500,
     "args": {"stream": 2}})json";
  const Trace trace = read_events(events);
  EXPECT_EQ(trace.events.category, (std::vector<Category>{Category::kKernel, Category::kGpuSync,
                                                          Category::kGpuSync, Category::kKernel}));
  ASSERT_EQ(trace.gpu.size(), 2U);
  EXPECT_EQ(trace.gpu[1].stream, 2);
  EXPECT_TRUE(trace.syncs.empty());  // no call is named
  const Trace work = read_events(events, Needs::kGpuWork);
  EXPECT_EQ(work.events.size(), 2U);
  EXPECT_EQ(work.events_skipped_by_need, 2U);
}

TEST(ReaderColumns, IntelsLaunchesAndQueues) {
  const Trace trace = read_events(
      R"json({"ph": "X", "cat": "xpu_runtime", "name": "urEnqueueKernelLaunch", "pid": 9, "tid": 9, "ts": 1, "dur": 1,
     "args": {"correlation": 5}},
    {"ph": "X", "cat": "xpu_driver", "name": "zeCommandListAppendLaunchKernel", "pid": 9, "tid": 9, "ts": 1.2,
     "dur": 0.5, "args": {"correlation": 6}},
    {"ph": "X", "cat": "kernel", "name": "gemm_kernel", "pid": 0, "tid": 3, "ts": 4, "dur": 2,
     "args": {"device": 0, "sycl queue": 3, "correlation": 5}},
    {"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy M2D (Memory -> Device)", "pid": 0, "tid": 3, "ts": 8, "dur": 2,
     "args": {"device": 0, "sycl queue": 3, "correlation": 6, "bytes": 64}})json");
  EXPECT_EQ(trace.events.category, (std::vector<Category>{Category::kRuntime, Category::kDriver,
                                                          Category::kKernel, Category::kGpuMemcpy}));
  EXPECT_EQ(launches(trace), (std::vector<std::uint32_t>{0, 1}));
  EXPECT_EQ(trace.gpu[0].stream, 3);
  EXPECT_EQ(transfer_kind(trace.names[trace.events.name[3]]), TransferKind::kHtoD);
  EXPECT_EQ(trace.problems.count, 0U);
}

TEST(ReaderColumns, AscendsHardwareIsADevice) {
  // torch_npu's trace_view.json: no device categories, times as strings, the device in the process's last
  // five bits.
  const Trace trace = read_events(
      R"json({"ph": "M", "pid": 4833, "tid": 0, "name": "process_name", "args": {"name": "Ascend Hardware"}},
    {"ph": "M", "pid": 4833, "tid": 42, "name": "thread_name", "args": {"name": "Stream 42"}},
    {"ph": "M", "pid": 4897, "tid": 0, "name": "process_name", "args": {"name": "Communication"}},
    {"ph": "M", "pid": 4897, "tid": 0, "name": "thread_name", "args": {"name": "Group 0 Communication"}},
    {"ph": "M", "pid": 4897, "tid": 1, "name": "thread_name", "args": {"name": "Plane 0"}},
    {"ph": "M", "pid": 4800, "tid": 0, "name": "process_name", "args": {"name": "CANN"}},
    {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 4, "tid": 4, "ts": "1700000000000001.250", "dur": 9, "args": {}},
    {"ph": "X", "name": "Node@launch", "pid": 4800, "tid": 4, "ts": "1700000000000002.250", "dur": 1,
     "args": {"Mode": "launch", "connection_id": 77}},
    {"ph": "X", "name": "MatMulV2", "pid": 4833, "tid": 42, "ts": "1700000000000010.500", "dur": 4,
     "args": {"Task Type": "AI_CORE", "connection_id": 77}},
    {"ph": "X", "name": "EVENT_WAIT", "pid": 4833, "tid": 42, "ts": "1700000000000015.0", "dur": 1, "args": {}},
    {"ph": "X", "name": "hcom_allReduce__721_0_1", "pid": 4897, "tid": 0, "ts": "1700000000000020.0", "dur": 5, "args": {}},
    {"ph": "X", "name": "Reduce_Inline", "pid": 4897, "tid": 1, "ts": "1700000000000020.0", "dur": 2, "args": {}})json");
  EXPECT_EQ(trace.problems.count, 0U);
  EXPECT_EQ(trace.events.category,
            (std::vector<Category>{Category::kCpuOp, Category::kRuntime, Category::kKernel,
                                   Category::kGpuAnnotation, Category::kKernel, Category::kGpuAnnotation}));
  EXPECT_EQ(trace.events.start_ns[2], 1700000000000010500);
  ASSERT_EQ(trace.gpu.size(), 2U);
  EXPECT_EQ(std::tuple(trace.gpu[0].device, trace.gpu[0].stream), std::tuple(1, 42));
  EXPECT_EQ(trace.gpu[1].device, 1);
  EXPECT_NE(trace.gpu[1].stream, 0);
  EXPECT_EQ(launches(trace), (std::vector<std::uint32_t>{1, kNone}));
  EXPECT_EQ(kernel_types(trace), (std::vector<KernelType>{KernelType::kCompute, KernelType::kCommunication}));
}

/// CANN's calls and work have different numbers.
TEST(ReaderColumns, AscendsLaunchesAreArrows) {
  const std::string events =
      R"json({"ph": "X", "cat": "cpu_op", "name": "aten::add_", "pid": 4, "tid": 4, "ts": "10.0", "dur": 9, "args": {"Sequence number": -1}},
    {"ph": "X", "cat": "cpu_op", "name": "aclnnInplaceAdd", "pid": 4, "tid": 4, "ts": "12.0", "dur": 3, "args": {}},
    {"ph": "s", "bp": "e", "name": "torch_to_npu", "id": 7, "pid": 4, "tid": 4, "ts": "12.0", "cat": "async_npu"},
    {"ph": "f", "bp": "e", "name": "torch_to_npu", "id": 7, "pid": 4833, "tid": 42, "ts": "40.5", "cat": "async_npu"},
    {"ph": "s", "bp": "e", "name": "torch_to_npu", "id": 8, "pid": 4, "tid": 4, "ts": "12.0", "cat": "async_npu"},
    {"ph": "f", "bp": "e", "name": "torch_to_npu", "id": 8, "pid": 4833, "tid": 42, "ts": "50.5", "cat": "async_npu"},
    {"ph": "X", "name": "AscendCL@aclnnInplaceAdd", "pid": 4800, "tid": 5, "ts": "20.0", "dur": 9, "args": {"connection_id": 77}},
    {"ph": "X", "name": "AscendCL@tiling", "pid": 4800, "tid": 5, "ts": "21.0", "dur": 1, "args": {"connection_id": 78}},
    {"name": "HostToDevice1", "ph": "s", "cat": "HostToDevice", "id": "38654705663", "pid": 4800, "tid": 5, "ts": "23.0"},
    {"name": "HostToDevice1", "ph": "f", "cat": "HostToDevice", "id": "38654705663", "pid": 4833, "tid": 42, "ts": "40.5", "bp": "e"},
    {"name": "HostToDevice2", "ph": "s", "cat": "HostToDevice", "id": "47244640255", "pid": 4800, "tid": 5, "ts": "25.0"},
    {"name": "HostToDevice2", "ph": "f", "cat": "HostToDevice", "id": "47244640255", "pid": 4833, "tid": 42, "ts": "50.5", "bp": "e"},
    {"ph": "X", "name": "Add", "pid": 4833, "tid": 42, "ts": "40.5", "dur": 4, "args": {"connection_id": 79}},
    {"ph": "X", "name": "Cast", "pid": 4833, "tid": 42, "ts": "50.5", "dur": 4, "args": {"connection_id": 80}},
    {"ph": "X", "name": "Own", "pid": 4833, "tid": 42, "ts": "60.5", "dur": 4, "args": {"connection_id": 81}},
    {"ph": "M", "pid": 4833, "tid": 0, "name": "process_name", "args": {"name": "Ascend Hardware"}},
    {"ph": "M", "pid": 4833, "tid": 42, "name": "thread_name", "args": {"name": "Stream 42"}},
    {"ph": "M", "pid": 4800, "tid": 0, "name": "process_name", "args": {"name": "CANN"}})json";
  for (const Needs needs : {Needs::kAll, Needs::kLaunches | Needs::kOps}) {
    const Trace trace = read_events(events, needs);
    ASSERT_EQ(trace.gpu.size(), 3U);
    EXPECT_EQ(trace.problems.count, 0U);
    std::vector<std::string> calls, ops;
    for (const std::uint32_t call : launches(trace))
      calls.emplace_back(call == kNone ? "none" : trace.names[trace.events.name[call]]);
    for (const std::uint32_t op : launching_ops(trace, launches(trace)))
      ops.emplace_back(op == kNone ? "none" : trace.names[trace.events.name[op]]);
    EXPECT_EQ(calls,
              (std::vector<std::string>{"AscendCL@aclnnInplaceAdd", "AscendCL@aclnnInplaceAdd", "none"}));
    EXPECT_EQ(ops, (std::vector<std::string>{"aclnnInplaceAdd", "aclnnInplaceAdd", "none"}));
    EXPECT_EQ(trace.flows.size(), has(needs, Needs::kFlows) ? 8U : 0U);
    EXPECT_EQ(trace.events_skipped_by_need, has(needs, Needs::kFlows) ? 0U : 8U);
  }
}

TEST(ReaderColumns, AnEventThatSaysNothingIsNoProblem) {
  const Trace trace = read_events(
      R"json({"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 2, "dur": 1}, {}, { })json");
  EXPECT_EQ(trace.events.size(), 1U);
  EXPECT_EQ(std::tuple(trace.events_seen, trace.events_without_columns), std::tuple(3U, 2U));
  EXPECT_EQ(trace.problems.count, 0U);
}

TEST(ReaderColumns, GlooOnTheCpuIsReadWithoutComplaint) {
  const Trace trace = read_events(
      R"json({"ph": "X", "cat": "user_annotation", "name": "gloo:all_reduce", "pid": 9, "tid": 11, "ts": 5, "dur": 20, "args": {}},
    {"ph": "X", "cat": "cpu_op", "name": "record_param_comms", "pid": 9, "tid": 9, "ts": 4, "dur": 1,
     "args": {"Collective name": "allreduce", "Process Group Name": "0", "Group size": 2, "dtype": "Float",
              "In msg nelems": 8, "Out msg nelems": 8}})json");
  EXPECT_EQ(std::tuple(trace.events.size(), trace.collectives.size()), std::tuple(2U, 1U));
  EXPECT_EQ(trace.problems.count, 0U);
  for (const Analysis* analysis : analyses())
    EXPECT_NO_THROW(analysis->analyze(TraceIndex(trace), {})) << analysis->name;
}

TEST(ReaderColumns, TimesThatAreNoWholeNanosecondsAreKeptWhereAsked) {
  const std::string events =
      R"json({"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 2.0004, "dur": 1.5},
    {"ph": "X", "cat": "kernel", "name": "l", "pid": 0, "tid": 7, "ts": 3.125, "dur": 1.25},
    {"ph": "X", "cat": "kernel", "name": "m", "pid": 0, "tid": 7, "ts": 4, "dur": "1e-4"})json";
  EXPECT_TRUE(read_events(events).precise_times.empty());
  const Trace trace = read_events(events, Needs::kPreciseTimes);
  ASSERT_EQ(trace.precise_times.size(), 2U);
  EXPECT_EQ(trace.precise_times[0].event, 0U);
  EXPECT_EQ(trace.precise_times[0].start_us, 2.0004);
  EXPECT_EQ(trace.precise_times[0].duration_us, 1.5);
  EXPECT_EQ(trace.precise_times[1].event, 2U);
  EXPECT_EQ(trace.precise_times[1].duration_us, 1e-4);
}

TEST(ReaderColumns, NeedsLeaveOutWhatNobodyAsksFor) {
  const std::string events =
      R"json({"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 2, "dur": 1, "args": {"grid": [1, 1, 1]}},
    {"ph": "X", "cat": "cuda_runtime", "name": "l", "pid": 1, "tid": 1, "ts": 1, "dur": 1},
    {"ph": "X", "cat": "cpu_op", "name": "o", "pid": 1, "tid": 1, "ts": 1, "dur": 1, "args": {"Input Dims": [], "External id": 5}},
    {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#1", "pid": 1, "tid": 1, "ts": 1, "dur": 1},
    {"ph": "X", "cat": "python_function", "name": "p", "pid": 1, "tid": 1, "ts": 1, "dur": 1})json";
  const Trace work = read_events(events, Needs::kGpuWork);
  EXPECT_EQ(work.events.category, (std::vector<Category>{Category::kKernel, Category::kUserAnnotation}));
  EXPECT_EQ(work.gpu[0].grid[0], 0U);
  EXPECT_EQ(work.events_skipped_by_need, 3U);
  EXPECT_EQ(work.names.find("p"), kNoName);
  const Trace ops = read_events(events, Needs::kOps | Needs::kLaunches);
  EXPECT_EQ(ops.events.size(), 4U);
  ASSERT_EQ(ops.ops.size(), 1U);
  EXPECT_EQ(std::tuple(ops.ops[0].external_id, ops.ops[0].dims), std::tuple(5, kNoName));
  const Trace events_of_ops = read_events(events, Needs::kOpEvents | Needs::kLaunches);
  EXPECT_EQ(events_of_ops.events.size(), 4U);
  EXPECT_TRUE(events_of_ops.ops.empty());
}

}  // namespace
}  // namespace headroom::trace
