// SPDX-License-Identifier: Apache-2.0
// Collectives and stragglers of real traces.
#include <gtest/gtest.h>

#include <filesystem>

#include "headroom/trace/analysis.h"
#include "headroom/trace/collectives/collective_calls.h"
#include "headroom/trace/collectives/collective_matching.h"
#include "headroom/trace/readers/read.h"

namespace headroom::trace {
namespace {

namespace fs = std::filesystem;

class CollectivesRealFiles : public testing::Test {
 protected:
  void SetUp() override {
    if (!fs::exists(folder())) GTEST_SKIP() << "the real traces are not beside this repository";
  }
  static fs::path folder() { return fs::path(HEADROOM_SHARED) / "traces"; }
  static Trace read_for(const Analysis& analysis, const char* name) {
    ReadOptions options;
    options.needs = needs_of(analysis, {});
    return read(folder() / name, options);
  }
  static std::vector<RankResult> two_ranks(const Analysis& analysis) {
    std::vector<RankResult> ranks;
    for (const char* name :
         {"hta__trace_filter_sampled_rank-0.json.gz", "hta__trace_filter_sampled_rank-1.json.gz"}) {
      RankResult& rank = ranks.emplace_back();
      const Trace trace = read_for(analysis, name);
      rank.rank = trace.rank.value();
      rank.result = analysis.analyze(trace, {});
    }
    return ranks;
  }
};

// The file has 15 all-reduces and 6 broadcasts of its only group, as its record_param_comms operators say.
TEST_F(CollectivesRealFiles, GroupsAndSizes) {
  const Trace trace = read_for(*find_analysis("collectives"), "hta__nccl_parser_config_nccl_data.json.gz");
  const std::vector<CollectiveCall> calls = collective_calls(trace);
  ASSERT_EQ(calls.size(), 21U);
  int all_reduces = 0;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    EXPECT_EQ(calls[i].group, "0");
    EXPECT_EQ(calls[i].group_ranks, "[0, 1]");
    EXPECT_EQ(calls[i].group_size, 2);
    EXPECT_EQ(calls[i].index, static_cast<std::int64_t>(i));
    EXPECT_GE(calls[i].iteration, 4);
    all_reduces += calls[i].collective == "all_reduce" ? 1 : 0;
  }
  EXPECT_EQ(all_reduces, 15);
  EXPECT_EQ(calls[2].collective, "all_reduce");
  EXPECT_EQ(calls[2].bytes, 2'049'000 * 4.0);
}

// Each trace is a sample, without some of the kernels that the other has: pairing by index would join kernels
// that never ran together. Those that end at the same microsecond on both are one collective.
TEST_F(CollectivesRealFiles, SampledRanksArePairedByTime) {
  const Analysis& analysis = *find_analysis("collectives");
  const std::vector<RankResult> ranks = two_ranks(analysis);
  const AnalysisResult result = analysis.combine(ranks, {});
  const DataTable& skews = result.tables[1];
  ASSERT_EQ(skews.rows.size(), 5U);
  EXPECT_EQ(std::get<double>(skews.rows[0][7]), 22'328'000);  // 1682725899168655 - 1682725899146327 us
  EXPECT_EQ(std::get<double>(skews.rows[0][6]), 13'838'000);  // what the later of the two took
  EXPECT_EQ(std::get<std::int64_t>(skews.rows[0][9]), 1);
  EXPECT_EQ(result.tables[3].rows.size(), 10U);  // 20 kernels in all
}

// Holistic Trace Analysis names rank 1 too, by the kernels of step 551 (it leaves the last step out).
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

}  // namespace
}  // namespace headroom::trace
