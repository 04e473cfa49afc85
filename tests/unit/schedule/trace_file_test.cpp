// SPDX-License-Identifier: Apache-2.0
#include "headroom/schedule/trace_file.h"

#include <gtest/gtest.h>

namespace headroom {
namespace {

PlannedCase planned(const std::string& experiment, const std::string& backend, std::size_t runner = 0) {
  PlannedCase made;
  made.runner = runner;
  made.spec.experiment = experiment;
  made.spec.backend = backend;
  return made;
}

RunnerOffer offer(const std::string& label, bool only_limits = false) {
  ExperimentDescription gemv;
  gemv.name = "gemv";
  return {label, {gemv}, only_limits, true};
}

TEST(TraceFile, IsNamedAfterTheCaseAndItsBackend) {
  EXPECT_EQ(trace_file("/t", "gemv D=1024 dtype=bf16", planned("gemv", "aten"), {offer("torch")}),
            "/t/gemv_D=1024_dtype=bf16.aten.json");
}

TEST(TraceFile, NamesTheRunnerWhereSeveralHaveTheExperiment) {
  const std::vector<RunnerOffer> offers{offer("old/torch"), offer("new/torch"), offer("native", true)};
  EXPECT_EQ(trace_file("/t", "gemv", planned("gemv", "aten", 1), offers), "/t/gemv.aten@new_torch.json");
  EXPECT_EQ(trace_file("/t", "gemv", planned("gemv", "aten"), {offer("torch"), offer("native", true)}),
            "/t/gemv.aten.json");
}

TEST(TraceFile, LeavesTheFolderAndTheFileSystemAlone) {
  EXPECT_EQ(trace_file("/t", "module input=f32[2,3]", planned("module", "../../etc/x"), {offer("torch")}),
            "/t/module_input=f32_2,3_..._.._etc_x.json");
  EXPECT_EQ(trace_file("/t", "..", planned("x", ""), {offer("torch")}).substr(0, 4), "/t/_");
}

TEST(TraceFile, LongNamesAreCutAndStayApart) {
  const std::string inputs(400, 'f');
  const std::string one = trace_file("/t", inputs + "1", planned("x", "a"), {offer("torch")});
  const std::string two = trace_file("/t", inputs + "2", planned("x", "a"), {offer("torch")});
  EXPECT_LT(one.size(), 210U);
  EXPECT_NE(one, two);
  EXPECT_EQ(one, trace_file("/t", inputs + "1", planned("x", "a"), {offer("torch")}));
}

}  // namespace
}  // namespace headroom
