// SPDX-License-Identifier: Apache-2.0
#include <iterator>

#include "analysis_run.h"
#include "headroom_trace/findings/advice.h"
#include "headroom_trace/findings/findings.h"
#include "trace_builder.h"

namespace headroom::trace {
namespace {

struct FoundRow {
  std::string kind, op, module, line, evidence, fix;
  std::int64_t step = -1, rank = -1;
  double recoverable_ns = 0, further_ns = 0, share = 0;
};

std::vector<FoundRow> found(const AnalysisResult& result) {
  const DataTable& table = table_of(result, kFindingTable);
  std::vector<FoundRow> rows;
  for (std::size_t row = 0; row < table.rows.size(); ++row) {
    const auto text_in = [&](const char* key) {
      return is_nothing(table, row, key) ? "" : text(table, row, key);
    };
    const auto whole_in = [&](const char* key) {
      return is_nothing(table, row, key) ? -1 : integer(table, row, key);
    };
    rows.push_back({text_in("kind"), text_in("op"), text_in("module"), text_in("line"), text_in("evidence"),
                    text_in("fix"), whole_in("step"), whole_in("rank"), number(table, row, "recoverable_ns"),
                    number(table, row, "further_ns"), number(table, row, "share")});
  }
  return rows;
}

bool has_kind(const AnalysisResult& result, const std::string& kind) {
  return std::ranges::count(found(result), kind, &FoundRow::kind) > 0;
}

FoundRow found(const AnalysisResult& result, const std::string& kind) {
  for (const FoundRow& row : found(result)) {
    if (row.kind == kind) return row;
  }
  throw std::invalid_argument("no finding " + kind);
}

AnalysisResult findings_of(const TraceBuilder& builder) {
  return run_analysis("findings", builder.trace);
}

FoundRow only_finding(const TraceBuilder& builder, const std::string& kind) {
  const AnalysisResult result = findings_of(builder);
  EXPECT_EQ(found(result).size(), 1U);
  return found(result, kind);
}

/// 10 ms a step: a launch, a kernel of 9 ms, a wait.
TraceBuilder steady(int steps, std::int64_t kernel_ns = 9 * kMs) {
  TraceBuilder builder;
  builder.trace.writer = Writer::kPyTorch;
  for (int i = 0; i < steps; ++i) {
    const std::int64_t at = i * 10 * kMs;
    builder.step(i, at, 10 * kMs);
    builder.op("aten::mm", at, 20 * kUs);
    builder.launch(at + 10 * kUs, 5 * kUs, "sgemm", at + 30 * kUs, kernel_ns, i + 1);
    builder.runtime("cudaDeviceSynchronize", at + 50 * kUs, kernel_ns - 15 * kUs, 1000 + i);
  }
  return builder;
}

TEST(Findings, HostWorkThatTheDeviceWaitsForIsNamedWithItsLine) {
  TraceBuilder builder = steady(5);
  for (int i = 0; i < 5; ++i) {
    const std::int64_t at = i * 10 * kMs + 9 * kMs + 40 * kUs;
    builder.python("train.py(12): augment", at, 900 * kUs);
    builder.op("aten::randperm", at + 10 * kUs, 880 * kUs);
  }
  const FoundRow row = only_finding(builder, "host_bound");
  EXPECT_EQ(std::tuple(row.op, row.line), std::tuple("aten::randperm", "train.py(12): augment"));
  EXPECT_NEAR(row.recoverable_ns, 880e3, 20e3);
}

TEST(Findings, AHostThatIsLateInSeveralPlacesIsOneFinding) {
  TraceBuilder builder;
  for (int i = 0; i < 5; ++i) {
    builder.step(i, i * 10 * kMs, 10 * kMs);
    builder.launch(i * 10 * kMs + 10 * kUs, 5 * kUs, "sgemm", i * 10 * kMs + 30 * kUs, 6 * kMs, i + 1);
    const std::int64_t at = i * 10 * kMs + 6 * kMs + 40 * kUs;
    builder.python("train.py(12): augment", at, 1200 * kUs);
    builder.op("aten::randperm", at + 10 * kUs, 1100 * kUs);
    builder.python("train.py(30): log", at + 1300 * kUs, 800 * kUs);
    builder.op("aten::sort", at + 2200 * kUs, 400 * kUs);
    builder.op("aten::unique", at + 2700 * kUs, 300 * kUs);
  }
  const AnalysisResult result = findings_of(builder);
  EXPECT_EQ(std::ranges::count(found(result), "host_bound", &FoundRow::kind), 1);
  const FoundRow row = found(result, "host_bound");
  EXPECT_EQ(std::tuple(row.op, row.line), std::tuple("aten::randperm", "train.py(12): augment"));
  EXPECT_THAT(
      row.evidence,
      HasSubstr(
          "1.10 ms/step in aten::randperm (train.py(12): augment), 800 µs/step in train.py(30): log, "));
  EXPECT_THAT(row.evidence, HasSubstr("2.08 ms/step in 4 other places (1.28 ms/step in unrecorded code, 400 "
                                      "µs/step in aten::sort, 300 µs/step in aten::unique, ...)"));
  // All together, once.
  EXPECT_NEAR(row.recoverable_ns, (1.10 + 0.80 + 2.08) * 1e6, 10e3);
}

/// The host reads a value, works for 0.9 ms, and launches. `wait` reads until 4,050 us after the step's
/// start; `ops` of 30 parts of the work are operators.
template <typename Wait>
AnalysisResult with_waits(const Wait& wait, int ops = 30) {
  TraceBuilder builder;
  for (int i = 0; i < 5; ++i) {
    const std::int64_t at = i * 10 * kMs;
    builder.step(i, at, 10 * kMs);
    builder.launch(at + 10 * kUs, 5 * kUs, "sgemm", at + 30 * kUs, 4 * kMs, 10 * i + 1);
    wait(builder, at + 100 * kUs, 10 * i + 2);
    for (int op = 0; op < ops; ++op)
      builder.op("aten::op" + std::to_string(op), at + (4'060 + 30 * op) * kUs, 28 * kUs);
    if (ops < 30) builder.op("aten::sort", at + (4'060 + 30 * ops) * kUs, (30 * (30 - ops) - 2) * kUs);
    builder.launch(at + 5 * kMs, 5 * kUs, "sgemm", at + 5'020 * kUs, 4'900 * kUs, 10 * i + 5);
  }
  return findings_of(builder);
}

void read_value(TraceBuilder& builder, std::int64_t at, std::int64_t correlation) {
  builder.op("aten::item", at, 3'960 * kUs);
  builder.runtime("cudaMemcpyAsync", at + 5 * kUs, 5 * kUs, correlation);
  builder.gpu(Category::kGpuMemcpy, "Memcpy DtoH (Device -> Pinned)", at + 3'932 * kUs, 2 * kUs, correlation);
  builder.runtime("cudaStreamSynchronize", at + 20 * kUs, 3'930 * kUs, correlation + 1);
  builder.sync("Stream Synchronize", at + 20 * kUs, 3'914 * kUs, correlation + 1, 0, 7);
}

TEST(Findings, AValueThatTheHostReadsIsASynchronisation) {
  const AnalysisResult result = with_waits(read_value);
  const FoundRow row = found(result, "synchronisation");
  EXPECT_EQ(row.op, "aten::item");
  EXPECT_THAT(row.evidence,
              AllOf(HasSubstr("cudaStreamSynchronize in aten::item waits for the GPU 1.00 times per step "
                              "(3.91 ms/step, longest 3.91 ms for Memcpy DtoH (Device -> Pinned)); "),
                    Not(HasSubstr("run ahead"))));
  // The device's computing, 8.9 of 10 ms, remains.
  EXPECT_NEAR(row.recoverable_ns, 1.1e6, 20e3);
}

TEST(Findings, AWaitThatKeepsTheHostFromRunningAheadSaysSo) {
  TraceBuilder builder;
  for (int i = 0; i < 5; ++i) {
    const std::int64_t at = i * 10 * kMs, woken = at + 4 * kMs + 50 * kUs;
    builder.step(i, at, 10 * kMs);
    builder.launch(at + 10 * kUs, 5 * kUs, "sgemm", at + 30 * kUs, 4 * kMs, 1000 * i + 1);
    builder.runtime("cudaDeviceSynchronize", at + 100 * kUs, woken - at - 100 * kUs, 1000 * i + 2);
    for (int one = 0; one < 40; ++one) {
      builder.launch(woken + (100 + 60 * one) * kUs, 5 * kUs, "add", woken + (110 + 60 * one) * kUs, 20 * kUs,
                     1000 * i + 10 + one);
    }
  }
  const FoundRow row = found(findings_of(builder), "synchronisation");
  EXPECT_GT(row.recoverable_ns, 500e3);
  EXPECT_THAT(row.evidence, AllOf(HasSubstr("longest 3.93 ms for sgemm"),
                                  HasSubstr("GPU idle for 130 µs/step"), HasSubstr("run ahead")));
}

TEST(Findings, ThatOverlapHaveEachItsOwnGain) {
  const AnalysisResult result = with_waits(read_value, 10);
  ASSERT_EQ(found(result).size(), 2U);
  EXPECT_EQ(found(result)[0].kind, "synchronisation");
  EXPECT_NEAR(found(result)[0].recoverable_ns, 1.1e6, 20e3);
  EXPECT_EQ(found(result)[1].op, "aten::sort");
  EXPECT_NEAR(found(result)[1].recoverable_ns, 0.6e6, 20e3);
  EXPECT_NEAR(found(result)[1].further_ns, 0, 1e3);
  EXPECT_NEAR(headline(result, "recoverable_ns"), 1.1e6, 20e3);
  EXPECT_THAT(result.answer, Contains(HasSubstr("1 and 2 overlap: 1.09 ms for both")));
  EXPECT_THAT(result.standing[0], HasSubstr("two findings save 10.9 %"));
  EXPECT_EQ(found(with_waits(read_value)).size(), 1U);
}

/// Host-bound: 20 values a step, each in an operator of 40 us with 15 us of calls; half return at once.
AnalysisResult reading_on_a_slow_host(bool launches) {
  TraceBuilder builder;
  std::int64_t correlation = 0;
  for (int step = 0; step < 4; ++step) {
    builder.step(step, step * 2'200 * kUs, 2'100 * kUs);
    for (int value = 0; value < 20; ++value) {
      const std::int64_t at = (step * 2'200 + value * 105) * kUs;
      builder.runtime("cudaLaunchKernel", at, 5 * kUs, ++correlation);
      builder.kernel("gemm", at + 8 * kUs, 5 * kUs, correlation);
      builder.op("aten::item", at + 20 * kUs, 40 * kUs);
      if (launches) {
        builder.runtime("cudaLaunchKernel", at + 21 * kUs, kUs, ++correlation);
        builder.kernel("nonzero", at + 25 * kUs, 2 * kUs, correlation);
      }
      builder.runtime("cudaMemcpyAsync", at + 23 * kUs, 5 * kUs, ++correlation);
      builder.gpu(Category::kGpuMemcpy, "Memcpy DtoH (Device -> Pinned)",
                  at + (value % 2 == 0 ? 44 : 30) * kUs, kUs, correlation);
      builder.runtime("cudaStreamSynchronize", at + 40 * kUs, 10 * kUs, ++correlation);
    }
  }
  return findings_of(builder);
}

TEST(Findings, AWaitIsGoneWithTheOperatorThatDoesNothingElse) {
  for (const auto& [launches, of_each_us] : {std::pair{false, 40}, std::pair{true, 15}}) {
    const AnalysisResult result = reading_on_a_slow_host(launches);
    const FoundRow row = found(result, "synchronisation");
    EXPECT_NEAR(row.recoverable_ns, 20e3 * of_each_us, 50e3) << launches;
    EXPECT_THAT(row.evidence, HasSubstr("10.0 times per step"));
  }
}

TEST(Findings, AWaitRightBehindAnAllocationIsTheAllocations) {
  const AnalysisResult result =
      with_waits([](TraceBuilder& builder, std::int64_t at, std::int64_t correlation) {
        builder.runtime("cudaMalloc", at, 50 * kUs);
        builder.runtime("cudaDeviceSynchronize", at + 50 * kUs, 3'900 * kUs, correlation);
      });
  EXPECT_THAT(
      found(result, "device_allocation").evidence,
      HasSubstr("5 calls that allocate or free GPU memory take 50.0 µs/step of CPU time, 5 of them wait"));
  EXPECT_FALSE(has_kind(result, "synchronisation"));
}

TEST(Findings, CopiesAreToBePinnedWhereMostOfThemAreNot) {
  const auto fix_of = [](int pageable, int pinned) {
    TraceBuilder builder = steady(4, 5 * kMs);
    for (int i = 0; i < 4; ++i) {
      std::int64_t at = i * 10 * kMs + 5'100 * kUs;
      for (int copy = 0; copy < pageable + pinned; ++copy, at += 1'050 * kUs) {
        const std::int64_t correlation = 100 + 10 * i + copy;
        builder.runtime("cudaMemcpyAsync", at, 5 * kUs, correlation);
        builder.gpu(Category::kGpuMemcpy,
                    copy < pageable ? "Memcpy HtoD (Pageable -> Device)" : "Memcpy HtoD (Pinned -> Device)",
                    at + 10 * kUs, kMs, correlation);
        builder.runtime("cudaDeviceSynchronize", at + 20 * kUs, kMs, 2000 + correlation);
      }
    }
    return found(findings_of(builder), "exposed_copy").fix;
  };
  EXPECT_THAT(fix_of(3, 1), HasSubstr("pin_memory=True"));
  EXPECT_THAT(fix_of(2, 2), Not(HasSubstr("pin_memory=True")));
  EXPECT_THAT(fix_of(0, 4), Not(HasSubstr("pin_memory=True")));
}

/// The host runs ahead: per step a copy or collective and a kernel; waits `loading_ns` for input while the
/// device is idle.
TraceBuilder running_ahead(const std::string& long_work, std::int64_t long_ns, std::int64_t loading_ns = 0) {
  TraceBuilder builder;
  std::int64_t host = 0, device = 0, correlation = 0;
  const auto launch = [&](Category category, const std::string& name, std::int64_t length) {
    builder.runtime("cudaLaunchKernel", host, 5 * kUs, ++correlation);
    device = std::max(host + 8 * kUs, device + kUs);
    builder.gpu(category, name, device, length, correlation);
    device += length;
    host += 10 * kUs;
  };
  for (int step = 0; step < 3; ++step) {
    const std::int64_t begin = host;
    if (loading_ns > 0) {
      builder.annotation("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", host, loading_ns);
      host += loading_ns;
    }
    const bool is_copy = long_work.starts_with("Memcpy");
    if (long_ns > 0) launch(is_copy ? Category::kGpuMemcpy : Category::kKernel, long_work, long_ns);
    launch(Category::kKernel, "gemm", 9 * kMs);
    builder.step(step, begin, host - begin);
  }
  return builder;
}

TEST(Findings, WorkThatRunsAfterTheStepsIsTheirs) {
  for (const auto& [name, kind] : {std::pair{"Memcpy HtoD (Pinned -> Device)", "exposed_copy"},
                                   std::pair{"ncclDevKernel_AllReduce_Sum_f32", "exposed_communication"}}) {
    TraceBuilder builder = running_ahead(name, 2 * kMs);
    const AnalysisResult result = findings_of(builder);
    const FoundRow row = found(result, kind);
    EXPECT_NEAR(row.recoverable_ns, 2e6, 5e3);
    EXPECT_NEAR(row.share, 2.0 / 11, 0.002);
    EXPECT_THAT(result.answer.front(), HasSubstr("2.00 ms of 11.0 ms/step"));
    // Launched after the last step.
    builder.runtime("cudaLaunchKernel", 900 * kUs, 5 * kUs, 77);
    builder.gpu(name[0] == 'M' ? Category::kGpuMemcpy : Category::kKernel, name, 40 * kMs, 5 * kMs, 77);
    EXPECT_NEAR(found(findings_of(builder), kind).recoverable_ns, 2e6, 5e3);
  }
}

TEST(Findings, ALoaderCostsItsWaitInTheFirstStepToo) {
  const TraceBuilder builder = running_ahead("", 0, 20 * kMs);
  EXPECT_NEAR(found(findings_of(builder), "data_loading").recoverable_ns, 42e6 / 3, 0.1e6);
}

double claimed_of_copies(const std::string& memory, std::int64_t copy_ns, std::int64_t call_ns) {
  TraceBuilder builder;
  std::int64_t host = 0;
  for (int step = 0; step < 4; ++step) {
    const std::int64_t begin = host;
    builder.runtime("cudaMemcpyAsync", host, call_ns, 10 + step);
    builder.gpu(Category::kGpuMemcpy, "Memcpy HtoD (" + memory + " -> Device)", host + 6 * kUs, copy_ns,
                10 + step);
    const std::int64_t copied = host + 6 * kUs + copy_ns;
    host += call_ns + 2 * kUs;
    builder.runtime("cudaLaunchKernel", host, 5 * kUs, 50 + step);
    const std::int64_t start = std::max(host + 6 * kUs, copied + kUs);
    builder.kernel("gemm", start, 9 * kMs, 50 + step);
    builder.runtime("cudaDeviceSynchronize", host + 6 * kUs, start + 9 * kMs - host, 90 + step);
    host = start + 9 * kMs + 8 * kUs;
    builder.step(step, begin, host - begin);
  }
  const AnalysisResult result = findings_of(builder);
  return has_kind(result, "exposed_copy") ? found(result, "exposed_copy").recoverable_ns : 0;
}

TEST(Findings, ACopyFromPageableMemoryHoldsItsCall) {
  EXPECT_NEAR(claimed_of_copies("Pageable", 3 * kMs, 3 * kMs + 10 * kUs), 3e6, 20e3);
  EXPECT_NEAR(claimed_of_copies("Pageable", 3 * kMs, 3 * kMs), 3e6, 20e3) << "staged, and not quite done";
  EXPECT_NEAR(claimed_of_copies("Pinned", 3 * kMs, 5 * kUs), 3e6, 20e3);
  EXPECT_NEAR(claimed_of_copies("Pinned", 3 * kMs, 3 * kMs + 10 * kUs), 0, 20e3);
}

/// Five values a step: the copy to pageable memory blocks; a later synchronisation returns at once.
TraceBuilder reading_values(bool has_ops, std::int64_t until_second_wait_ns) {
  TraceBuilder builder;
  std::int64_t host = 0, correlation = 0;
  for (int step = 0; step < 3; ++step) {
    const std::int64_t begin = host;
    for (int value = 0; value < 5; ++value) {
      builder.runtime("cudaLaunchKernel", host, 5 * kUs, ++correlation);
      builder.kernel("gemm", host + 8 * kUs, kMs, correlation);
      const std::int64_t end = host + 8 * kUs + kMs;
      if (has_ops) builder.op("aten::item", host + 10 * kUs, end + 20 * kUs - host - 10 * kUs);
      builder.runtime("cudaMemcpyAsync", host + 11 * kUs, end + 5 * kUs - host - 11 * kUs, ++correlation);
      builder.gpu(Category::kGpuMemcpy, "Memcpy DtoH (Device -> Pageable)", end + kUs, 2 * kUs, correlation);
      builder.runtime("cudaStreamSynchronize", end + 5 * kUs + until_second_wait_ns, 3 * kUs, ++correlation);
      host = end + 90 * kUs;
    }
    builder.step(step, begin, host - begin);
  }
  return builder;
}

TEST(Findings, AWaitForWhatWasWaitedForIsPartOfTheFirst) {
  for (const bool has_ops : {true, false}) {
    const FoundRow row = found(findings_of(reading_values(has_ops, 4 * kUs)), "synchronisation");
    EXPECT_NEAR(row.recoverable_ns, 5 * 98e3, 40e3);
    EXPECT_THAT(row.evidence, HasSubstr("5.00 times per step"));
    // A separate wait remains.
    EXPECT_LT(found(findings_of(reading_values(has_ops, 30 * kUs)), "synchronisation").recoverable_ns,
              5 * 60e3);
  }
}

TEST(Findings, AdviceIsInTheWordsOfTheWriter) {
  for (int what = 0; what <= static_cast<int>(Advice::kExpandSegments); ++what) {
    for (int of = 0; of <= static_cast<int>(Writer::kChakra); ++of) {
      const std::string text = advice(static_cast<Advice>(what), static_cast<Writer>(of));
      EXPECT_FALSE(text.empty()) << what;
      const bool is_torch = static_cast<Writer>(of) == Writer::kPyTorch;
      const bool is_on_npu = static_cast<Writer>(of) == Writer::kAscend;
      if (is_torch) continue;
      for (const char* const word : {"with_stack", "PYTORCH_CUDA", "pin_memory", "FSDP"}) {
        if (is_on_npu && std::string_view(word) != "with_stack" && std::string_view(word) != "PYTORCH_CUDA")
          continue;
        EXPECT_THAT(text, Not(HasSubstr(word))) << "of writer " << of;
      }
    }
  }
  EXPECT_THAT(advice(Advice::kRecordHost, Writer::kNsight), HasSubstr("nsys profile"));
  EXPECT_THAT(advice(Advice::kRecordHost, Writer::kRocprof), HasSubstr("rocprofv3"));
  EXPECT_THAT(advice(Advice::kLoadAhead, Writer::kJax), HasSubstr("jax.device_put"));
  EXPECT_THAT(advice(Advice::kLoadAhead, Writer::kAscend), HasSubstr("num_workers"));
  const auto fix_of = [](Writer writer) {
    TraceBuilder builder;
    builder.trace.writer = writer;
    for (int i = 0; i < 5; ++i) {
      builder.step(i, i * 10 * kMs, 10 * kMs);
      builder.launch(i * 10 * kMs + 10 * kUs, 5 * kUs, "sgemm", i * 10 * kMs + 30 * kUs, 5 * kMs, i + 1);
    }
    return found(findings_of(builder), "host_bound").fix;
  };
  EXPECT_THAT(fix_of(Writer::kPyTorch), HasSubstr("with_stack=True"));
  EXPECT_THAT(fix_of(Writer::kNsight), HasSubstr("NVTX"));
  EXPECT_THAT(fix_of(Writer::kUnknown), Not(HasSubstr("with_stack")));
}

bool is_fragmented(double reserved_gb, double used_gb, std::int32_t device = 0) {
  TraceBuilder builder = steady(3);
  builder.device(0, "NVIDIA A100-SXM4-80GB").total_memory_bytes = 80e9;
  MemoryEvent& event = builder.trace.memory.emplace_back();
  event.at_ns = 5 * kMs;
  event.device_type = 1;
  event.device = device;
  event.bytes = 1024;
  event.total_reserved = static_cast<std::int64_t>(reserved_gb * 1e9);
  event.total_allocated = static_cast<std::int64_t>(used_gb * 1e9);
  return has_kind(findings_of(builder), "fragmentation");
}

TEST(Findings, MemoryIsFragmentedWhereADeviceIsFullOfWhatIsNotUsed) {
  EXPECT_TRUE(is_fragmented(60, 30));
  EXPECT_FALSE(is_fragmented(60, 55)) << "it is used";
  EXPECT_FALSE(is_fragmented(30, 10)) << "there is more";
  EXPECT_FALSE(is_fragmented(60, 30, 1)) << "nobody knows how much the device has";
}

TEST(Findings, RecompilationsAndTheCollectorAreKindsOfTheirOwn) {
  TraceBuilder builder = steady(5);
  builder.annotation("_compile.compile_inner (dynamo_timed)", 9'040 * kUs, 900 * kUs);
  builder.python("<built-in function collect>", 19'040 * kUs, 900 * kUs);
  for (const char* kind : {"recompilation", "garbage_collection"}) {
    const FoundRow row = found(findings_of(builder), kind);
    EXPECT_EQ(row.step, kind[0] == 'r' ? 0 : 1);
    EXPECT_NEAR(row.recoverable_ns, 180e3, 1e3);  // 900 us in one of five steps
  }
}

TEST(Findings, SendsAndReceivesThatNothingHidesAreABubble) {
  TraceBuilder builder = steady(3, 5 * kMs);
  for (int i = 0; i < 3; ++i) {
    const std::int64_t at = i * 10 * kMs + 5'050 * kUs;
    builder.runtime("cudaLaunchKernel", at, 5 * kUs, 100 + i);
    GpuDetail& kernel = builder.kernel("ncclDevKernel_SendRecv", at + 10 * kUs, 4 * kMs, 100 + i, 0, 20);
    builder.collective(kernel, "recv");
    builder.runtime("cudaDeviceSynchronize", at + 20 * kUs, 4 * kMs, 2000 + i);
  }
  EXPECT_NEAR(found(findings_of(builder), "pipeline_bubble").share, 0.4, 0.01);
  // An all-to-all uses such kernels, too.
  for (Collective& collective : builder.trace.collectives)
    collective.name = builder.trace.names.intern("all_to_all");
  EXPECT_TRUE(has_kind(findings_of(builder), "exposed_communication"));
}

TraceBuilder one_late_step(bool does_host_wait) {
  TraceBuilder builder;
  std::int64_t at = 0;
  for (int i = 0; i < 6; ++i) {
    const std::int64_t late = i == 4 ? 6 * kMs : 0;
    builder.step(i, at, 10 * kMs + late);
    builder.op("aten::mm", at, 20 * kUs);
    builder.launch(at + 10 * kUs, 5 * kUs, "sgemm", at + 30 * kUs + late, 9'900 * kUs, i + 1);
    if (does_host_wait) builder.runtime("cudaDeviceSynchronize", at + 40 * kUs, 9'900 * kUs + late, 1000 + i);
    at += 10 * kMs + late;
  }
  return builder;
}

TEST(Findings, WorkThatStartsLongAfterItsLaunchReturnedIsALateDevice) {
  const FoundRow row = only_finding(one_late_step(true), "device_late");
  EXPECT_EQ(std::tuple(row.op, row.step), std::tuple("aten::mm", 4));
  EXPECT_NEAR(row.recoverable_ns, 1e6, 50e3);
}

TEST(Findings, ADeviceThatIsLateAfterTheStepsIsFound) {
  for (const std::int64_t stream : {7, 8}) {
    TraceBuilder builder;
    std::int64_t device = 10 * kUs;
    for (int i = 0; i < 40; ++i) {
      if (i % 10 == 0) builder.step(i / 10, i * 20 * kUs, 200 * kUs);
      builder.runtime("cudaLaunchKernel", i * 20 * kUs, 5 * kUs, i + 1);
      if (i == 30) device += 5 * kMs;
      builder.kernel("sgemm", device, 100 * kUs, i + 1, 0, i < 30 ? 7 : stream);
      device += 101 * kUs;
    }
    const FoundRow row = only_finding(builder, "device_late");
    EXPECT_NEAR(row.recoverable_ns, 5e6 / 4, 30e3);
  }
}

TEST(Findings, ALateDeviceIsFoundBesideWorkWhoseLaunchIsNotInTheFile) {
  TraceBuilder builder = one_late_step(true);
  for (int i = 0; i < 6; ++i)
    builder.kernel("fill", (i < 5 ? i * 10 : 56) * kMs + 9 * kMs, 10 * kUs, kNoCorrelation, 0, 20);
  const AnalysisResult result = findings_of(builder);
  ASSERT_FALSE(found(result).empty());
  EXPECT_EQ(found(result)[0].kind, "device_late");
  EXPECT_NEAR(found(result)[0].recoverable_ns, 1e6, 50e3);
}

/// Kernels of 300 us, launches of 5 us ahead of the device; launch `slow` takes `call_ns`, its work starts
/// `late_ns` later.
TraceBuilder one_launch_of(int kernels, int slow, std::int64_t call_ns, std::int64_t late_ns) {
  TraceBuilder builder;
  std::int64_t host = 0, device = 0;
  for (int i = 0; i < kernels; ++i) {
    const std::int64_t call = i == slow ? call_ns : 5 * kUs;
    builder.op("aten::mm", host, call + 4 * kUs);
    builder.runtime("cudaLaunchKernel", host + 2 * kUs, call, i + 1);
    device = std::max(device + kUs, host + 2 * kUs + call + 5 * kUs + (i == slow ? late_ns : 0));
    builder.kernel("sgemm", device, 300 * kUs, i + 1);
    device += 300 * kUs;
    host += call + 6 * kUs;
  }
  builder.runtime("cudaDeviceSynchronize", host, device + 10 * kUs - host);
  return builder;
}

TEST(Findings, ALaunchThatTakesLongOnceIsAFirstUse) {
  const FoundRow row = only_finding(one_launch_of(30, 10, 494 * kMs, 0), "first_use");
  EXPECT_NEAR(row.recoverable_ns, 491e6, 2e6);
  EXPECT_THAT(row.evidence, HasSubstr("one cudaLaunchKernel call takes 494 ms"));
  // Equally long, long after it returned.
  const FoundRow late_row = only_finding(one_launch_of(30, 10, 5 * kUs, 494 * kMs), "device_late");
  EXPECT_NEAR(late_row.recoverable_ns, 491e6, 2e6);
  EXPECT_THAT(late_row.fix, Not(HasSubstr("graph")));
  EXPECT_TRUE(found(findings_of(one_launch_of(30, 20, 2 * kMs, 0))).empty());
}

TEST(Findings, ALongCallThatLoadsAModuleIsAFirstUse) {
  TraceBuilder builder = steady(5);
  builder.runtime("cuModuleLoadData", 4 * 10 * kMs + 9 * kMs + 60 * kUs, 800 * kUs);
  EXPECT_FALSE(has_kind(findings_of(builder), "first_use"));  // 160 us a step
  builder.runtime("hipModuleLoadData", 3 * 10 * kMs + 9 * kMs + 60 * kUs, 900 * kUs);
  const FoundRow row = found(findings_of(builder), "first_use");
  EXPECT_EQ(row.op, "hipModuleLoadData");
  EXPECT_NEAR(row.recoverable_ns, 340e3, 20e3);
}

struct TimedCall {
  const char* name;
  std::int64_t at_ns, duration_ns;
  std::int64_t later_ns;  ///< of the same call in later steps; 0: no calls
};

AnalysisResult around_call(const TimedCall& call) {
  TraceBuilder builder;
  for (int i = 0; i < 5; ++i) {
    const std::int64_t at = i * 10 * kMs;
    builder.step(i, at, 10 * kMs);
    if (i == 0) builder.runtime(call.name, call.at_ns, call.duration_ns);
    if (i > 0 && call.later_ns > 0) builder.runtime(call.name, at + kMs, call.later_ns);
    builder.launch(at + 4 * kMs, 5 * kUs, "sgemm", at + 4 * kMs + 10 * kUs, 4 * kMs, i + 1);
    builder.runtime("cudaDeviceSynchronize", at + 9 * kMs, 5 * kUs, 1000 + i);
  }
  return findings_of(builder);
}

TEST(Findings, AFirstCallThatTakesLongIsAFirstUseWhateverItsName) {
  for (const TimedCall& call : {TimedCall{"cudaFree", kMs, 2500 * kUs, kUs},
                                TimedCall{"cudaStreamCreateWithFlags", kMs, 2500 * kUs, kUs},
                                TimedCall{"cudaHostAlloc", kMs, 2500 * kUs, 0}}) {
    const AnalysisResult result = around_call(call);
    const FoundRow row = found(result, "first_use");
    EXPECT_NEAR(row.recoverable_ns, 500e3, 5e3) << call.name;
    EXPECT_THAT(row.evidence, HasSubstr(std::string("one ") + call.name + " call takes 2.50 ms"));
    EXPECT_THAT(row.fix, HasSubstr("warm up"));
    EXPECT_FALSE(has_kind(result, "device_allocation")) << call.name;
  }
}

TEST(Findings, AnAllocationThatIsOftenSlowOrWaitsIsNoFirstUse) {
  for (const TimedCall& call : {TimedCall{"cudaFree", kMs, 2500 * kUs, 200 * kUs},     // 12 times the later
                                TimedCall{"cudaFree", 5 * kMs, 2500 * kUs, 50 * kUs},  // waits for the kernel
                                TimedCall{"cudaHostAlloc", 11 * kMs, 2500 * kUs, 0}}) {  // after work
    const AnalysisResult result = around_call(call);
    EXPECT_FALSE(has_kind(result, "first_use")) << call.name << call.at_ns;
    EXPECT_TRUE(has_kind(result, "device_allocation")) << call.name << call.at_ns;
  }
}

TEST(Findings, LaunchesThatAllTakeLongAreSlowThemselves) {
  for (const std::int64_t call_ns : {30 * kMs, 300 * kUs}) {
    TraceBuilder builder;
    std::int64_t at = 0;
    for (int i = 0; i < 30; ++i) {
      builder.launch(at, call_ns, "sgemm", at + call_ns + 5 * kUs, 100 * kUs, i + 1);
      at += call_ns + 10 * kUs;
    }
    const FoundRow row = only_finding(builder, "slow_launch");
    EXPECT_NEAR(row.recoverable_ns, 30.0 * static_cast<double>(call_ns - 90 * kUs),
                0.03 * 29.0 * static_cast<double>(call_ns));
  }
}

TEST(Findings, GapsBeforeLaunchesCostTheirOwnTimeAlone) {
  TraceBuilder builder;
  std::int64_t at = 0, correlation = 1;
  for (int i = 0; i < 40; ++i) {  // 60 us of work every 100 us
    builder.runtime("cudaLaunchKernel", at, 5 * kUs, correlation);
    builder.kernel("sgemm", at + 10 * kUs, 60 * kUs, correlation++);
    at += 100 * kUs;
  }
  builder.op("aten::item", at, 5 * kMs);
  at += 5 * kMs;
  builder.launch(at, 5 * kUs, "sgemm", at + 10 * kUs, 1 * kMs, correlation);
  const FoundRow row = found(findings_of(builder), "launch_bound");
  EXPECT_NEAR(row.recoverable_ns, 39 * 30e3, 10e3);
}

TraceBuilder without_launches(int devices) {
  TraceBuilder builder;
  for (int i = 0; i < 5; ++i) {
    const std::int64_t at = i * 10 * kMs;
    builder.step(i, at, 10 * kMs);
    for (int device = 0; device < devices; ++device) {
      builder.kernel("sgemm", at, 4 * kMs, kNoCorrelation, device);
      builder.kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL", at + 3 * kMs, 2 * kMs, kNoCorrelation, device,
                     20);
      builder.copy(at + 5 * kMs, 2 * kMs, kNoCorrelation, device);
    }
  }
  return builder;
}

TEST(Findings, WithoutLaunchesTheHostIsNotToBlame) {
  for (const int devices : {1, 2}) {
    const AnalysisResult result = findings_of(without_launches(devices));
    ASSERT_EQ(found(result).size(), 2U);
    const FoundRow copy = found(result, "exposed_copy"), sum = found(result, "exposed_communication");
    EXPECT_NEAR(copy.recoverable_ns, 2e6, 20e3);
    EXPECT_NEAR(sum.recoverable_ns, 1e6, 20e3);
    EXPECT_THAT(copy.evidence,
                devices == 1 ? HasSubstr("exposed for 2.00 ms/step (nothing else")
                             : HasSubstr("exposed for 4.00 ms/step summed over 2 devices (nothing else"));
  }
}

TEST(Findings, WhereManyLaunchesAreSlowAFirstUseIsFarSlower) {
  for (const std::int64_t first_ns : {2 * kMs, 400 * kMs}) {
    TraceBuilder builder;
    std::int64_t at = 0;
    for (int i = 0; i < 60; ++i) {
      const std::int64_t call = i == 31 ? first_ns : i % 2 == 1 ? 2 * kMs : 5 * kUs;
      builder.launch(at, call, i == 31 ? "new" : "sgemm", at + call + 5 * kUs, 100 * kUs, i + 1);
      at += call + 120 * kUs;
    }
    const AnalysisResult result = findings_of(builder);
    EXPECT_NEAR(found(result, "slow_launch").recoverable_ns, first_ns == 2 * kMs ? 60e6 : 58e6, 2e6);
    if (first_ns == 2 * kMs) {
      EXPECT_FALSE(has_kind(result, "first_use"));
    } else {
      EXPECT_NEAR(found(result, "first_use").recoverable_ns, 400e6, 1e6);
    }
  }
}

TEST(Findings, AStepThatIsSlowForNoOtherReason) {
  const FoundRow row = only_finding(one_late_step(false), "slow_step");
  EXPECT_EQ(row.step, 4);
  EXPECT_NEAR(row.recoverable_ns, 1e6, 50e3);
}

TraceBuilder slow_softmax() {
  TraceBuilder builder = steady(3, 100 * kUs);
  builder.device(0, "NVIDIA A100-SXM4-80GB", 108).total_memory_bytes = 85e9;
  for (int i = 0; i < 3; ++i) {
    const std::int64_t at = i * 10 * kMs + 300 * kUs;
    builder.python("nn.Module: Attention_3", at - 20 * kUs, 100 * kUs);
    builder.python("model.py(88): forward", at - 18 * kUs, 90 * kUs);
    builder.python("torch/nn/functional.py(9): softmax", at - 16 * kUs, 80 * kUs);
    const char* const kernels[] = {"add", "softmax_warp_forward", "mul"};
    builder.op("aten::softmax", at - 2 * kUs, 24 * kUs);
    OpDetail& op = builder.op("aten::_softmax", at, 20 * kUs);
    op.dims = builder.trace.names.intern("[[1000, 1000], [], []]");
    op.types = builder.trace.names.intern("[\"float\", \"Scalar\", \"Scalar\"]");
    std::int64_t start = at + 30 * kUs;
    for (int k = 0; k < 3; ++k) {
      const std::int64_t call = k == 1 ? at + 10 * kUs : at + (25 + 5 * k) * kUs;
      const std::int64_t duration = k == 1 ? 9 * kMs : 10 * kUs;
      builder.launch(call, 3 * kUs, kernels[k], start, duration, 100 + 3 * i + k);
      start += duration + 1 * kUs;
    }
  }
  return builder;
}

TEST(Findings, AnOperatorFarFromItsRoofIsSaidWithItsKernelAndItsPlace) {
  const FoundRow row = found(findings_of(slow_softmax()), "kernel_below_roof");
  // 8 MB at 2 TB/s are 4 us of the 9 ms.
  EXPECT_NEAR(row.recoverable_ns, 9e6, 0.01e6);
  EXPECT_EQ(std::tuple(row.op, row.module, row.line),
            std::tuple("aten::_softmax", "Attention_3", "model.py(88): forward"));
  EXPECT_THAT(row.evidence, HasSubstr("% of peak bandwidth; 9.00 ms of 9.00 ms/step recoverable"));
  EXPECT_THAT(row.evidence, HasSubstr("mostly in softmax_warp_forward with"));
  EXPECT_THAT(row.evidence, HasSubstr("; the sequence add + softmax_warp_forward + mul occurs 3 times"));
}

TEST(Findings, KernelsThatAFusionWouldTakeAreNamed) {
  TraceBuilder builder = steady(4, 5 * kMs);
  std::int64_t correlation = 100;
  for (int i = 0; i < 4; ++i) {
    std::int64_t at = i * 10 * kMs + 5'200 * kUs;
    builder.python("nn.Module: Gelu_1", at, 4 * kMs);
    builder.python("gelu.py(5): forward", at + 1 * kUs, 3'900 * kUs);
    for (int k = 0; k < 300; ++k) {
      const char* const name =
          k % 3 == 2 ? "void at::native::vectorized_elementwise_kernel<4, at::native::TanhFunctor>(int)"
                     : "void at::native::vectorized_elementwise_kernel<4, at::native::MulFunctor>(int)";
      builder.runtime("cudaLaunchKernel", at + 5 * kUs, 5 * kUs, correlation);
      builder.kernel(name, at + 12 * kUs, 2 * kUs, correlation++);
      at += 10 * kUs;
    }
  }
  const FoundRow row = found(findings_of(builder), "launch_bound");
  EXPECT_EQ(std::tuple(row.module, row.line), std::tuple("Gelu_1", "gelu.py(5): forward"));
  EXPECT_THAT(row.evidence, HasSubstr("MulFunctor> x2 + "));
  EXPECT_THAT(row.evidence, HasSubstr("TanhFunctor>"));
  EXPECT_THAT(row.evidence, HasSubstr("most in gelu.py(5): forward"));
}

TEST(Findings, WithoutADeviceTheHostIsAllThereIs) {
  TraceBuilder builder;
  for (int i = 0; i < 3; ++i) {
    builder.step(i, i * 10 * kMs, 10 * kMs);
    builder.annotation("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", i * 10 * kMs, 6 * kMs);
    builder.op("aten::mm", i * 10 * kMs + 6 * kMs, 2 * kMs);
    builder.annotation("gloo:all_reduce", i * 10 * kMs + 7 * kMs, 3 * kMs, -1, "2");
  }
  const AnalysisResult result = run_analysis("summary", builder.trace);
  ASSERT_EQ(found(result).size(), 2U);
  EXPECT_EQ(found(result)[0].kind, "data_loading");
  EXPECT_EQ(found(result)[0].recoverable_ns, 6e6);
  EXPECT_EQ(found(result)[1].kind, "exposed_communication");
  EXPECT_EQ(found(result)[1].recoverable_ns, 2e6);
}

TEST(Findings, OfDifferentRanksWhatAllLoseIsSaidOnce) {
  const auto rank_with = [](std::int64_t loading_ns) {
    TraceBuilder builder;
    for (int i = 0; i < 3; ++i) {
      const std::int64_t at = i * 10 * kMs;
      builder.step(i, at, 10 * kMs);
      builder.annotation("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", at, loading_ns);
      builder.op("aten::mm", at + loading_ns, 20 * kUs);
      builder.launch(at + loading_ns + 10 * kUs, 5 * kUs, "sgemm", at + loading_ns + 30 * kUs, 4 * kMs,
                     i + 1);
      builder.kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL", at + loading_ns + 4'100 * kUs,
                     5'900 * kUs - loading_ns);
    }
    return findings_of(builder);
  };
  std::vector<RankResult> ranks;
  for (const std::int64_t loading : {1 * kMs, 1 * kMs, 4 * kMs}) {
    RankResult& rank = ranks.emplace_back();
    rank.rank = std::ssize(ranks) - 1;
    rank.result = rank_with(loading);
  }
  const AnalysisResult result = find_analysis("findings")->combine(ranks, {});
  EXPECT_EQ(found(result)[0].kind, "straggler");
  EXPECT_EQ(found(result)[0].rank, 2);
  EXPECT_EQ(found(result)[0].recoverable_ns, 3e6);
  EXPECT_THAT(found(result)[0].evidence, HasSubstr("on that rank, data_loading"));
  const FoundRow row = found(result, "data_loading");
  EXPECT_DOUBLE_EQ(row.recoverable_ns, 1e6);
}

TEST(Findings, WithoutSomethingAStepWouldTakeSo) {
  TraceBuilder builder = steady(4);
  for (int i = 0; i < 4; ++i) builder.op("aten::randperm", i * 10 * kMs + 9 * kMs + 40 * kUs, 900 * kUs);
  const AnalysisResult result = run_analysis("findings", builder.trace, {{"without", "aten::rand*"}});
  EXPECT_NEAR(headline(result, "without_ns"), 9.1e6, 0.1e6);
  EXPECT_THAT(result.answer.front(), HasSubstr("without 'aten::rand*' (4 CPU calls, 0 GPU events) a step"));
  EXPECT_LT(headline(run_analysis("findings", builder.trace, {{"without", "aten::mm"}}), "without_ns"),
            1.2e6);
  EXPECT_THROW(run_analysis("findings", builder.trace, {{"without", "nothing"}}), Error);
}

TEST(Findings, SentencesHaveTheNumbersThePlaceAndWhatToDo) {
  Finding finding;
  finding.kind = FindingKind::kDataLoading;
  finding.recoverable_ns = 4.9e6;
  finding.share = 0.23;
  finding.line = "train.py(12): load";
  finding.evidence = "the host loads";
  finding.fix = "load ahead";
  EXPECT_THAT(
      finding_sentences(std::vector<Finding>{finding}, 21.1e6, true),
      ElementsAre("1. data_loading: saves 4.90 ms of 21.1 ms/step (23.0 %)", HasSubstr("train.py(12): load"),
                  HasSubstr("the host loads"), HasSubstr("fix: load ahead")));
  EXPECT_THAT(finding_sentences({}, 21.1e6, false), ElementsAre(HasSubstr("no finding")));
  std::vector<Finding> two{finding, finding};
  two[1].partner = 0;
  for (const auto& [together_ns, words] :
       {std::pair{5e6, "   1 and 2 overlap: 5.00 ms for both"},
        std::pair{12e6, "   1 and 2 save more together: 12.0 ms for both"}}) {
    two[1].together_ns = together_ns;
    EXPECT_THAT(finding_sentences(two, 21.1e6, true), Contains(words));
  }
}

TEST(Findings, AreSortedWithTheirPartners) {
  std::vector<Finding> findings(3);
  const std::vector<double> gains{1, 3, 2};
  for (std::size_t i = 0; i < 3; ++i) findings[i].recoverable_ns = gains[i];
  findings[1].partner = 0;
  findings[1].together_ns = 3.5;
  sort_findings(findings);
  EXPECT_EQ(findings[0].partner, -1);
  EXPECT_EQ(findings[1].partner, -1);
  EXPECT_EQ(findings[2].partner, 0) << "the later of two";
  EXPECT_EQ(findings[2].together_ns, 3.5);
}

TEST(Findings, DependOnEachOtherFromATenthOfTheLargerOn) {
  EXPECT_FALSE(are_dependent(10, 8, 18));
  EXPECT_FALSE(are_dependent(10, 8, 17.1));
  EXPECT_TRUE(are_dependent(10, 8, 16.9));
  EXPECT_TRUE(are_dependent(8, 10, 19.1)) << "save more together";
  EXPECT_FALSE(are_dependent(10, 0.5, 10.3));
  EXPECT_TRUE(are_dependent(10, 0.5, 10.2)) << "most of the smaller is the larger's";
}

// 6 of 10 ms device work, 2 of them exposed communication.
StepShares shares_of_a_step() {
  StepShares shares;
  shares.step_ns = 10e6;
  shares.steps = 3;
  shares.known = DeviceTimeStatus::kYes;
  shares.busy = 0.6;
  shares.exposed_communication = 0.2;
  shares.not_recorded = 0.1;
  shares.idle_during[static_cast<std::size_t>(HostActivity::kOperator)] = 0.3;
  return shares;
}

TEST(StandingLines, SayWhatIsLostExplainedAndNotRecorded) {
  std::vector<Finding> findings(4);
  for (Finding& finding : findings) finding.recoverable_ns = finding.further_ns = 1.2e6;
  EXPECT_THAT(
      standing_lines(shares_of_a_step(), findings),
      ElementsAre(
          "step 10.0 ms · GPU busy 60.0 % · exposed communication 20.0 % · first three findings "
          "save 36.0 %",
          "GPU idle or exposed 60.0 % of the step; findings explain 80.0 % of that, 16.7 % is not recorded",
          HasSubstr("no finding explains the other 12.0 % of the step; all losses: GPU idle (operators) 30.0 "
                    "%, exposed communication 20.0 %, ")));
  // A common gain counts once.
  findings[1].further_ns = findings[3].further_ns = 0.2e6;
  EXPECT_THAT(standing_lines(shares_of_a_step(), findings),
              ElementsAre(HasSubstr("first three findings save 26.0 %"), HasSubstr("explain 46.7 %"),
                          HasSubstr("the other 32.0 %")));
  findings.resize(1);
  findings[0].recoverable_ns = 9e6;
  EXPECT_THAT(
      standing_lines(shares_of_a_step(), findings),
      ElementsAre(HasSubstr("the finding saves 90.0 %"), HasSubstr("explain 100 % of that, 0 % is not")));
  findings[0].kind = FindingKind::kKernelBelowRoof;
  EXPECT_THAT(standing_lines(shares_of_a_step(), findings)[1], HasSubstr("explain 0 %"));
}

TEST(StandingLines, NoAllClearAboveMuchIdleTime) {
  AnalysisResult result;
  report_findings({}, shares_of_a_step(), 5, result);
  EXPECT_THAT(result.answer, IsEmpty());
  EXPECT_THAT(result.standing, Contains(HasSubstr("the other 60.0 % of the step")));
  StepShares busy = shares_of_a_step();
  busy.busy = 0.95;
  busy.exposed_communication = 0.01;
  report_findings({}, busy, 5, result);
  EXPECT_THAT(result.answer, ElementsAre(HasSubstr("no finding")));
  EXPECT_EQ(result.standing.size(), 2U);
}

TEST(StandingLines, SayWhyTheDevicesTimeIsNotKnown) {
  TraceBuilder host;
  host.op("aten::mm", 0, 1000);
  EXPECT_THAT(findings_of(host).standing, Contains(HasSubstr("no GPU work")));
  TraceBuilder behind;
  for (int i = 0; i < 3; ++i) behind.step(i, i * kMs, kMs);
  for (int i = 0; i < 9; ++i) behind.kernel("k", 10 * kMs + i * kMs, kMs);
  EXPECT_THAT(findings_of(behind).standing, Contains(HasSubstr("after the last step")));
}

TEST(StandingLines, OfRanksAreTheMean) {
  StepShares other = shares_of_a_step();
  other.busy = 1;
  other.step_ns = 20e6;
  const StepShares mean = mean_of(std::vector{shares_of_a_step(), other});
  EXPECT_DOUBLE_EQ(mean.busy, 0.8);
  EXPECT_DOUBLE_EQ(mean.step_ns, 15e6);
}

TEST(Findings, TheTableKeepsThem) {
  Finding finding;
  finding.kind = FindingKind::kImbalance;
  finding.recoverable_ns = 12.5;
  finding.share = 0.25;
  finding.op = "aten::mm";
  finding.evidence = "numbers";
  finding.fix = "do";
  const DataTable table = finding_table(std::vector<Finding>{finding});
  ASSERT_EQ(table.rows.size(), 1U);
  expect_row(table, 0,
             {{"kind", "imbalance"}, {"recoverable_ns", 12.5}, {"rank", Cell{}}, {"op", "aten::mm"}});
  EXPECT_THROW(finding_kind("something"), Error);
}

}  // namespace
}  // namespace headroom::trace
