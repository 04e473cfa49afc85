// SPDX-License-Identifier: Apache-2.0
#include "headroom_torch/calls/op_recorder.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "headroom/base/error.h"
#include "headroom/base/files.h"
#include "headroom/base/json.h"
#include "headroom/trace/readers/read.h"
#include "headroom/trace/recording/measure_utilization.h"
#include "headroom/trace/work/trace_checks.h"

namespace headroom::torch_runner {
namespace {

class Recorded : public testing::Test {
 protected:
  std::filesystem::path file = std::filesystem::path(testing::TempDir()) / "op_recorder_test.json";
  ~Recorded() override { std::filesystem::remove(file); }

  Json record(const std::function<void()>& run) {
    trace::record_call<OpRecorder>(file.string(), run);
    return parse_json(read_file(file), "trace");
  }
  /// Events of one name.
  static std::vector<Json> calls(const Json& trace, const std::string& name) {
    std::vector<Json> found;
    for (const Json& event : trace.at("traceEvents")) {
      if (event.at("name") == name && event.at("ph") == "X") found.push_back(event);
    }
    return found;
  }
};

TEST_F(Recorded, EachOperatorHasItsTimesAndItsArguments) {
  const at::Tensor a = at::ones({4, 5}), b = at::ones({6, 5}).t();
  const Json trace = record([&] {
    at::addmm(at::ones({6}), a, b);
    at::cat({a, a}, 1);
    at::sum(a, at::IntArrayRef({0, 1}));
  });
  const Json product = calls(trace, "aten::addmm").at(0);
  EXPECT_EQ(product.at("cat"), "cpu_op");
  const Json& arguments = product.at("args");
  EXPECT_EQ(dump_json(arguments.at("Input Dims")), "[[6],[4,5],[5,6],[],[]]");
  EXPECT_EQ(dump_json(arguments.at("Input Strides")), "[[1],[5,1],[1,5],[],[]]");
  EXPECT_EQ(dump_json(arguments.at("Input type")), R"(["float","float","float","Scalar","Scalar"])");
  EXPECT_EQ(dump_json(arguments.at("Concrete Inputs")), R"(["","","","1","1"])");
  const Json joined = calls(trace, "aten::cat").at(0).at("args");
  EXPECT_EQ(dump_json(joined.at("Input Dims")), "[[[4,5],[4,5]],[]]");
  EXPECT_EQ(joined.at("Input type").at(0), "TensorList");
  EXPECT_EQ(calls(trace, "aten::sum").at(0).at("args").at("Concrete Inputs").at(1), "[0, 1]");
}

TEST_F(Recorded, OurOwnReaderFindsNothingAmiss) {
  const at::Tensor a = at::ones({64, 64});
  record([&] { at::mm(a, a).relu().softmax(1); });
  const trace::Trace trace = trace::read(file, {});
  EXPECT_EQ(trace.problems.count, 0U);
  EXPECT_TRUE(trace.is_complete);
  EXPECT_EQ(trace.rank, 0);
  EXPECT_GT(trace.base_time_ns, 1'600'000'000'000'000'000) << "the clock counts from 1970";
  for (const trace::TraceCheck& check : trace::trace_checks(trace)) {
    EXPECT_EQ(check.is_anomaly ? check.count : 0, 0U) << check.what;
  }
}

TEST_F(Recorded, ForwardAndBackwardShareASequenceNumber) {
  at::Tensor weight = at::ones({4, 4});
  weight.requires_grad_();
  const Json trace = record([&] { at::mm(weight, weight).sum().backward(); });
  const Json forward = calls(trace, "aten::mm").at(0).at("args");
  bool is_joined = false;
  for (const Json& event : trace.at("traceEvents")) {
    const std::string name = event.at("name").string();
    if (name.find("MmBackward") == std::string::npos || !event.at("args").contains("Sequence number"))
      continue;
    is_joined = is_joined || event.at("args").at("Sequence number") == forward.at("Sequence number");
  }
  EXPECT_TRUE(is_joined);
  EXPECT_GT(calls(trace, "aten::mm").size(), 1U) << "the products of the backward pass, on autograd's thread";
}

TEST_F(Recorded, WhatThrowsLeavesNoFileAndNoListener) {
  EXPECT_THROW(trace::record_call<OpRecorder>(file.string(), [] { throw Error("stop"); }), Error);
  EXPECT_FALSE(std::filesystem::exists(file));
  const Json trace = record([] { at::ones({2}).neg(); });
  EXPECT_EQ(calls(trace, "aten::neg").size(), 1U);
  EXPECT_EQ(calls(trace, "ProfilerStep#0").size(), 1U);
}

TEST_F(Recorded, StartAndStopGoInPairs) {
  OpRecorder recorder(file);
  EXPECT_THROW(recorder.stop(), Error);
  recorder.start();
  EXPECT_THROW(recorder.start(), Error);
  recorder.stop();
}

TEST_F(Recorded, ItIsTheRecorderOfMeasureUtilization) {
  OpRecorder recorder(file);
  const at::Tensor a = at::ones({64, 64});
  int calls_made = 0;
  trace::MeasureOptions options;
  options.runs = 2;
  options.warm_up = 3;
  const trace::MeasuredUtilization measured = trace::measure_utilization(
      [&] {
        at::mm(a, a);
        ++calls_made;
      },
      recorder, options);
  EXPECT_EQ(calls_made, 3 + 2 + 2);
  EXPECT_GT(measured.length_s, 0);
  EXPECT_EQ(measured.busy_share(), 0) << "no device works for a CPU's tensors";
  EXPECT_EQ(calls(parse_json(read_file(file), "trace"), "aten::mm").size(), 2U);
}

}  // namespace
}  // namespace headroom::torch_runner
