// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "headroom/command/function_costs.h"

namespace headroom {
namespace {

using namespace testing;

TEST(FunctionCosts, ReadsCallgrindsNamesAndLeavesOutCalls) {
  const auto costs = parse_callgrind(
      "# callgrind format\npositions: instr line\nevents: Dr Ir\nsummary: 9 141\n\n"
      "ob=(1) /opt/libx.so.1\nfl=(1) x.c\nfn=(1) main\n0x10 4 1 10\n+3 * 0 5\n"
      "cob=(2) /opt/y.so\ncfi=(2) y.c\ncfn=(2) f(int, char)\ncalls=1 0x20 8\n0x14 5 7 999\n"
      "ob=(2)\nfn=(2)\n0x20 8 3 100\n-2 8 2 20\nfn=(3) 0x0000000004838000\n0x30 0 4 6\n* * 1\n");
  ASSERT_TRUE(costs);
  EXPECT_EQ(costs->total, 141);
  EXPECT_THAT(costs->by_function, UnorderedElementsAre(Pair("main", 15), Pair("f(int, char)", 120),
                                                       Pair("unnamed code of y.so", 6)));
}

TEST(FunctionCosts, KeepsTheTotalIfFunctionsDoNotAddUp) {
  const auto costs = parse_callgrind("events: Ir\nfn=(1) f\n0 5\ntotals: 6\n");
  ASSERT_TRUE(costs);
  EXPECT_EQ(costs->total, 6);
  EXPECT_THAT(costs->by_function, IsEmpty());
  EXPECT_FALSE(parse_callgrind("not callgrind's"));
}

TEST(FunctionCosts, NamesHaveNoControlCharacters) {
  const auto costs = parse_callgrind("events: Ir\nfn=(1) a\x1B[31m\nb\n0 5\ntotals: 5\n");
  ASSERT_TRUE(costs);
  EXPECT_THAT(costs->by_function, ElementsAre(Pair("a\\x1B[31m", 5)));
}

TEST(FunctionCosts, ReadsPerfsReport) {
  const FunctionCosts costs = parse_perf_report(
      "# Samples: 7\n 8201640    \t 41         \t[.] work\n 400080\t2\t[k] f\tx\n 200040     \t 1\t[k] "
      "f\ny\n",
      '\t');
  EXPECT_EQ(costs.total, 8401680);
  EXPECT_EQ(costs.samples, 42U);
  EXPECT_THAT(costs.by_function, UnorderedElementsAre(Pair("work", 8201640), Pair("f", 200040)));
}

TEST(FunctionCosts, DifferencesAreSharesOfTheBaseline) {
  FunctionCosts before{1000, {{"f", 600}, {"g", 395}, {"h", 5}}},
      after{1010, {{"f", 602}, {"g", 400}, {"k", 8}}};
  const auto found = largest_differences(before, after, 0.003);
  ASSERT_EQ(found.size(), 3U);
  EXPECT_EQ(found[0].function, "k");
  EXPECT_NEAR(found[0].share, 0.008, 1e-12);
  EXPECT_NEAR(found[1].share, 0.005, 1e-12);
  EXPECT_NEAR(found[2].share, -0.005, 1e-12);
  before.samples = after.samples = 1000;  // a standard error of 24 for f
  EXPECT_THAT(largest_differences(before, after, 0.003), IsEmpty());
}

}  // namespace
}  // namespace headroom
