// SPDX-License-Identifier: Apache-2.0
// Real traces: invariants, figures of TraceLens (bench/tracelens_golden.py) and PyTorch (parity/trace).

#include <array>
#include <cmath>
#include <filesystem>
#include <limits>
#include <ostream>
#include <string_view>
#include <tuple>

#include "../trace/analysis_run.h"
#include "headroom/base/files.h"
#include "headroom/base/json.h"
#include "headroom_trace/columns/attribution.h"
#include "headroom_trace/columns/kernel_names.h"
#include "headroom_trace/peers/pytorch_utilization.h"
#include "headroom_trace/readers/read.h"
#include "headroom_trace/work/device_work.h"
#include "headroom_trace/work/launches.h"
#include "headroom_trace/work/memory.h"

namespace headroom::trace {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> real_files() {
  std::vector<std::string> files;
  const fs::path folder = HEADROOM_SHARED "/traces";
  if (!fs::exists(folder)) return {""};
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder)) {
    const fs::path extension = entry.path().extension();
    if (extension == ".json" || extension == ".gz")
      files.push_back(entry.path().lexically_relative(folder).string());
  }
  std::ranges::sort(files);
  return files;
}

void expect_parts_of_the_span(const AnalysisResult& idle, const std::string& table) {
  for (std::size_t row = 0; row < row_count(idle, table); ++row) {
    const auto ns = [&](const char* column) { return integer(table_of(idle, table), row, column); };
    EXPECT_EQ(ns("busy_ns") + ns("idle_ns"), ns("span_ns"));
    EXPECT_EQ(ns("host_wait_ns") + ns("kernel_wait_ns") + ns("other_ns"), ns("idle_ns"));
    EXPECT_GE(ns("busy_ns"), 0);
    EXPECT_LT(ns("host_wait_gaps") + ns("kernel_wait_gaps") + ns("other_gaps"), ns("work"));
  }
}

void expect_idle_and_overlap_to_share_out_the_span(const Trace& trace) {
  const AnalysisResult idle = run_analysis("idle", trace, {}, 0),
                       overlap = run_analysis("overlap", trace, {}, 0);
  ASSERT_EQ(has_table(idle, "devices"), !trace.gpu.empty());
  ASSERT_EQ(has_table(overlap, "devices"), !trace.gpu.empty());
  if (trace.gpu.empty()) return;
  expect_parts_of_the_span(idle, "devices");
  expect_parts_of_the_span(idle, "streams");
  EXPECT_EQ(column_sum(idle, "devices", "work"), static_cast<std::int64_t>(trace.gpu.size()));
  EXPECT_EQ(column_sum(idle, "streams", "work"), static_cast<std::int64_t>(trace.gpu.size()));
  EXPECT_EQ(column_sum(idle, "device_gaps", "idle_ns"), column_sum(idle, "devices", "idle_ns"));
  EXPECT_EQ(column_sum(idle, "stream_gaps", "idle_ns"), column_sum(idle, "streams", "idle_ns"));
  EXPECT_EQ(column_sum(idle, "ops", "idle_ns"), column_sum(idle, "devices", "idle_ns"));
  EXPECT_EQ(column_sum(idle, "causes", "time_ns"),
            column_sum(idle, "devices", "idle_ns") + column_sum(idle, "streams", "idle_ns"));
  ASSERT_EQ(row_count(overlap, "devices"), row_count(idle, "devices"));
  for (std::size_t row = 0; row < row_count(overlap, "devices"); ++row) {
    const auto ns = [&](const char* column) { return integer(overlap, "devices", row, column); };
    EXPECT_EQ(ns("overlap_ns") + ns("exposed_communication_ns"), ns("communication_ns"));
    EXPECT_EQ(ns("compute_ns") + ns("exposed_communication_ns") + ns("exposed_memory_ns"),
              integer(idle, "devices", row, "busy_ns"));
    EXPECT_EQ(ns("span_ns"), integer(idle, "devices", row, "span_ns"));
    EXPECT_LE(ns("exposed_memory_ns"), ns("memory_ns"));
  }
  EXPECT_GE(column_sum(overlap, "kernels", "time_ns"), column_sum(overlap, "devices", "communication_ns"));
  EXPECT_GE(column_sum(overlap, "kernels", "hidden_ns"), column_sum(overlap, "devices", "overlap_ns"));
}

void expect_every_launch_in_the_tables(const Trace& trace, const std::vector<std::uint32_t>& launch) {
  const AnalysisResult result = run_analysis("launch", trace, {{"each", ""}}, 0);
  if (trace.gpu.empty()) return;
  const auto launched = static_cast<std::int64_t>(trace.gpu.size() - std::ranges::count(launch, kNone));
  EXPECT_EQ(column_sum(result, "coverage", "works"), static_cast<std::int64_t>(trace.gpu.size()));
  EXPECT_EQ(column_sum(result, "coverage", "launched"), launched);
  EXPECT_EQ(column_sum(result, "functions", "works"), launched);
  ASSERT_EQ(row_count(result, "each"), static_cast<std::size_t>(launched));
  std::int64_t calls = 0;
  for (std::size_t row = 0; row < row_count(result, "launches"); ++row) {
    if (text(result, "launches", row, "quantity") == "call")
      calls += integer(result, "launches", row, "count");
    EXPECT_LE(number(result, "launches", row, "median_ns"), number(result, "launches", row, "p95_ns"));
    EXPECT_LE(number(result, "launches", row, "p99_ns"),
              static_cast<double>(integer(result, "launches", row, "max_ns")));
  }
  EXPECT_EQ(column_sum(result, "functions", "calls"), calls);
  for (std::size_t row = 0; row < row_count(result, "each"); ++row)
    EXPECT_EQ(integer(result, "each", row, "delay_ns"),
              std::max<std::int64_t>(0, integer(result, "each", row, "signed_delay_ns")));
}

void expect_the_queue_to_hold_each_piece_until_its_start(const Trace& trace,
                                                         const std::vector<std::uint32_t>& launch) {
  double waited = 0, in_queues = 0;
  for (std::size_t row = 0; row < trace.gpu.size(); ++row) {
    if (launch[row] == kNone) continue;
    waited += static_cast<double>(std::max<std::int64_t>(
        0, trace.events.start_ns[trace.gpu[row].event] - trace.events.start_ns[launch[row]]));
  }
  for (const StreamQueue& queue : queue_lengths(trace, launch)) {
    for (const QueueStep& step : queue.steps) EXPECT_GE(step.length, 0);
    if (!queue.steps.empty()) {
      EXPECT_EQ(queue.steps.back().length, 0);
    }
    in_queues += summarize(queue.steps, 1024).length_ns;
  }
  EXPECT_NEAR(in_queues, waited, 1e-9 * waited);
}

void expect_bandwidth_times_time_to_be_what_was_moved(const Trace& trace) {
  const std::vector<Transfer> found = transfers(trace);
  EXPECT_EQ(static_cast<std::ptrdiff_t>(found.size()),
            std::ranges::count(kernel_types(trace), KernelType::kMemory));
  double moved = 0, in_series = 0;
  for (const Transfer& transfer : found) {
    const std::int64_t duration = transfer.duration_ns > 0 ? transfer.duration_ns : 1000;
    if (transfer.bandwidth_gb_s >= 0) moved += transfer.bandwidth_gb_s * static_cast<double>(duration);
  }
  for (const BandwidthSeries& series : bandwidth_series(found)) {
    for (std::size_t i = 0; i + 1 < series.steps.size(); ++i)
      in_series +=
          series.steps[i].gb_s * static_cast<double>(series.steps[i + 1].at_ns - series.steps[i].at_ns);
    if (!series.steps.empty()) {
      EXPECT_EQ(series.steps.back().active, 0);
    }
  }
  EXPECT_NEAR(in_series, moved, 1e-6 * moved);
  const AnalysisResult result = run_analysis("memory", trace);
  EXPECT_EQ(column_sum(result, "transfers", "transfers"), static_cast<std::int64_t>(found.size()));
  EXPECT_EQ(column_sum(result, "allocators", "allocations") + column_sum(result, "allocators", "frees"),
            static_cast<std::int64_t>(trace.memory.size()));
}

class DeviceInvariants : public testing::TestWithParam<std::string> {};

TEST_P(DeviceInvariants, Hold) {
  if (GetParam().empty()) GTEST_SKIP() << "the folder of real traces is not there";
  const Trace trace = read(fs::path(HEADROOM_SHARED "/traces") / GetParam(),
                           only(Needs::kLaunches | Needs::kOps | Needs::kMemory | Needs::kGpuArguments));
  const std::vector<std::uint32_t> launch = launches(trace);
  expect_idle_and_overlap_to_share_out_the_span(trace);
  expect_every_launch_in_the_tables(trace, launch);
  expect_the_queue_to_hold_each_piece_until_its_start(trace, launch);
  expect_bandwidth_times_time_to_be_what_was_moved(trace);
}

INSTANTIATE_TEST_SUITE_P(RealFiles, DeviceInvariants, testing::ValuesIn(real_files()),
                         [](const auto& tested) { return "file_" + std::to_string(tested.index); });

/// Differences of TraceLens from our analyses.
struct TracelensWays {
  /// In microseconds as doubles, since 1970 if the file has them so: 0.2 us apart.
  bool rounds = true;
  /// Counts memsets as computing.
  bool computes_sets = true;
  /// Knows NCCL-like names only: multimem_all_reduce counts as computing.
  bool knows_few_communications = true;
};

struct Timeline {
  double compute = 0, communication = 0, copies = 0, idle = 0,
         total = 0;  ///< us; exposed times sum to `total`
};

bool are_near(const Timeline& a, const Timeline& b) {
  constexpr double kNear = 1e-6;
  return std::abs(a.compute - b.compute) < kNear && std::abs(a.communication - b.communication) < kNear &&
         std::abs(a.copies - b.copies) < kNear && std::abs(a.idle - b.idle) < kNear &&
         std::abs(a.total - b.total) < kNear;
}

void PrintTo(const Timeline& times, std::ostream* out) {
  *out << times.compute << " + " << times.communication << " + " << times.copies << " + " << times.idle
       << " = " << times.total << " us";
}

/// Computing hides communication, and both hide copies.
Timeline timeline_of(const Trace& trace, const TracelensWays& ways) {
  enum Kind { kCompute, kCommunication, kCopy };
  const std::vector<KernelType> types = kernel_types(trace);
  const Events& events = trace.events;
  std::int64_t first_ns = std::numeric_limits<std::int64_t>::max();
  for (const auto& work : trace.gpu) first_ns = std::min(first_ns, events.start_ns[work.event]);
  std::vector<std::tuple<double, int, Kind>> ends;
  for (std::size_t row = 0; row < trace.gpu.size(); ++row) {
    const std::uint32_t event = trace.gpu[row].event;
    const std::string_view name = trace.names[events.name[event]];
    const Category category = events.category[event];
    Kind kind = types[row] == KernelType::kCommunication ? kCommunication
                : types[row] == KernelType::kMemory      ? kCopy
                                                         : kCompute;
    if (ways.computes_sets &&
        (category == Category::kGpuMemset || name.starts_with("__amd_rocclr_fillBuffer")))
      kind = kCompute;
    if (ways.knows_few_communications && name.find("multimem_all_reduce") != std::string_view::npos)
      kind = kCompute;
    const auto us = [](std::int64_t ns) { return static_cast<double>(static_cast<long double>(ns) / 1000); };
    const double start = us(events.start_ns[event] - (ways.rounds ? trace.base_time_ns : first_ns));
    const double end = ways.rounds ? start + us(events.duration_ns[event])
                                   : us(events.start_ns[event] + events.duration_ns[event] - first_ns);
    ends.emplace_back(start, 1, kind);
    ends.emplace_back(end, -1, kind);
  }
  std::ranges::sort(ends);
  Timeline times;
  std::array<int, 3> running{};
  for (std::size_t i = 0; i + 1 < ends.size(); ++i) {
    running[std::get<Kind>(ends[i])] += std::get<int>(ends[i]);
    double& sum = running[kCompute] > 0         ? times.compute
                  : running[kCommunication] > 0 ? times.communication
                  : running[kCopy] > 0          ? times.copies
                                                : times.idle;
    sum += std::get<double>(ends[i + 1]) - std::get<double>(ends[i]);
  }
  times.total = std::get<double>(ends.back()) - std::get<double>(ends.front());
  return times;
}

Timeline ours(const Trace& trace) {
  const Breakdown sum = total(device_times(trace, device_work(trace), kernel_types(trace)));
  const auto us = [](std::int64_t ns) { return static_cast<double>(ns) / 1000; };
  return {us(sum.compute_ns), us(sum.exposed_communication_ns), us(sum.exposed_memory_ns), us(sum.idle_ns),
          us(sum.span_ns)};
}

struct TracelensFile {
  const char* name;
  std::string_view matters;  ///< the differences needed to match its figures
};

void PrintTo(const TracelensFile& file, std::ostream* out) {
  *out << file.name;
}

const TracelensFile kTracelensFiles[] = {
    // Exposed, idle and total times are equal as doubles.
    {"hta__nccl_parser_config_nccl_data.json.gz", "rounding sets"},
    {"hta__timeline_analysis_sampled_rank-0.json.gz", "sets"},
    {"hta__trace_diff_test_test.json.gz", "sets"},
    {"hta__amd_trace_mi250_minitoy_train_ROCm6_2_kineto.json.gz", "rounding"},
    {"tracelens__mi300_resnet_act_checkpoint.json.gz", "rounding sets"},
    {"tracelens__h100_Qwen_Qwen1.5-0.5B-Chat__1016005.json.gz", "rounding sets"},
    {"tracelens__inference_vllm_decode_full_graph_execution.json.gz", "rounding"},
    {"hta__critical_path_cuda_event_sync_multi_stream_event_sync_trace.json.gz", "sets"},
    {"hta__df_index_resolver_df_index_resolver.json.gz", "sets"},
    {"hta__critical_path_alexnet_benchmark_result_2869224_1695835535_trace.json.gz", "sets"},
    {"tracelens__b200_eager_trace.json.gz", "rounding names"},
    {"tracelens__torch_compile_triton_trace.json.gz", "rounding"},
    {"tracelens__h100_google_owlv2-large-patch14-ensemble__1016001.json.gz", "rounding sets"},
    {"tracelens__inference_xdit_flux.1_aiter_sage_profile_trace_rank_0.json.gz", "rounding"},
};

class TracelensGolden : public testing::TestWithParam<TracelensFile> {};

TEST_P(TracelensGolden, FollowsFromOurColumnsAndWithoutItsWaysIsOurs) {
  const std::filesystem::path path = std::filesystem::path(HEADROOM_SHARED "/traces") / GetParam().name;
  if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is not there";
  const Trace trace = read(path, {});
  const Json golden =
      parse_json(read_file(HEADROOM_TEST_DATA "/trace/tracelens_golden.json"), "tracelens_golden.json")
          .at("files")
          .at(GetParam().name);
  const auto figure = [&](const char* key) { return golden[key].get<double>(); };

  const Timeline theirs = timeline_of(trace, {});
  EXPECT_PRED2(are_near, theirs,
               (Timeline{figure("computation_time"), figure("exposed_comm_time"),
                         figure("exposed_memcpy_time"), figure("idle_time"), figure("total_time")}));
  EXPECT_PRED2(are_near, timeline_of(trace, {false, false, false}), ours(trace));

  std::string matters;
  const auto note = [&](const TracelensWays& without, const char* name) {
    if (!are_near(timeline_of(trace, without), theirs))
      matters += (matters.empty() ? "" : " ") + std::string(name);
  };
  note({.rounds = false}, "rounding");
  note({.computes_sets = false}, "sets");
  note({.knows_few_communications = false}, "names");
  EXPECT_EQ(matters, GetParam().matters);
}

INSTANTIATE_TEST_SUITE_P(RealFiles, TracelensGolden, testing::ValuesIn(kTracelensFiles),
                         [](const auto& tested) { return "file_" + std::to_string(tested.index); });

TEST(PyTorchUtilization, CountsEveryEventOfALabelledProcess) {
  TraceBuilder builder;
  builder.kernel("volta_sgemm", 1000, 4000);                                                        // 1..5 us
  builder.event(Category::kGpuAnnotation, "ProfilerStep#1", 2000, 8000, builder.thread("0", "7"));  // ..10 us
  builder.event(Category::kPython, "conv(): a Python function", 20000, 1000, builder.thread("0", "python"));
  builder.kernel("volta_sgemm", 30000, 5000, kNoCorrelation, 1);
  builder.op("aten::mm", 0, 100000);
  const PyTorchUtilization seed = pytorch_utilization(builder.trace, 1e-3);
  EXPECT_DOUBLE_EQ(seed.utilization, (9 + 1 + 5) / 1000.0);
  EXPECT_DOUBLE_EQ(seed.mm_conv_utilization, (4 + 1 + 5) / 1000.0);
}

TEST(PyTorchUtilization, NoLabelNoAnswer) {
  TraceBuilder builder;
  builder.kernel("volta_sgemm", 1000, 4000);
  for (Thread& thread : builder.trace.threads) thread.process_labels.clear();
  EXPECT_EQ(pytorch_utilization(builder.trace, 1).utilization, 0.0);
}

// Python's floats have steps of 0.25 us at 2e15 us.
TEST(PyTorchUtilization, RoundsAsPythonDoes) {
  TraceBuilder builder;
  constexpr std::int64_t kNow = 1'669'000'000'000'000'000;
  builder.trace.base_time_ns = 0;
  builder.kernel("a", kNow + 100, 1000);  // end 1.1 us rounds to 1.0: the union has 1.0
  builder.kernel("b", kNow + 600, 1000);  // from 1.0 to 1.6, which rounds to 1.5
  EXPECT_DOUBLE_EQ(pytorch_utilization(builder.trace, 1e-6).utilization, 1.5);
  builder.trace.base_time_ns = kNow;  // small times in the file: nearly exact
  EXPECT_NEAR(pytorch_utilization(builder.trace, 1e-6).utilization, 1.5, 1e-12);
}

TEST(PyTorchUtilization, TimesOfMoreDecimalsThanNanosecondsAreTakenAsWritten) {
  TraceBuilder builder;
  builder.kernel("a", 1000, 4000);
  builder.trace.precise_times = {{0, 1.0004, 4.00049}};
  EXPECT_EQ(pytorch_utilization(builder.trace, 1e-6).utilization, 4.00049);
}

TEST(PyTorchUtilization, ProcessesAreComparedAsPythonDoes) {
  for (const auto& [labelled, used] :
       {std::pair("true", "1"), {"1.0", "1"}, {"false", "0"}, {"2", "2.0"}, {"1e1", "10"}}) {
    TraceBuilder builder;
    builder.thread(labelled, "0", "GPU 0");
    builder.event(Category::kKernel, "a", 0, 1000, builder.thread(used, "7"));
    EXPECT_DOUBLE_EQ(pytorch_utilization(builder.trace, 1e-6).utilization, 1) << labelled << " " << used;
  }
  TraceBuilder builder;
  builder.thread("1.5", "0", "GPU 0");
  builder.event(Category::kKernel, "a", 0, 1000, builder.thread("1", "7"));
  EXPECT_EQ(pytorch_utilization(builder.trace, 1e-6).utilization, 0);
}

TEST(PyTorchUtilization, LabelsCountInAnEventOfAnyPhase) {
  const Trace trace = read_text(
      R"([{"ph": "X", "name": "process_labels", "pid": 0, "tid": 0, "ts": 0, "dur": 0, "args": {"labels": "GPU 0"}},
          {"ph": "M", "name": "process_labels", "pid": 0, "tid": 0, "ts": 0, "args": {"labels": "other"}},
          {"ph": "X", "name": "a", "cat": "kernel", "pid": 0, "tid": 7, "ts": 1, "dur": 2}])",
      "test.json", only(kPyTorchUtilizationNeeds));
  EXPECT_DOUBLE_EQ(pytorch_utilization(trace, 1e-6).utilization, 2);
}

TEST(PyTorchUtilization, ALengthMustBeATime) {
  const TraceBuilder builder;
  EXPECT_THROW(pytorch_utilization(builder.trace, 0), Error);
  EXPECT_THROW(pytorch_utilization(builder.trace, -1), Error);
  EXPECT_THROW(pytorch_utilization(builder.trace, std::numeric_limits<double>::quiet_NaN()), Error);
}

// parity/trace/expected.json has PyTorch's answers.
TEST(PyTorchUtilization, EqualsTheOriginalOnEveryRealFile) {
  const std::filesystem::path shared = HEADROOM_SHARED;
  if (!std::filesystem::exists(shared / "parity/trace/expected.json"))
    GTEST_SKIP() << "needs " << shared / "parity/trace/expected.json";
  const Json expected = parse_json(read_file(shared / "parity/trace/expected.json"), "expected.json");
  EXPECT_GE(expected.size(), 20U);
  for (const auto& [name, figures] : expected.items()) {
    const PyTorchUtilization seed =
        pytorch_utilization(read(shared / "traces" / name, only(kPyTorchUtilizationNeeds)),
                            json_number(figures, "total_length_s", name));
    EXPECT_NEAR(seed.utilization, json_number(figures, "utilization", name), 1e-9) << name;
    EXPECT_NEAR(seed.mm_conv_utilization, json_number(figures, "mm_conv_utilization", name), 1e-9) << name;
  }
}

}  // namespace
}  // namespace headroom::trace
