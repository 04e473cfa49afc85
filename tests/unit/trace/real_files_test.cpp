// SPDX-License-Identifier: Apache-2.0
// Reads every real file and holds what it gave against figures that a Python program made from the same files
// with the json module and exact decimals.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <filesystem>
#include <numeric>
#include <ostream>
#include <string>

#include "headroom/trace/readers/read.h"

namespace headroom::trace {
namespace {

namespace fs = std::filesystem;

struct Expected {
  const char* file;
  std::array<std::size_t, 12> events;  ///< by Category
  std::uint64_t seen;                  ///< elements of the list
  std::int64_t start_sum_ns;           ///< modulo 2^63
  std::int64_t duration_sum_ns;
  std::int64_t correlation_sum;  ///< of those that have one
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
  EXPECT_EQ(trace.memory.size(), expected.memory);
  EXPECT_EQ(trace.flows.size(), expected.flows);
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
    ReadOptions options;
    options.needs = needs;
    const Trace trace = read(folder() / GetParam().file, options);
    EXPECT_EQ(trace.events_seen, trace.events.size() + trace.memory.size() + trace.flows.size() +
                                     trace.events_without_columns + trace.events_skipped_by_need +
                                     trace.problems.events_skipped);
    EXPECT_EQ(trace.events_seen, GetParam().seen);
  }
}

INSTANTIATE_TEST_SUITE_P(Traces, RealFile, testing::ValuesIn(kExpected));

}  // namespace
}  // namespace headroom::trace
