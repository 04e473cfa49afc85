// SPDX-License-Identifier: Apache-2.0
#include "headroom/compare/gate.h"

#include <gtest/gtest.h>

#include <vector>

namespace headroom {
namespace {

std::vector<Comparison> with_verdicts(const std::vector<Verdict>& verdicts) {
  std::vector<Comparison> comparisons(verdicts.size());
  for (std::size_t i = 0; i < verdicts.size(); ++i) {
    comparisons[i].verdict = verdicts[i];
    const bool compared = verdicts[i] != Verdict::kNotCompared && verdicts[i] != Verdict::kFailed;
    if (compared) comparisons[i].ratio = RatioEstimate{};
  }
  return comparisons;
}

GateAnswer answer(const std::vector<Verdict>& verdicts, std::size_t missing = 0) {
  return gate_answer(with_verdicts(verdicts), missing);
}

TEST(GateAnswer, IsFineWhereAllAreTheSameOrBetter) {
  EXPECT_EQ(answer({Verdict::kSame, Verdict::kImprovement}).exit, ExitCode::kFine);
  EXPECT_EQ(answer({Verdict::kSame}).sentence, "all 1 cases are the same or better");
}

TEST(GateAnswer, IsNoWhereAnyRegressedWhateverTheOthers) {
  const GateAnswer found = answer({Verdict::kSame, Verdict::kRegression, Verdict::kInconclusive}, 1);
  EXPECT_EQ(found.exit, ExitCode::kNo);
  EXPECT_EQ(found.sentence, "1 of 3 cases regressed");
  EXPECT_EQ(found.counts.at(Verdict::kRegression), 1u);
}

TEST(GateAnswer, IsNoWhereTheTestFails) {
  EXPECT_EQ(answer({Verdict::kSame, Verdict::kFailed}).exit, ExitCode::kNo);
  EXPECT_EQ(answer({Verdict::kFailed}).exit, ExitCode::kNo);
}

TEST(GateAnswer, IsInconclusiveWhereAnyIsUndecided) {
  for (const Verdict verdict :
       {Verdict::kInconclusive, Verdict::kUnderpowered, Verdict::kNoSamples, Verdict::kNotCompared}) {
    EXPECT_EQ(answer({Verdict::kSame, verdict}).exit, ExitCode::kInconclusive) << to_string(verdict);
  }
}

TEST(GateAnswer, IsInconclusiveWhereCasesAreMissing) {
  EXPECT_EQ(answer({Verdict::kSame}, 2).exit, ExitCode::kInconclusive);
}

TEST(GateAnswer, CannotSayAnythingOfNothing) {
  EXPECT_EQ(answer({}).exit, ExitCode::kCannot);
  EXPECT_EQ(answer({Verdict::kNotCompared}).exit, ExitCode::kCannot);
}

}  // namespace
}  // namespace headroom
