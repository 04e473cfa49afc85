// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <utility>

#include "headroom/base/csv.h"
#include "headroom/base/files.h"
#include "headroom/trace/readers/read.h"
#include "headroom/trace/report/trace_diff.h"

namespace headroom::trace {
namespace {

namespace fs = std::filesystem;

struct Pair {
  const char* figures;
  const char* before;
  const char* after;
};

class DiffAgainstHta : public testing::TestWithParam<Pair> {
 protected:
  static fs::path trace_path(const char* name) {
    return fs::path(HEADROOM_SHARED) / "traces" / (std::string(name) + ".json.gz");
  }
  /// The first step, as HTA takes when nothing is said.
  static TraceProfile profile(const char* name) {
    ReadOptions options;
    options.needs = kProfileNeeds;
    TraceProfile profile = profile_of(read(trace_path(name), options), {1009, true});
    if (const auto step = profile.annotations.extract("ProfilerStep"); !step.empty())
      profile.annotations["ProfilerStep#1009"] = step.mapped();
    return profile;
  }
};

using Lines = std::map<std::pair<std::string, std::string>, DiffLine>;

Lines lines_of(const TraceProfile& before, const TraceProfile& after) {
  Lines lines;
  for (const auto& [part, device] : {std::pair{&TraceProfile::kernels, "GPU"},
                                     {&TraceProfile::ops, "CPU"},
                                     {&TraceProfile::annotations, "CPU"},
                                     {&TraceProfile::calls, "CPU"}}) {
    for (DiffLine& line : joined(before.*part, after.*part)) lines[{device, line.name}] = line;
  }
  return lines;
}

/// Every name of HolisticTraceAnalysis 0.6.1 with its counts and times, and no other;
/// bench/hta_diff_golden.py made the figures.
TEST_P(DiffAgainstHta, HasTheSameNamesCountsAndTimes) {
  const Pair pair = GetParam();
  if (!fs::exists(trace_path(pair.before))) GTEST_SKIP() << "the shared traces are not here";
  Lines lines = lines_of(profile(pair.before), profile(pair.after));
  const std::string figures = std::string(HEADROOM_TEST_DATA) + "/trace_diff/" + pair.figures + ".csv";
  const std::vector<CsvRow> rows = parse_csv(read_file(figures), figures);
  ASSERT_GT(rows.size(), 1U);
  for (std::size_t i = 1; i < rows.size(); ++i) {
    const auto found = lines.extract({rows[i].at(0), rows[i].at(1)});
    ASSERT_FALSE(found.empty()) << rows[i][1];
    const DiffLine& line = found.mapped();
    EXPECT_EQ(line.before.count, std::stoll(rows[i].at(2))) << line.name;
    EXPECT_EQ(line.before.total_ns, 1000 * std::stoll(rows[i].at(3))) << line.name;
    EXPECT_EQ(line.after.count, std::stoll(rows[i].at(4))) << line.name;
    EXPECT_EQ(line.after.total_ns, 1000 * std::stoll(rows[i].at(5))) << line.name;
  }
  for (const auto& [key, line] : lines) ADD_FAILURE() << "not in HTA's: " << key.first << " " << key.second;
}

INSTANTIATE_TEST_SUITE_P(
    Pairs, DiffAgainstHta,
    testing::Values(Pair{"compare", "hta__trace_compare_base_base", "hta__trace_compare_test_test"},
                    Pair{"diff", "hta__trace_diff_control_control", "hta__trace_diff_test_test"}),
    [](const auto& instance) { return std::string(instance.param.figures); });

}  // namespace
}  // namespace headroom::trace
