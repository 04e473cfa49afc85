// SPDX-License-Identifier: Apache-2.0
// Our figures against those of Holistic Trace Analysis. They differ; this shows by how much and why, with
// nothing left over: HTA's stored figures (bench/hta_golden.py) follow exactly from our columns and the ways
// of HtaWays, and without those ways what follows is what our analyses say.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <ostream>
#include "headroom/base/json.h"

#include "headroom/trace/readers/read.h"
#include "headroom/trace/work/device_work.h"
#include "hta_view.h"
#include "result_view.h"

namespace headroom::trace {
namespace {

using json = headroom::Json;
using Steps = HtaWays::Steps;

std::optional<HtaView::Temporal> temporal_of(const json& figures) {
  if (figures.is_string()) return std::nullopt;  // the text of HTA's error
  const auto ns = [&](const char* key) { return 1000 * figures[key].get<std::int64_t>(); };
  return HtaView::Temporal{ns("idle_us"), ns("compute_us"), ns("non_compute_us"), ns("span_us")};
}

std::optional<double> overlap_of(const json& figure) {
  return figure.is_null() ? std::optional<double>{} : figure.get<double>();
}

/// Without the causes that have no interval: HTA lists one for the first work of each stream.
HtaView::Idle idle_of(const json& figures) {
  HtaView::Idle idle;
  for (const json& one : figures) {
    if (one["intervals"] != 0)
      idle[{one["stream"].get<std::int64_t>(), one["cause"].string()}] = {
          1000 * one["time_us"].get<std::int64_t>(), one["intervals"].get<std::int64_t>()};
  }
  return idle;
}

HtaView::Launch launch_of(const json& figures) {
  const auto ns = [&](const char* key) {
    return figures[key].is_null() ? 0 : 1000 * figures[key].get<std::int64_t>();
  };
  return {figures["launches"].get<std::int64_t>(),
          ns("call_total_us"),
          ns("call_max_us"),
          ns("gpu_total_us"),
          ns("gpu_max_us"),
          ns("delay_total_us"),
          ns("delay_max_us")};
}

HtaView::Temporal our_temporal(const Trace& trace) {
  const Breakdown sum = total(device_times(trace, device_work(trace), kernel_types(trace)));
  return {sum.idle_ns, sum.compute_ns, sum.span_ns - sum.idle_ns - sum.compute_ns, sum.span_ns};
}

HtaView::Overlap our_overlap(const Trace& trace) {
  const ResultView view = view_analysis("overlap", trace);
  HtaView::Overlap overlap;
  for (std::size_t row = 0; row < view.rows("devices"); ++row) {
    overlap.both_ns += view.integer("devices", row, "overlap_ns");
    overlap.communication_ns += view.integer("devices", row, "communication_ns");
  }
  return overlap;
}

HtaView::Idle our_idle(const Trace& trace) {
  const ResultView view = view_analysis("idle", trace);
  HtaView::Idle idle;
  for (std::size_t row = 0; row < view.rows("streams"); ++row) {
    for (const std::string cause : {"host_wait", "kernel_wait", "other"}) {
      const std::int64_t gaps = view.integer("streams", row, cause + "_gaps");
      if (gaps > 0)
        idle[{view.integer("streams", row, "stream"), cause}] = {view.integer("streams", row, cause + "_ns"),
                                                                 gaps};
    }
  }
  return idle;
}

/// Of all functions, or of those that HTA knows.
HtaView::Launch our_launch(const Trace& trace, bool of_all) {
  const ResultView view = view_analysis("launch", trace, option("each"));
  HtaView::Launch sum;
  for (std::size_t row = 0; row < view.rows("each"); ++row) {
    if (of_all || HtaView::knows_launch_function(view.text("each", row, "function")))
      sum.add(view.integer("each", row, "call_ns"), view.integer("each", row, "gpu_ns"),
              view.integer("each", row, "delay_ns"));
  }
  return sum;
}

/// Of the ways that have a switch: which change a figure of a file, each turned off by itself.
struct Matters {
  bool reversed = false, syncs = false, work_before = false, first_event = false, names = false,
       operators = false;
  bool operator==(const Matters&) const = default;
};

void PrintTo(const Matters& matters, std::ostream* out) {
  *out << "{reversed " << matters.reversed << ", syncs " << matters.syncs << ", work_before "
       << matters.work_before << ", first_event " << matters.first_event << ", names " << matters.names
       << ", operators " << matters.operators << "}";
}

struct File {
  const char* name;
  Matters matters;
  /// Pieces of GPU work with a launch, all steps: HTA misses those of functions that it does not know.
  std::int64_t launched;
  std::int64_t idle_ns;  ///< exact, all steps
};

const File kFiles[] = {
    // NCCL, nanoseconds, two streams, three steps: rounding and the last step are all that differs.
    {"hta__nccl_parser_config_nccl_data.json.gz", {}, 3774, 503'050'991},
    // NCCL, whole microseconds, five streams, two steps.
    {"hta__timeline_analysis_sampled_rank-0.json.gz", {}, 1204, 675'191'000},
    // CUDA graphs: kernels of one stream overlap, 614 pieces of work have no launch, 5046 come from graphs.
    {"hta__trace_diff_test_test.json.gz", {.work_before = true}, 15'018, 27'296'000},
    // HIP: HTA knows none of the functions.
    {"hta__amd_trace_mi250_minitoy_train_ROCm6_2_kineto.json.gz", {}, 16, 8'762'845},
    // HIP and RCCL: 21 kernels of less than 1 us; 968 pieces of work without a launch are left out by HTA.
    {"tracelens__mi300_resnet_act_checkpoint.json.gz", {.reversed = true}, 2685, 2'565'652},
    // 22 such kernels, for which HTA gives up its temporal breakdown; and 509 without a launch.
    {"tracelens__h100_Qwen_Qwen1.5-0.5B-Chat__1016005.json.gz",
     {.reversed = true, .first_event = true},
     1198,
     4'005'532},
    // A HIP graph of 421 kernels, gaps of some ns: rounding makes 25 us of idle time 458.
    {"tracelens__inference_vllm_decode_full_graph_execution.json.gz", {}, 434, 25'473},
    // A synchronisation on a stream that HTA takes for 2 us of work.
    {"hta__critical_path_cuda_event_sync_multi_stream_event_sync_trace.json.gz",
     {.syncs = true},
     6,
     19'134'000},
    // A copy and a kernel of one stream overlap by a microsecond.
    {"hta__df_index_resolver_df_index_resolver.json.gz", {.work_before = true}, 22'290, 732'352'000},
    // Synchronisations with streams, which HTA takes for work; 13 s of idle time.
    {"hta__critical_path_alexnet_benchmark_result_2869224_1695835535_trace.json.gz",
     {.syncs = true},
     98,
     12'854'103'000},
    // All-reduce by symmetric memory, 2.1 ms that HTA takes for computing; CUDA graphs.
    {"tracelens__b200_eager_trace.json.gz",
     {.work_before = true, .names = true, .operators = true},
     929,
     72'890'696},
    // torch.compile: four operators that HTA takes for work of the device; gaps of a nanosecond.
    {"tracelens__torch_compile_triton_trace.json.gz", {.operators = true}, 12, 11},
    // Kernels of less than 1 us.
    {"tracelens__h100_google_owlv2-large-patch14-ensemble__1016001.json.gz",
     {.reversed = true},
     5165,
     511'528'902},
    // HIP: HTA knows none of the functions; rounding takes 7.9 of 33.1 ms of idle time.
    {"tracelens__inference_xdit_flux.1_aiter_sage_profile_trace_rank_0.json.gz", {}, 7866, 25'243'922},
};

void PrintTo(const File& file, std::ostream* out) {
  *out << file.name;
}

class HtaGolden : public testing::TestWithParam<File> {
 protected:
  void SetUp() override {
    const std::filesystem::path path = std::filesystem::path(HEADROOM_SHARED "/traces") / GetParam().name;
    if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is not there";
    ReadOptions options;
    options.needs = Needs::kLaunches | Needs::kOps | Needs::kSyncs | Needs::kOthers;
    static std::map<std::string, Trace> read_before;
    auto found = read_before.find(GetParam().name);
    if (found == read_before.end()) found = read_before.emplace(GetParam().name, read(path, options)).first;
    trace = &found->second;
    std::ifstream file(HEADROOM_TEST_DATA "/trace/hta_golden.json");
    const std::string all{std::istreambuf_iterator<char>(file), {}};
    golden = parse_json(all, "hta_golden.json").at("files").at(GetParam().name);
  }
  HtaView view(const HtaWays& ways) const { return HtaView(*trace, ways); }

  const Trace* trace = nullptr;
  json golden;
};

TEST_P(HtaGolden, FiguresFollowFromOurColumns) {
  for (const Steps steps : {Steps::kBeforeLast, Steps::kLaunched}) {
    const json& figures = golden.at(steps == Steps::kBeforeLast ? "without_last_step" : "with_last_step");
    const HtaView hta = view({.steps = steps});
    EXPECT_EQ(hta.temporal(), temporal_of(figures["temporal"]));
    EXPECT_EQ(hta.overlap().percent(), overlap_of(figures["overlap"]));
    EXPECT_EQ(hta.idle(), idle_of(figures["idle"]));
    EXPECT_EQ(hta.launch(), launch_of(figures["launch"]));
  }
}

constexpr HtaWays kOurs{.rounds = false,
                        .keeps_reversed_work = false,
                        .steps = Steps::kAll,
                        .counts_syncs = false,
                        .idles_from_work_before = false,
                        .missing_launch_is_first_event = false,
                        .knows_few_communications = false,
                        .counts_triton_operators = false};

void expect_ours(const HtaView& view, const Trace& trace) {
  EXPECT_EQ(view.temporal(), our_temporal(trace));
  EXPECT_EQ(view.overlap(), our_overlap(trace));
  EXPECT_EQ(view.idle(), our_idle(trace));
  EXPECT_EQ(view.launch(), our_launch(trace, false));
}

TEST_P(HtaGolden, WithoutItsWaysTheFiguresAreOurs) {
  expect_ours(view(kOurs), *trace);
  HtaWays rounding = kOurs;
  rounding.rounds = true;
  expect_ours(view(rounding), view(rounding).as_trace());
  rounding.steps = Steps::kBeforeLast;
  expect_ours(view(rounding), view(rounding).as_trace());
}

TEST_P(HtaGolden, WhichWaysMatterWhere) {
  const auto differs_without = [&](const HtaWays& ways) {
    const HtaView with = view({.steps = Steps::kLaunched}), without = view(ways);
    return with.temporal() != without.temporal() || with.overlap() != without.overlap() ||
           with.idle() != without.idle() || with.launch() != without.launch();
  };
  Matters matters;
  matters.reversed = differs_without({.keeps_reversed_work = false, .steps = Steps::kLaunched});
  matters.syncs = differs_without({.steps = Steps::kLaunched, .counts_syncs = false});
  matters.work_before = differs_without({.steps = Steps::kLaunched, .idles_from_work_before = false});
  matters.first_event = differs_without({.steps = Steps::kLaunched, .missing_launch_is_first_event = false});
  matters.names = differs_without({.steps = Steps::kLaunched, .knows_few_communications = false});
  matters.operators = differs_without({.steps = Steps::kLaunched, .counts_triton_operators = false});
  EXPECT_EQ(matters, GetParam().matters);
  EXPECT_EQ(our_launch(*trace, true).launches, GetParam().launched);
  EXPECT_EQ(our_temporal(*trace).idle_ns, GetParam().idle_ns);
}

INSTANTIATE_TEST_SUITE_P(RealFiles, HtaGolden, testing::ValuesIn(kFiles),
                         [](const auto& tested) { return "file_" + std::to_string(tested.index); });

}  // namespace
}  // namespace headroom::trace
