// SPDX-License-Identifier: Apache-2.0
// Our figures against those of TraceLens: its stored figures (bench/tracelens_golden.py) follow from our
// columns and the ways of TracelensWays, and without those ways what follows is what our analyses say.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <ostream>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "headroom/base/json.h"
#include "headroom/trace/readers/read.h"
#include "headroom/trace/work/device_work.h"

namespace headroom::trace {
namespace {

/// What TraceLens does with a trace and we do not.
struct TracelensWays {
  /// Times are microseconds in doubles, since 1970 where the file has them so: 0.2 us apart.
  bool rounds = true;
  /// Setting memory is computing.
  bool computes_sets = true;
  /// Communication is what NCCL and its likes call so; symmetric memory's multimem_all_reduce is computing.
  bool knows_few_communications = true;
};

struct Timeline {
  double compute = 0, communication = 0, copies = 0, idle = 0,
         total = 0;  ///< us; exposed, as they sum to all
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

/// By a sweep over the ends: what computes hides communication, and both hide copies.
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

struct File {
  const char* name;
  std::string_view matters;  ///< the ways without which it would say other figures
};

void PrintTo(const File& file, std::ostream* out) {
  *out << file.name;
}

const File kFiles[] = {
    // No other way is needed: what is exposed, idle and in all is the same to the double.
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

class TracelensGolden : public testing::TestWithParam<File> {};

TEST_P(TracelensGolden, FollowsFromOurColumnsAndWithoutItsWaysIsOurs) {
  const std::filesystem::path path = std::filesystem::path(HEADROOM_SHARED "/traces") / GetParam().name;
  if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is not there";
  const Trace trace = read(path, {});
  std::ifstream file(HEADROOM_TEST_DATA "/trace/tracelens_golden.json");
  const std::string all{std::istreambuf_iterator<char>(file), {}};
  const Json golden = parse_json(all, "tracelens_golden.json").at("files").at(GetParam().name);
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

INSTANTIATE_TEST_SUITE_P(RealFiles, TracelensGolden, testing::ValuesIn(kFiles),
                         [](const auto& tested) { return "file_" + std::to_string(tested.index); });

}  // namespace
}  // namespace headroom::trace
