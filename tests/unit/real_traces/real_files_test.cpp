// SPDX-License-Identifier: Apache-2.0
// All real traces: columns against a Python program (json module, exact decimals), invariants of all
// analyses.

#include <array>
#include <filesystem>
#include <limits>
#include <numeric>
#include <ostream>

#include "../trace/analysis_run.h"
#include "headroom_trace/collectives/collective_calls.h"
#include "headroom_trace/collectives/collective_matching.h"
#include "headroom_trace/columns/trace_facts.h"
#include "headroom_trace/critical_path/critical_path.h"
#include "headroom_trace/critical_path/replay.h"
#include "headroom_trace/findings/finding_search.h"
#include "headroom_trace/index/steps.h"
#include "headroom_trace/peers/hta_critical_path.h"
#include "headroom_trace/readers/read.h"
#include "headroom_trace/work/idle_culprits.h"

namespace headroom::trace {
namespace {

namespace fs = std::filesystem;

struct Expected {
  const char* file;
  std::array<std::size_t, 12> events;  ///< by Category
  std::uint64_t seen;
  std::int64_t start_sum_ns;  ///< modulo 2^63
  std::int64_t duration_sum_ns;
  std::int64_t correlation_sum;  ///< of events that have one
  std::size_t memory, flows;
};

void PrintTo(const Expected& expected, std::ostream* out) {
  *out << expected.file;
}

// clang-format off
const Expected kExpected[] = {
    {"hta__amd_trace_mi250_minitoy_train_ROCm6_2_kineto.json.gz", {14, 2, 0, 2, 0, 21, 0, 70, 3, 0, 0, 1}, 220, 2910658571498856993, 52276266, 4697, 0, 45},
    {"hta__critical_path_alexnet_benchmark_result_2869224_1695835535_trace.json.gz", {79, 16, 3, 0, 41, 361, 0, 359, 8, 0, 0, 1}, 1408, 5469128357884185528, 307784449000, 2064963, 0, 500},
    {"hta__critical_path_cuda_event_sync_multi_stream_event_sync_trace.json.gz", {3, 0, 3, 0, 5, 39, 0, 6, 0, 0, 0, 1}, 149, 5399721565711856920, 65876000, 29379, 0, 50},
    {"hta__cupti_profiler_benchmark_result_924719_1679055439_trace.json.gz", {0, 0, 0, 0, 0, 1862, 0, 375, 8, 0, 0, 79}, 4222, 638509132349697216, 109939346000, 4155859, 0, 1862},
    {"hta__df_index_resolver_df_index_resolver.json.gz", {19370, 2040, 880, 0, 0, 42373, 0, 56680, 2035, 0, 0, 1}, 216092, 3003857721669386512, 9280747000, 13290727325, 28010, 64663},
    {"hta__distributed_info_unavailable_distributed_info_not_found.json.gz", {0, 0, 0, 0, 0, 0, 0, 2424, 43, 0, 0, 0}, 2467, 3011757924902111248, 250549000, 0, 0, 0},
    {"hta__nccl_parser_config_nccl_data.json.gz", {2700, 960, 114, 30, 0, 8740, 0, 14346, 42, 0, 0, 1}, 40573, 888703098881579226, 4383359174, 529795300, 0, 13600},
    {"hta__timeline_analysis_sampled_rank-0.json.gz", {1154, 40, 10, 0, 0, 1204, 0, 2329, 73, 0, 0, 1}, 4855, 6697021870713732384, 7917027000, 16995026930, 0, 0},
    {"hta__trace_compare_base_base.json.gz", {6, 6, 6, 0, 0, 5, 0, 6, 4, 0, 0, 0}, 33, 8727109206967113960, 224906000, 44918753, 0, 0},
    {"hta__trace_compare_test_test.json.gz", {5, 6, 6, 0, 0, 5, 0, 9, 3, 0, 0, 0}, 34, 1165675636391949152, 225364000, 42946170, 0, 0},
    {"hta__trace_diff_control_control.json.gz", {8568, 228, 654, 0, 0, 24692, 0, 40506, 288, 0, 0, 1}, 109123, 6974884829405445232, 3145078000, 62237699757, 0, 34142},
    {"hta__trace_diff_test_test.json.gz", {9876, 4856, 900, 0, 0, 21167, 0, 31236, 288, 0, 0, 1}, 105167, 1350647713938503712, 5733877000, 73172895210, 0, 36799},
    {"hta__trace_filter_sampled_rank-0.json.gz", {1154, 40, 10, 0, 0, 1204, 0, 2329, 73, 0, 0, 1}, 4855, 6697021870713732384, 7917027000, 16995026930, 0, 0},
    {"hta__trace_filter_sampled_rank-1.json.gz", {1104, 40, 10, 0, 0, 1154, 0, 2302, 65, 0, 0, 1}, 4720, 889954431867973776, 8020966000, 16212241422, 0, 0},
    {"hta__triton_example_triton_example.json.gz", {1, 0, 0, 0, 0, 1, 1, 3, 1, 0, 0, 1}, 71, 4617882291565627248, 13693360730, 109, 0, 3},
    {"kineto__samples_resnet50_num_workers_0_worker0.1623143089861.pt.trace.json.gz", {8772, 12, 312, 0, 0, 11923, 0, 23646, 0, 0, 0, 1}, 75718, 3584235086961468120, 4924245000, 1452632631, 12838, 18192},
    {"kineto__samples_resnet50_num_workers_4_worker0.1623212756351.pt.trace.json.gz", {8868, 12, 378, 0, 0, 12085, 0, 20562, 0, 0, 0, 1}, 71424, 9192968611152870808, 4276502000, 1477998531, 10980, 18516},
    {"kineto__test_gpu_metrics_expected.json", {30, 2, 0, 0, 0, 42, 0, 179, 0, 0, 0, 1}, 418, 6007531934705405448, 49625000, 33909, 0, 64},
    {"kineto__test_gpu_metrics_input.json", {30, 2, 0, 0, 0, 42, 0, 179, 0, 0, 0, 1}, 340, 6007531934705405448, 49625000, 33909, 0, 64},
    {"param__linear_kineto.json.gz", {8716, 0, 1640, 0, 0, 14515, 0, 36998, 80, 0, 0, 1}, 86859, 5573061052160924240, 7529068000, 1219924000, 0, 24871},
    {"quirks/catapult__async_begin_end.json", {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 3}, 35, 570000, 220000, 0, 0, 0},
    {"quirks/catapult__flow_simple.json", {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 5}, 10, 10534000, 1020000, 0, 0, 4},
    {"quirks/catapult__nanoseconds.json", {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 8}, 16, 16141, 2020, 0, 0, 0},
    {"quirks/catapult__simple_trace_gz.gz", {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 12}, 35, 10035000, 99000, 0, 0, 0},
    {"quirks/catapult__trace-with-bad-world-bounds.json", {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, 10, 0, 0, 0, 0, 0},
    {"quirks/catapult__trivial_trace.json", {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2}, 4, 19153000, 38000, 0, 0, 0},
    {"quirks/catapult__x_event_trace.json", {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 3241}, 4027, 558062870927715000, 1336168000, 0, 0, 0},
    {"quirks/perfetto__connected_flow_data.json", {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 11}, 12, 18507000, 4600000, 0, 0, 0},
    {"quirks/perfetto__flow_events_json_v1.json", {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 5}, 10, 10535000, 1020000, 0, 0, 4},
    {"quirks/perfetto__json_args_ordered.json", {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, 2, 0, 0, 0, 0, 0},
    {"quirks/perfetto__json_invalid_string_ts_and_dur.json", {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}, 2, 300000, 0, 0, 0, 0},
    {"quirks/perfetto__json_json_async.json", {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, 6, 0, 0, 0, 0, 0},
    {"quirks/perfetto__json_json_counter_args.json", {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, 1, 0, 0, 0, 0, 0},
    {"quirks/perfetto__json_json_flow.json", {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2}, 9, 350000, 150000, 0, 0, 0},
    {"quirks/perfetto__json_json_id2.json", {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, 4, 0, 0, 0, 0, 0},
    {"quirks/perfetto__json_json_id2_global_string_id.json", {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, 2, 0, 0, 0, 0, 0},
    {"quirks/perfetto__json_json_id2_local_int_id.json", {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, 4, 0, 0, 0, 0, 0},
    {"quirks/perfetto__json_json_incomplete.json", {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}, 1, 4619295550000, 8000000, 0, 0, 0},
    {"quirks/perfetto__json_json_metadata.json", {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4}, 13, 3620000, 95000, 0, 0, 0},
    {"quirks/perfetto__json_json_pid_tid_zero.json", {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, 14, 0, 0, 0, 0, 0},
    {"quirks/perfetto__json_json_sort_index_hints.json", {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}, 4, 200000, 100000, 0, 0, 0},
    {"quirks/perfetto__json_json_thread_state.json", {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, 7, 0, 0, 0, 0, 0},
    {"quirks/perfetto__json_json_thread_state_sched.json", {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, 5, 0, 0, 0, 0, 0},
    {"quirks/perfetto__json_json_trailing_comma.json", {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2}, 2, 3478498458, 4059845208, 0, 0, 0},
    {"quirks/perfetto__json_overlapping_complete_event_import_log.json", {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2}, 2, 250000, 200000, 0, 0, 0},
    {"quirks/perfetto__json_string_pid_tid.json", {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}, 1, 5100, 500100, 0, 0, 0},
    {"quirks/perfetto__json_string_ts_and_dur.json", {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2}, 3, 350000, 151000, 0, 0, 0},
    {"quirks/perfetto__json_string_tts_and_tdur.json", {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}, 1, 400000, 100000, 0, 0, 0},
    {"quirks/perfetto__json_trailing_empty_event.json", {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}, 2, 1000, 2000, 0, 0, 0},
    {"quirks/speedscope__Chrome_116_Trace-20230603T221323.json", {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2456}, 3108, 23657295109782000, 348473000, 0, 0, 26},
    {"quirks/speedscope__trace-event_bex-interaction.json", {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 12}, 18, 302000, 20000, 0, 0, 0},
    {"quirks/speedscope__trace-event_end-event-with-empty-stack.json", {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}, 3, 0, 1000, 0, 0, 0},
    {"quirks/speedscope__trace-event_event-reordering-name-match.json", {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 3}, 5, 2000, 12000, 0, 0, 0},
    {"quirks/speedscope__trace-event_hermes-multiple-frames.json", {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4}, 8, 9000, 30000, 0, 0, 0},
    {"quirks/speedscope__trace-event_matching-x.json", {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 5}, 5, 12000, 14000, 0, 0, 0},
    {"quirks/speedscope__trace-event_mismatched-args.json", {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}, 2, 0, 10000, 0, 0, 0},
    {"quirks/speedscope__trace-event_multi-thread-with-samples.json", {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2}, 4, 23100367332000, 0, 0, 0, 0},
    {"quirks/speedscope__trace-event_multiprocess.json", {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 8}, 17, 0, 8000, 0, 0, 0},
    {"quirks/speedscope__trace-event_not-enough-end-events.json", {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}, 3, 10000, 1000, 0, 0, 0},
    {"quirks/speedscope__trace-event_only-begin-events.json", {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, 3, 0, 0, 0, 0, 0},
    {"quirks/speedscope__trace-event_out-of-order.json", {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 3}, 6, 3000, 24000, 0, 0, 0},
    {"quirks/speedscope__trace-event_simple-hermes.json", {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2}, 4, 1000, 26000, 0, 0, 0},
    {"quirks/speedscope__trace-event_simple-partial-trailing-comma.json", {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4}, 6, 10000, 31000, 0, 0, 0},
    {"quirks/speedscope__trace-event_simple-partial-whitespace.json", {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4}, 6, 10000, 31000, 0, 0, 0},
    {"quirks/speedscope__trace-event_simple-with-samples.json", {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, 2, 0, 0, 0, 0, 0},
    {"quirks/speedscope__trace-event_simple.json", {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4}, 6, 10000, 31000, 0, 0, 0},
    {"quirks/speedscope__trace-event_too-many-end-events.json", {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2}, 6, 1000, 26000, 0, 0, 0},
    {"quirks/speedscope__trace-event_unbalanced-args.json", {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2}, 4, 1000, 18000, 0, 0, 0},
    {"quirks/speedscope__trace-event_x-events-matching-end.json", {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9}, 9, 62000, 32000, 0, 0, 0},
    {"quirks/speedscope__trace-event_x-events-matching-start.json", {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9}, 9, 56000, 32000, 0, 0, 0},
    {"tracelens__b200_eager_trace.json.gz", {768, 161, 0, 3, 0, 1151, 221, 4809, 3, 15230, 9, 0}, 24656, 4673131736746041759, 2118013220, 17713839, 0, 2301},
    {"tracelens__h100_Qwen_Qwen1.5-0.5B-Chat__1016005.json.gz", {1465, 1, 241, 1, 0, 1921, 1, 4186, 1, 4262, 0, 1}, 18221, 6661873496238234595, 1450199763, 2501718334, 2450, 3629},
    {"tracelens__h100_google_owlv2-large-patch14-ensemble__1016001.json.gz", {4330, 85, 750, 1, 0, 8567, 725, 24378, 7, 65313, 2, 1}, 132152, 5588950626570789426, 48925224488, 7360539100, 13474, 14457},
    {"tracelens__inference_vllm_decode_full_graph_execution.json.gz", {425, 9, 0, 0, 0, 20, 0, 100, 1, 984, 0, 0}, 1993, 8844832718343675492, 26516513, 229321199, 0, 454},
    {"tracelens__inference_xdit_flux.1_aiter_sage_profile_trace_rank_0.json.gz", {7830, 36, 0, 5, 0, 2958, 0, 6409, 6, 201328, 0, 1}, 229459, 6490399656913852449, 10983461569, 210507712, 0, 10824},
    {"tracelens__mi210_gpu_only_trace_gpu_only_trace.json.gz", {562, 0, 0, 0, 0, 631, 0, 0, 0, 0, 0, 1}, 2443, 5877266330665307156, 13721486, 376432, 0, 1193},
    {"tracelens__mi300_resnet_act_checkpoint.json.gz", {2995, 550, 108, 21, 0, 3100, 0, 8004, 24, 34405, 0, 1}, 56451, 1638441382563741739, 1650444422, 43409489, 0, 7179},
    {"tracelens__torch_compile_triton_trace.json.gz", {12, 0, 0, 1, 0, 59, 0, 41, 1, 0, 0, 1}, 246, 1634196779638978651, 52480481, 2129, 0, 71},
};
// clang-format on

class RealFile : public testing::TestWithParam<Expected> {
 protected:
  static fs::path folder() { return fs::path(HEADROOM_SHARED) / "traces"; }
  void SetUp() override {
    if (!fs::exists(folder())) GTEST_SKIP() << "the real traces are not beside the repository";
  }
};

TEST_P(RealFile, HasTheEventsThatPythonCounts) {
  const Expected& expected = GetParam();
  const Trace trace = read(folder() / expected.file);
  std::array<std::size_t, 12> events{};
  for (const Category category : trace.events.category) ++events[static_cast<std::size_t>(category)];
  EXPECT_EQ(events, expected.events);
  EXPECT_EQ(trace.events_seen, expected.seen);
  EXPECT_EQ(std::tuple(trace.memory.size(), trace.flows.size()), std::tuple(expected.memory, expected.flows));
  std::uint64_t starts = 0;
  for (const std::int64_t start : trace.events.start_ns) starts += static_cast<std::uint64_t>(start);
  EXPECT_EQ(static_cast<std::int64_t>(starts & 0x7fffffffffffffffU), expected.start_sum_ns);
  const auto& durations = trace.events.duration_ns;
  EXPECT_EQ(std::accumulate(durations.begin(), durations.end(), std::int64_t{0}), expected.duration_sum_ns);
  std::int64_t correlations = 0;
  for (const std::int64_t correlation : trace.events.correlation) {
    if (correlation != kNoCorrelation) correlations += correlation;
  }
  EXPECT_EQ(correlations, expected.correlation_sum);
}

TEST_P(RealFile, CountsEveryEventOnce) {
  for (const Needs needs : {Needs::kAll, Needs::kGpuWork, Needs::kLaunches | Needs::kOps}) {
    const Trace trace = read(folder() / GetParam().file, only(needs));
    EXPECT_EQ(trace.events_seen, trace.events.size() + trace.memory.size() + trace.flows.size() +
                                     trace.events_without_columns + trace.events_skipped_by_need +
                                     trace.problems.events_skipped);
    EXPECT_EQ(trace.events_seen, GetParam().seen);
  }
}

INSTANTIATE_TEST_SUITE_P(Traces, RealFile, testing::ValuesIn(kExpected));

std::vector<fs::path> readable_files(const char* folder = "traces") {
  std::vector<fs::path> files;
  const fs::path traces = fs::path(HEADROOM_SHARED) / folder;
  if (!fs::exists(traces)) return files;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(traces)) {
    if (entry.is_regular_file() && entry.path().extension() != ".md") files.push_back(entry.path());
  }
  std::ranges::sort(files);
  return files;
}

void check_utilization(const Trace& trace) {
  const AnalysisResult result = run_analysis("utilization", trace);
  if (trace.gpu.empty()) return;
  const DataTable& devices = table_of(result, "devices");
  for (std::size_t row = 0; row < devices.rows.size(); ++row) {
    const std::int64_t span = integer(devices, row, "span_ns");
    EXPECT_EQ(integer(devices, row, "compute_ns") + integer(devices, row, "exposed_communication_ns") +
                  integer(devices, row, "exposed_memory_ns") + integer(devices, row, "idle_ns"),
              span);
    EXPECT_GE(integer(devices, row, "idle_ns"), 0);
    EXPECT_LE(integer(devices, row, "matmul_convolution_ns"), integer(devices, row, "busy_ns"));
  }
  const AnalysisResult summary = run_analysis("summary", trace);
  EXPECT_EQ(summary.headlines.empty(), result.headlines.empty());
  if (result.headlines.empty()) return;
  EXPECT_EQ(headline(summary, "utilization"), headline(result, "utilization"));
}

void check_kernels(const Trace& trace) {
  if (trace.gpu.empty()) return;
  const AnalysisResult devices = run_analysis("utilization", trace);
  for (const char* by : {"name", "type", "shape", "op"}) {
    const AnalysisResult result = run_analysis("kernels", trace, {{"by", by}}, 0);
    const DataTable& kernels = table_of(result, "kernels");
    EXPECT_EQ(column_sum(kernels, "count"), static_cast<std::int64_t>(trace.gpu.size())) << by;
    EXPECT_EQ(column_sum(kernels, "total_ns"), static_cast<std::int64_t>(headline(result, "gpu_time_ns")))
        << by;
    const DataTable& table = table_of(devices, "devices");
    EXPECT_EQ(column_sum(table_of(result, "combinations"), "time_ns"),
              integer(table, table.rows.size() - 1, "busy_ns"));
  }
}

void check_modules(const Trace& trace) {
  const AnalysisResult result = run_analysis("modules", trace, {}, 0);
  if (result.tables.empty()) return;
  const DataTable& totals = table_of(result, "totals");
  constexpr std::size_t kAll = 2;
  const auto sum_of_placed = [&](const char* key) {
    std::int64_t own = 0;
    for (const char* table : {"modules", "lines"})
      own = std::max(own, column_sum(table_of(result, table), key));
    return own;
  };
  EXPECT_LE(sum_of_placed("own_device_ns"), integer(totals, 0, "device_ns"));
  EXPECT_EQ(integer(totals, kAll, "device_ns"),
            static_cast<std::int64_t>(headline(run_analysis("kernels", trace), "gpu_time_ns")));
  if (!trace.gpu.empty()) {
    EXPECT_LE(sum_of_placed("own_idle_ns"), integer(totals, 0, "idle_ns"));
    const AnalysisResult of_idle = run_analysis("idle", trace, {}, 0);
    const DataTable& culprits = table_of(of_idle, "culprits");
    std::int64_t idle = 0;
    for (std::size_t row = 0; row < culprits.rows.size(); ++row) {
      if (integer(culprits, row, "depth") == 0) idle += integer(culprits, row, "idle_ns");
    }
    EXPECT_EQ(integer(totals, kAll, "idle_ns"), idle);
  }
  if (!trace.memory.empty()) {
    const AnalysisResult memory = run_analysis("memory", trace);
    const DataTable& devices = table_of(memory, "allocators");
    std::int64_t peak = 0;
    for (std::size_t row = 0; row < devices.rows.size(); ++row) {
      if (text(devices, row, "memory") != "CPU") peak += integer(devices, row, "peak_allocated_bytes");
    }
    EXPECT_EQ(integer(totals, kAll, "peak_bytes"), peak);
  }
}

void check_step_culprits(const Trace& trace, const DataTable& culprits) {
  const IdleCulprits found = idle_culprits(trace, device_work(trace), launches(trace), host_order(trace));
  std::map<std::string, std::int64_t> expected, said;
  std::vector<Step> all = step_set(trace).steps;
  if (all.empty()) {
    const Span window = TraceIndex(trace).window();
    all.push_back({-1, "all", window.start, window.end});
  }
  for (const Step& step : all) {
    for (const IdlePart& part : found.parts) {
      const std::int64_t inside =
          std::min(part.time.end, step.end_ns) - std::max(part.time.start, step.start_ns);
      if (inside > 0) expected[step_text(step) + to_string(part.doing)] += inside;
    }
  }
  for (std::size_t row = 0; row < culprits.rows.size(); ++row)
    said[text(culprits, row, "step") + text(culprits, row, "doing")] += integer(culprits, row, "idle_ns");
  EXPECT_EQ(said, expected);
}

void check_steps(const Trace& trace) {
  const AnalysisResult result = run_analysis("steps", trace, {}, 0);
  if (trace.events.size() == 0) return;
  const DataTable& steps = table_of(result, "steps");
  for (std::size_t row = 0; row < steps.rows.size(); ++row) {
    std::int64_t sum = 0;
    for (std::size_t column = 5; column < steps.columns.size(); ++column) {
      const std::int64_t part = integer(steps, row, steps.columns[column].key);
      EXPECT_GE(part, 0) << steps.columns[column].key;
      sum += part;
    }
    EXPECT_EQ(sum, integer(steps, row, "wall_ns"));
    EXPECT_LE(integer(steps, row, "busy_ns"), integer(steps, row, "wall_ns"));
  }
  if (!trace.gpu.empty()) check_step_culprits(trace, table_of(result, "step_culprits"));
}

void check_ops(const Trace& trace) {
  for (const char* by : {"name", "shape", "stack"}) {
    const AnalysisResult result = run_analysis("ops", trace, {{"by", by}}, 0);
    if (result.tables.empty()) continue;
    const DataTable& ops = table_of(result, "ops");
    std::int64_t device = 0;
    for (const GpuDetail& work : trace.gpu) device += trace.events.duration_ns[work.event];
    EXPECT_LE(column_sum(ops, "self_device_ns"), device);
    for (std::size_t row = 0; row < ops.rows.size(); ++row) {
      EXPECT_GE(integer(ops, row, "self_cpu_ns"), 0);
      EXPECT_GE(integer(ops, row, "cpu_total_ns"), 0);
      EXPECT_GT(integer(ops, row, "calls"), 0);
      EXPECT_LE(integer(ops, row, "self_device_ns"), integer(ops, row, "device_total_ns"));
    }
  }
}

void check_efficiency(const Trace& trace) {
  for (const Headline& headline : run_analysis("efficiency", trace).headlines) {
    EXPECT_GE(headline.value, 0) << headline.metric;
    EXPECT_LE(headline.value, 1) << headline.metric;
  }
}

/// The replay takes the recorded time; no gain exceeds the loss.
void check_findings(const Trace& trace) {
  const TraceIndex index(trace);
  const FindingSearch before(index);
  const Span window = before.window();
  const std::int64_t of_host = window.end - window.start;
  std::int64_t length = of_host, computing = 0, idle = 0;
  std::int64_t first_start = std::numeric_limits<std::int64_t>::max(), first_queued = 0;
  for (const StreamOrder& stream : index.streams()) {
    for (std::size_t place = 0; place < stream.rows.size(); ++place) {
      const std::uint32_t event = trace.gpu[stream.rows[place]].event;
      const std::int64_t start = trace.events.start_ns[event], queued = stream.queued_ns[place];
      const bool is_known = queued != std::numeric_limits<std::int64_t>::min();
      if (is_known && queued >= window.start && start < first_start) {
        first_start = start;
        first_queued = queued;
      }
      if ((is_known ? queued : start) < window.end)
        length = std::max(length, trace.events.end_ns(event) - window.start);
    }
  }
  // A late start says nothing about the window.
  if (first_queued < window.end && first_start >= window.end && first_start - first_queued > of_host / 2)
    length = of_host;
  EXPECT_EQ(before.replay().length_ns(), length);
  for (std::size_t i = 0; i < before.devices().size(); ++i) {
    const DeviceTimes& device = before.devices()[i];
    const Span& own = index.device_windows().by_device[i];
    EXPECT_GE(own.end - own.start, of_host);
    computing = std::max(computing, length_within(device.compute, own));
    idle += own.end - own.start - length_within(device.busy(), own);
  }
  FindingSearch search(index);
  double gains = 0;
  for (const Finding& finding : search_findings(search)) {
    EXPECT_GE(finding.recoverable_ns, 0) << to_string(finding.kind);
    EXPECT_LE(finding.share, 1) << to_string(finding.kind);
    if (finding.kind != FindingKind::kKernelBelowRoof) gains += finding.further_ns;
  }
  double fusible = 0;
  for (const GpuDetail& work : trace.gpu) {
    const std::int64_t duration = trace.events.duration_ns[work.event];
    if (duration < 5'000 && is_generic_kernel(trace.names[trace.events.name[work.event]]))
      fusible += static_cast<double>(duration);
  }
  EXPECT_LE(gains * search.step_count(), static_cast<double>(length - computing) + fusible + 1);
  std::int64_t parts = 0;
  for (const IdlePart& part : search.culprits().parts) parts += part.length_ns();
  EXPECT_EQ(parts, idle);
}

TEST(RealFiles, SumsAddUpAndAnalysesAgree) {
  const std::vector<fs::path> files = readable_files();
  if (files.empty()) GTEST_SKIP() << "needs " << HEADROOM_SHARED << "/traces";
  std::size_t checked = 0;
  for (const fs::path& file : files) {
    SCOPED_TRACE(file.filename().string());
    Trace trace;
    try {
      trace = read(file);
    } catch (const Error&) {
      continue;
    }
    check_utilization(trace);
    check_kernels(trace);
    check_modules(trace);
    check_steps(trace);
    check_ops(trace);
    check_efficiency(trace);
    check_findings(trace);
    ++checked;
  }
  EXPECT_GE(checked, 60U);
}

class RealTraces : public testing::Test {
 protected:
  void SetUp() override {
    if (!fs::exists(folder())) GTEST_SKIP() << "the real traces are not beside this repository";
  }
  static fs::path folder() { return fs::path(HEADROOM_SHARED) / "traces"; }
  static Trace read_for_path(const char* name) {
    return read(folder() / name, only(Needs::kLaunches | Needs::kOps | Needs::kSyncs));
  }
  static Trace read_for(const Analysis& analysis, const char* name) {
    return read(folder() / name, only(needs_of(analysis, {})));
  }
  static std::vector<RankResult> two_ranks(const Analysis& analysis) {
    std::vector<RankResult> ranks;
    for (const char* name :
         {"hta__trace_filter_sampled_rank-0.json.gz", "hta__trace_filter_sampled_rank-1.json.gz"}) {
      RankResult& rank = ranks.emplace_back();
      const Trace trace = read_for(analysis, name);
      rank.rank = trace.rank.value();
      rank.result = analysis.analyze(TraceIndex(trace), {});
    }
    return ranks;
  }
};

using CollectivesRealFiles = RealTraces;

// record_param_comms: 15 all-reduces and 6 broadcasts of one group.
TEST_F(CollectivesRealFiles, GroupsAndSizes) {
  const Trace trace = read_for(*find_analysis("collectives"), "hta__nccl_parser_config_nccl_data.json.gz");
  const std::vector<CollectiveCall> calls = TraceIndex(trace).calls();
  ASSERT_EQ(calls.size(), 21U);
  int all_reduces = 0;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    EXPECT_EQ(std::tuple(calls[i].group, calls[i].group_ranks, calls[i].group_size, calls[i].index),
              std::tuple("0", "[0, 1]", 2, static_cast<std::int64_t>(i)));
    EXPECT_GE(calls[i].iteration, 4);
    all_reduces += calls[i].collective == "all_reduce" ? 1 : 0;
  }
  EXPECT_EQ(all_reduces, 15);
  EXPECT_EQ(std::tuple(calls[2].collective, calls[2].bytes), std::tuple("all_reduce", 2'049'000 * 4.0));
}

// Kernels are missing: pairing by index would join unrelated ones. The same end in microseconds means one
// collective.
TEST_F(CollectivesRealFiles, SampledRanksArePairedByTime) {
  const Analysis& analysis = *find_analysis("collectives");
  const std::vector<RankResult> ranks = two_ranks(analysis);
  const AnalysisResult result = analysis.combine(ranks, {});
  const DataTable& skews = result.tables[1];
  ASSERT_EQ(skews.rows.size(), 5U);
  EXPECT_EQ(std::get<double>(skews.rows[0][7]), 22'328'000);  // 1682725899168655 - 1682725899146327 us
  EXPECT_EQ(std::get<double>(skews.rows[0][6]), 13'838'000);  // duration on the later rank
  EXPECT_EQ(std::get<std::int64_t>(skews.rows[0][9]), 1);
  EXPECT_EQ(result.tables[3].rows.size(), 10U);  // 20 kernels in all
}

// As HTA, by the kernels of step 551 (it omits the last step).
TEST_F(CollectivesRealFiles, TheStraggler) {
  const Analysis& analysis = *find_analysis("stragglers");
  const AnalysisResult result = analysis.combine(two_ranks(analysis), {});
  EXPECT_EQ(std::get<std::int64_t>(result.tables[0].rows[0][0]), 1);
  const DataTable& starts = result.tables[3];
  ASSERT_EQ(starts.rows.size(), 4U);
  EXPECT_EQ(std::get<std::int64_t>(starts.rows[0][0]), 551);
  EXPECT_EQ(std::get<std::int64_t>(starts.rows[0][3]), 47'652'000);
  EXPECT_EQ(std::get<std::int64_t>(starts.rows[1][3]), 17'614'000);
}

using CriticalPathRealFiles = RealTraces;

void expect_times(const CriticalPath& path, std::int64_t cpu_ns, std::int64_t compute_ns,
                  std::int64_t between_ns, std::int64_t launch_ns, std::int64_t length_ns) {
  std::map<HtaPathClass, std::int64_t> times;
  for (const PathEdge& edge : path.edges) times[edge.kind] += edge.weight_ns;
  EXPECT_EQ(times[HtaPathClass::kCpu], cpu_ns);
  EXPECT_EQ(times[HtaPathClass::kGpuCompute], compute_ns);
  EXPECT_EQ(times[HtaPathClass::kKernelKernel], between_ns);
  EXPECT_EQ(times[HtaPathClass::kLaunch], launch_ns);
  EXPECT_EQ(path.end_ns - path.start_ns, length_ns);
}

// HTA: 32,042 us on the CPU, 3,712 in kernels, 50 between them, 30 for a launch; no time for
// cudaDeviceSynchronize, whose first call (14 us) had nothing to wait for.
TEST_F(CriticalPathRealFiles, AlexnetAgreesWithHta) {
  const Trace trace =
      read_for_path("hta__critical_path_alexnet_benchmark_result_2869224_1695835535_trace.json.gz");
  Span window;
  for (std::size_t i = 0; i < trace.events.size(); ++i) {
    if (trace.names[trace.events.name[i]] == "[param|pytorch.model.alex_net|0|0|0|measure|forward]")
      window = {trace.events.start_ns[i], trace.events.end_ns(i)};
  }
  expect_times(hta_critical_path(hta_path_graph(trace, window)), 32'042'000 + 14'000, 3'712'000, 50'000,
               30'000, 36'025'000);
}

// HTA: 1,025 us on the CPU, 124 in kernels, 15 between them, 14 for a launch; no time for cudaEventQuery,
// which never waits: calls of 6, 5 and 5 us.
TEST_F(CriticalPathRealFiles, EventSyncAgreesWithHta) {
  const Trace trace =
      read_for_path("hta__critical_path_cuda_event_sync_multi_stream_event_sync_trace.json.gz");
  const Extent extent = trace_extent(trace);
  expect_times(hta_critical_path(hta_path_graph(trace, {extent.start_ns, extent.end_ns + 1})),
               1'025'000 + 16'000, 124'000, 15'000, 14'000, 19'917'000);
}

// The backward pass, on autograd's thread, takes 86.9 ms of the step; HTA 0.6.1 has 188.9 ms, to the
// microsecond; the main thread alone gives 103 ms.
TEST_F(CriticalPathRealFiles, SeesTheThreadOfTheBackwardPass) {
  const Trace trace = read_for_path("hta__nccl_parser_config_nccl_data.json.gz");
  const std::vector<Step> all = step_set(trace).steps;
  const Step& middle = all[all.size() / 2];
  const CriticalPath path = hta_critical_path(hta_path_graph(trace, {middle.start_ns, middle.end_ns}));
  EXPECT_NEAR(static_cast<double>(path.length_ns) / 1e6, 188.9, 1.5);
}

TEST_F(CriticalPathRealFiles, IsNeverLongerThanItsTime) {
  for (const char* name : {"hta__amd_trace_mi250_minitoy_train_ROCm6_2_kineto.json.gz",
                           "hta__trace_filter_sampled_rank-0.json.gz", "hta__trace_compare_base_base.json.gz",
                           "hta__nccl_parser_config_nccl_data.json.gz", "tracelens__b200_eager_trace.json.gz",
                           "kineto__samples_resnet50_num_workers_4_worker0.1623212756351.pt.trace.json.gz",
                           "tracelens__inference_vllm_decode_full_graph_execution.json.gz",
                           "tracelens__mi210_gpu_only_trace_gpu_only_trace.json.gz"}) {
    const Trace trace = read_for_path(name);
    const std::vector<Step> all = step_set(trace).steps;
    const Extent extent = trace_extent(trace);
    std::vector<Span> windows{{extent.start_ns, extent.end_ns + 1}};
    if (!all.empty()) windows.push_back({all[all.size() / 2].start_ns, all[all.size() / 2].end_ns});
    for (const Span& window : windows) {
      const PathGraph graph = hta_path_graph(trace, window);
      const CriticalPath path = hta_critical_path(graph);
      if (window == windows.front()) {
        EXPECT_GT(path.length_ns, 0) << name;
      }
      std::int64_t sum = 0;
      for (std::size_t i = 0; i < path.edges.size(); ++i) {
        sum += path.edges[i].weight_ns;
        if (i > 0) {
          ASSERT_EQ(path.edges[i].from, path.edges[i - 1].to) << name;
        }
      }
      EXPECT_EQ(sum, path.length_ns) << name;
      EXPECT_LE(path.length_ns, path.end_ns - path.start_ns) << name;
      EXPECT_LE(path.length_ns, extent.length_ns()) << name;
      EXPECT_EQ(graph.edges_left_out, 0U) << name;
    }
  }
}

/// The path fills the window's time without hole or overlap, is as long as the replay, and sets that time:
/// work off the path may be shorter, and the host gone while the path is on the device.
void expect_critical(const TraceIndex& index, Span window) {
  const Replay replay(index, window);
  std::int64_t at = window.start, sum = 0;
  for (const PathLink& link : critical_path(index, window)) {
    ASSERT_EQ(link.time.start, at);
    ASSERT_GT(link.time.end, at);
    at = link.time.end;
    sum += link.length_ns();
  }
  EXPECT_EQ(sum, replay.length_ns());
  WhatIf shorter{.duration_ns = recorded_durations(index.trace())};
  for (std::size_t row = 0; row < shorter.duration_ns.size(); ++row) {
    const std::uint32_t event = index.trace().gpu[row].event;
    if (index.trace().events.start_ns[event] >= window.start) shorter.duration_ns[row] /= 2;
  }
  WhatIf without_host;
  for (const Replay::Link& link : replay.chain()) {
    if (link.kind != Replay::Link::Kind::kWork) continue;
    shorter.duration_ns[link.row] = std::numeric_limits<std::int64_t>::max();
    without_host.host_removed.push_back(link.time);
  }
  without_host.host_removed = merged(std::move(without_host.host_removed));
  // Work that overlaps the next on its stream may bind it by its end, without a link.
  EXPECT_NEAR(static_cast<double>(replay.length_ns(shorter)), static_cast<double>(sum), 1'000);
  EXPECT_EQ(replay.length_ns(without_host), sum);
}

TEST_F(CriticalPathRealFiles, FillsAndSetsTheTimeOfEveryTrace) {
  std::size_t environment_with_devices = 0;
  for (const char* folder : {"traces", "traces2"}) {
    for (const fs::path& file : readable_files(folder)) {
      SCOPED_TRACE(file);
      ReadOptions options;
      options.needs = Needs::kLaunches | Needs::kOps | Needs::kSyncs | Needs::kPython;
      Trace trace;
      try {
        trace = read(file, options);
      } catch (const Error&) {
        continue;  // an archive, or a file without events
      }
      if (!trace.gpu.empty()) ++environment_with_devices;
      const TraceIndex index(trace);
      const Extent extent = trace_extent(trace);
      expect_critical(index, {extent.start_ns, extent.end_ns});
      expect_critical(index, index.window());
      for (const Step& step : index.steps().steps) expect_critical(index, {step.start_ns, step.end_ns});
      if (HasFatalFailure()) return;
    }
  }
  EXPECT_GE(environment_with_devices, 35U);
}

class Cases : public testing::Test {
 protected:
  static Trace read_case(const std::string& name, Needs needs = Needs::kAll) {
    return read(fs::path(HEADROOM_SHARED) / "cases" / "trace" / name, only(needs));
  }
  void SetUp() override {
    if (!fs::exists(fs::path(HEADROOM_SHARED) / "cases" / "trace"))
      GTEST_SKIP() << "needs " << HEADROOM_SHARED << "/cases";
  }
};

// 9.7 s of the profiler's start before 30 ms of work.
TEST_F(Cases, TheWindowIsThatOfTheDevicesWhateverIsRead) {
  for (const Needs needs : {Needs::kAll, kFindingNeeds, Needs::kLaunches}) {
    const Trace trace = read_case("c1_start_trace_python.json", needs);
    const Span window = TraceIndex(trace).window();
    EXPECT_NEAR(headline(run_analysis("steps", trace), "step_time_ns"), 30.6e6, 0.2e6);
    EXPECT_NEAR(static_cast<double>(window.end - window.start), 30.6e6, 0.2e6);
    const DataTable findings = table_of(run_analysis("findings", trace), "findings");
    ASSERT_EQ(findings.rows.size(), 1U);
    EXPECT_EQ(text(findings, 0, "kind"), "synchronisation");
    EXPECT_NEAR(number(findings, 0, "recoverable_ns"), 446e3, 50e3);
  }
}

TEST_F(Cases, TheDeviceRunsAfterTheSteps) {
  const Trace trace = read_case("a4_burst.json");
  const TraceIndex index(trace);
  EXPECT_NEAR(FindingSearch(index).step_ns(), 18.45e6, 1e3);
  EXPECT_EQ(index.steps().works, 600U);
  EXPECT_EQ(index.steps().works_inside, 0U);
  EXPECT_TRUE(index.steps().is_device_behind());
  EXPECT_THROW(headline(run_analysis("steps", trace), "step_utilization"), std::invalid_argument);
}

TEST_F(Cases, MergedRanksHaveTheStepsOfOne) {
  const Trace trace = read_case("a5_merged.json");
  EXPECT_EQ(step_set(trace).steps.size(), 3U);
}

// 100 of the first 120 launches have no work.
TEST_F(Cases, StepsWithoutTheirKernelsDoNotCount) {
  const Trace trace = read_case("a7_first_kernels_dropped.json");
  const TraceIndex index(trace);
  const StepSet& steps = index.steps();
  EXPECT_LT(steps.measured().size(), steps.steps.size());
}

}  // namespace
}  // namespace headroom::trace
