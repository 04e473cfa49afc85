// SPDX-License-Identifier: Apache-2.0
// The critical path of real traces: against Holistic Trace Analysis 0.5.0 where that gives one, and for what
// must hold of any trace.
#include <gtest/gtest.h>

#include <array>
#include <filesystem>

#include "headroom/trace/columns/steps.h"
#include "headroom/trace/critical_path/critical_path_graph.h"
#include "headroom/trace/readers/read.h"

namespace headroom::trace {
namespace {

namespace fs = std::filesystem;

class CriticalPathRealFiles : public testing::Test {
 protected:
  void SetUp() override {
    if (!fs::exists(folder())) GTEST_SKIP() << "the real traces are not beside this repository";
  }
  static fs::path folder() { return fs::path(HEADROOM_SHARED) / "traces"; }
  static Trace read_file(const char* name) {
    ReadOptions options;
    options.needs = Needs::kLaunches | Needs::kOps | Needs::kSyncs;
    return read(folder() / name, options);
  }
};

struct Sums {
  std::array<std::int64_t, kPathClasses> time_ns{};
  std::int64_t of(PathClass kind) const { return time_ns[static_cast<std::size_t>(kind)]; }
  explicit Sums(const CriticalPath& path) {
    for (const PathEdge& edge : path.edges) time_ns[static_cast<std::size_t>(edge.kind)] += edge.weight_ns;
  }
};

// HTA: 32,042 us on the CPU, 3,712 in kernels, 50 between them, 30 for a launch. It gives every
// cudaDeviceSynchronize no time; the first one of the window (14 us) found nothing left to wait for.
TEST_F(CriticalPathRealFiles, AlexnetAgreesWithHta) {
  const Trace trace =
      read_file("hta__critical_path_alexnet_benchmark_result_2869224_1695835535_trace.json.gz");
  Span window;
  for (std::size_t i = 0; i < trace.events.size(); ++i) {
    if (trace.names[trace.events.name[i]] == "[param|pytorch.model.alex_net|0|0|0|measure|forward]")
      window = {trace.events.start_ns[i], trace.events.end_ns(i)};
  }
  const CriticalPath path = critical_path(critical_path_graph(trace, window));
  const Sums sums(path);
  EXPECT_EQ(sums.of(PathClass::kCpu), 32'042'000 + 14'000);
  EXPECT_EQ(sums.of(PathClass::kGpuCompute), 3'712'000);
  EXPECT_EQ(sums.of(PathClass::kKernelKernel), 50'000);
  EXPECT_EQ(sums.of(PathClass::kLaunch), 30'000);
  EXPECT_EQ(path.end_ns - path.start_ns, 36'025'000);
}

// HTA: 1,025 us on the CPU, 124 in kernels, 15 between them, 14 for a launch. It gives cudaEventQuery, which
// never waits, no time: three calls of 6, 5 and 5 us.
TEST_F(CriticalPathRealFiles, EventSyncAgreesWithHta) {
  const Trace trace = read_file("hta__critical_path_cuda_event_sync_multi_stream_event_sync_trace.json.gz");
  const Extent extent = whole_extent(trace);
  const CriticalPath path = critical_path(critical_path_graph(trace, {extent.start_ns, extent.end_ns + 1}));
  const Sums sums(path);
  EXPECT_EQ(sums.of(PathClass::kCpu), 1'025'000 + 16'000);
  EXPECT_EQ(sums.of(PathClass::kGpuCompute), 124'000);
  EXPECT_EQ(sums.of(PathClass::kKernelKernel), 15'000);
  EXPECT_EQ(sums.of(PathClass::kLaunch), 14'000);
  EXPECT_EQ(path.end_ns - path.start_ns, 19'917'000);
}

// The backward pass runs on autograd's thread, 86.9 ms of the step; HTA 0.6.1 has 188.9 ms, to the
// microsecond. Of the main thread alone the path would be 103 ms.
TEST_F(CriticalPathRealFiles, SeesTheThreadOfTheBackwardPass) {
  const Trace trace = read_file("hta__nccl_parser_config_nccl_data.json.gz");
  const std::vector<Step> all = steps(trace);
  const Step& middle = all[all.size() / 2];
  const CriticalPath path = critical_path(critical_path_graph(trace, {middle.start_ns, middle.end_ns}));
  EXPECT_NEAR(static_cast<double>(path.length_ns) / 1e6, 188.9, 1.5);
}

TEST_F(CriticalPathRealFiles, IsNeverLongerThanItsTime) {
  for (const char* name : {"hta__amd_trace_mi250_minitoy_train_ROCm6_2_kineto.json.gz",
                           "hta__trace_filter_sampled_rank-0.json.gz", "hta__trace_compare_base_base.json.gz",
                           "hta__nccl_parser_config_nccl_data.json.gz", "tracelens__b200_eager_trace.json.gz",
                           "kineto__samples_resnet50_num_workers_4_worker0.1623212756351.pt.trace.json.gz",
                           "tracelens__inference_vllm_decode_full_graph_execution.json.gz",
                           "tracelens__mi210_gpu_only_trace_gpu_only_trace.json.gz"}) {
    const Trace trace = read_file(name);
    const std::vector<Step> all = steps(trace);
    const Extent extent = whole_extent(trace);
    std::vector<Span> windows{{extent.start_ns, extent.end_ns + 1}};
    if (!all.empty()) windows.push_back({all[all.size() / 2].start_ns, all[all.size() / 2].end_ns});
    for (const Span& window : windows) {
      const PathGraph graph = critical_path_graph(trace, window);
      const CriticalPath path = critical_path(graph);
      if (window == windows.front()) {  // the last step of one file holds nothing
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

}  // namespace
}  // namespace headroom::trace
