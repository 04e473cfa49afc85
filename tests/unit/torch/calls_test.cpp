// SPDX-License-Identifier: Apache-2.0
#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "headroom/base/error.h"
#include "headroom/base/files.h"
#include "headroom/base/json.h"
#include "headroom_torch/calls/flop_counter.h"
#include "headroom_torch/calls/op_recorder.h"
#include "headroom_torch/modules/modules.h"
#include "headroom_torch/tensors/libtorch.h"
#include "headroom_trace/readers/read.h"
#include "headroom_trace/recording/measure_utilization.h"
#include "headroom_trace/work/trace_checks.h"

namespace headroom::torch_runner {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::Pair;
using testing::StartsWith;

const std::string kLeaf = R"({"type": null, "context": null, "children_spec": []})";

std::string tree(const std::string& type, const std::string& children) {
  return R"({"type": "builtins.)" + type + R"(", "context": "null", "children_spec": [)" + children + "]}";
}

CallSpec spec_of(const std::string& tree) {
  return CallSpec("[1, " + tree + "]");
}

std::string shapes_of(const CallSpec& spec, const std::vector<at::Tensor>& leaves) {
  return answer_of(spec.arranged(leaves)).shapes;
}

TEST(CallSpec, CountsTheTensorsOfArgumentsAndKeywords) {
  EXPECT_EQ(spec_of(kLeaf).size(), 1U);
  EXPECT_EQ(spec_of(tree("tuple", tree("tuple", "") + ", " + tree("dict", ""))).size(), 0U);
  const std::string positional = tree("tuple", kLeaf + ", " + tree("list", kLeaf + ", " + kLeaf));
  EXPECT_EQ(spec_of(tree("tuple", positional + ", " + tree("dict", kLeaf))).size(), 4U);
}

TEST(CallSpec, PutsTheTensorsWhereTheSourceReturnedThem) {
  const at::Tensor a = at::zeros({2}), b = at::zeros({3}), c = at::zeros({4});
  EXPECT_EQ(shapes_of(spec_of(kLeaf), {a}), "Float[2]");
  EXPECT_EQ(shapes_of(spec_of(tree("tuple", kLeaf)), {a}), "(Float[2])");
  const CallSpec nested = spec_of(tree("tuple", kLeaf + ", " + tree("dict", kLeaf + ", " + kLeaf)));
  EXPECT_EQ(shapes_of(nested, {a, b, c}), "(Float[2], (Float[3], Float[4]))");
  EXPECT_TRUE(nested.arranged({a, b, c}).toTuple()->elements()[0].toTensor().is_same(a));
}

TEST(CallSpec, OfAnotherNumberOfTensorsIsFlat) {
  const at::Tensor a = at::zeros({2}), b = at::zeros({3});
  EXPECT_EQ(shapes_of(spec_of(kLeaf), {a, b}), "(Float[2], Float[3])");
  EXPECT_EQ(shapes_of(spec_of(tree("tuple", kLeaf + ", " + kLeaf)), {a}), "(Float[2])");
}

TEST(CallSpec, RefusesWhatIsNoTree) {
  for (const char* text : {"", "{", "[]", "[1]", "[1, 2]", "{}", R"([1, {"type": "builtins.tuple"}])",
                           R"([1, {"type": "builtins.tuple", "children_spec": [3]}])"}) {
    EXPECT_THROW(CallSpec{text}, Error) << text;
  }
}

// As FlopCounterMode of PyTorch 2.15.
TEST(FlopCounter, ProductsOfMatrices) {
  const at::Tensor a = at::ones({4, 5}), b = at::ones({5, 6}), c = at::ones({4, 6});
  EXPECT_EQ(count_flops([&] { at::mm(a, b); }).flops, 240);
  EXPECT_EQ(count_flops([&] { at::addmm(c, a, b); }).flops, 240);
  EXPECT_EQ(count_flops([&] { at::linear(a, b.t()); }).flops, 240);
  const at::Tensor d = at::ones({3, 4, 5}), e = at::ones({3, 5, 6});
  EXPECT_EQ(count_flops([&] { at::bmm(d, e); }).flops, 720);
  EXPECT_EQ(count_flops([&] { at::baddbmm(at::ones({3, 4, 6}), d, e); }).flops, 720);
  EXPECT_EQ(count_flops([&] { at::matmul(d, b); }).flops, 720);
}

TEST(FlopCounter, ProductsWithVectorsWhichPyTorchLeavesOut) {
  const at::Tensor a = at::ones({4, 5}), x = at::ones({5});
  EXPECT_EQ(count_flops([&] { at::mv(a, x); }).flops, 40);
  EXPECT_EQ(count_flops([&] { at::addmv(at::ones({4}), a, x); }).flops, 40);
  EXPECT_EQ(count_flops([&] { at::dot(x, x); }).flops, 10);
}

double flops_of_conv2d(const at::Tensor& image, const at::Tensor& kernels, std::int64_t stride,
                       std::int64_t padding, std::int64_t dilation, std::int64_t groups) {
  return count_flops([&] {
           at::conv2d(image, kernels, {}, at::IntArrayRef(stride), at::IntArrayRef(padding),
                      at::IntArrayRef(dilation), groups);
         })
      .flops;
}

TEST(FlopCounter, Convolutions) {
  const at::Tensor image = at::ones({2, 4, 8, 8}), kernels = at::ones({6, 4, 3, 3});
  EXPECT_EQ(flops_of_conv2d(image, kernels, 1, 0, 1, 1), 31104);
  EXPECT_EQ(flops_of_conv2d(image, kernels, 2, 1, 1, 1), 13824);
  EXPECT_EQ(flops_of_conv2d(image, kernels, 1, 0, 2, 1), 13824);
  EXPECT_EQ(flops_of_conv2d(image, at::ones({6, 2, 3, 3}), 1, 0, 1, 2), 15552);
  const at::Tensor transposed = at::ones({4, 6, 3, 3});
  EXPECT_EQ(count_flops([&] { at::conv_transpose2d(image, transposed); }).flops, 55296);
  EXPECT_EQ(count_flops([&] { at::conv1d(at::ones({1, 2, 10}), at::ones({3, 2, 4})); }).flops, 336);
}

TEST(FlopCounter, GradientsOfConvolutions) {
  const auto flops = [](at::Tensor image, at::Tensor kernels, bool of_image, const auto& convolution) {
    image.requires_grad_(of_image);
    kernels.requires_grad_();
    return count_flops([&] { convolution(image, kernels).sum().backward(); }).flops;
  };
  const auto plain = [](const auto& image, const auto& kernels) { return at::conv2d(image, kernels); };
  const auto in_groups = [](const auto& image, const auto& kernels) {
    return at::conv2d(image, kernels, {}, at::IntArrayRef(1), at::IntArrayRef(0), at::IntArrayRef(1), 2);
  };
  const auto transposed = [](const auto& image, const auto& kernels) {
    return at::conv_transpose2d(image, kernels);
  };
  const at::Tensor image = at::ones({2, 4, 8, 8});
  EXPECT_EQ(flops(image, at::ones({6, 4, 3, 3}), true, plain), 93312);
  EXPECT_EQ(flops(image, at::ones({6, 4, 3, 3}), false, plain), 62208) << "of the weights alone";
  EXPECT_EQ(flops(image, at::ones({6, 2, 3, 3}), true, in_groups), 46656)
      << "where PyTorch counts the gradient of the weights as if there were one group";
  EXPECT_EQ(flops(image, at::ones({4, 6, 3, 3}), true, transposed), 165888);
}

std::optional<double> flops_of(std::string_view name, const std::vector<c10::IValue>& arguments) {
  return op_flops(name, c10::ArrayRef<const c10::IValue>(arguments.data(), arguments.size()));
}

TEST(FlopCounter, AttentionIsTwoProducts) {
  EXPECT_EQ(flops_of("aten::_scaled_dot_product_flash_attention_for_cpu",
                     {at::ones({2, 3, 7, 4}), at::ones({2, 3, 9, 4}), at::ones({2, 3, 9, 4})}),
            6048);
}

TEST(FlopCounter, APartOfWhatIsCountedIsNotCountedAgain) {
  const FlopCount count = count_flops([] { at::conv2d(at::ones({1, 1, 4, 4}), at::ones({1, 1, 3, 3})); });
  EXPECT_THAT(count.counted, ElementsAre(Pair("aten::convolution", 1)));
  EXPECT_THAT(count.not_counted, testing::Not(testing::Contains(Pair(HasSubstr("conv"), testing::_))));
}

TEST(FlopCounter, WhatComputesWithoutAFormulaIsNamed) {
  const at::Tensor a = at::ones({4, 4});
  const FlopCount count = count_flops([&] {
    const at::Tensor b = at::mm(a, a).neg();
    at::exp(at::exp(b)).view({2, 8}).t();
    b.add(1);  // converts the 1, no FLOPs
    at::empty({3});
    at::ones({3}).clone();
  });
  EXPECT_EQ(count.flops, 128);
  EXPECT_THAT(count.dtypes, ElementsAre("f32"));
  EXPECT_THAT(count.not_counted,
              ElementsAre(Pair("aten::add", 1), Pair("aten::exp", 2), Pair("aten::neg", 1)));
}

TEST(FlopCounter, HearsNothingBeforeAndAfter) {
  const at::Tensor a = at::ones({4, 4});
  at::mm(a, a);
  const FlopCount none = count_flops([] {});
  at::mm(a, a);
  EXPECT_EQ(none.flops, 0);
  EXPECT_THAT(none.counted, IsEmpty());
  EXPECT_THROW(count_flops([] { throw 3; }), int);
  EXPECT_EQ(count_flops([&] { at::mm(a, a); }).flops, 128) << "after one that threw";
}

TEST(FlopCounter, ArgumentsThatAreNotAsTheSchemaSaysHaveNoCount) {
  EXPECT_FALSE(flops_of("aten::mm", {}));
  const std::vector<c10::IValue> odd{at::ones({3}), 3};
  EXPECT_FALSE(flops_of("aten::mm", odd));
  EXPECT_FALSE(flops_of("aten::convolution", odd));
  EXPECT_FALSE(flops_of("aten::relu", odd));
}

TEST(CallsText, NamesTheFirstEightAndCountsTheRest) {
  std::map<std::string, std::int64_t> calls{{"b", 3}, {"a", 1}};
  EXPECT_EQ(calls_text(calls), "a, b x3");
  for (char name = 'c'; name <= 'k'; ++name) calls[std::string(1, name)] = 1;
  EXPECT_THAT(calls_text(calls), AllOf(StartsWith("a, b x3, c"), HasSubstr("h and 3 more")));
}

class Recorded : public testing::Test {
 protected:
  std::filesystem::path file = std::filesystem::path(testing::TempDir()) / "op_recorder_test.json";
  ~Recorded() override { std::filesystem::remove(file); }

  Json record(const std::function<void()>& run) {
    trace::record_call<OpRecorder>(file.string(), run);
    return parse_json(read_file(file), "trace");
  }
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

TEST(FailureText, OfAnOperatorIsItsSentenceWithoutTheBacktrace) {
  try {
    at::mm(at::zeros({2, 3}), at::zeros({4, 5}));
    FAIL() << "accepted";
  } catch (const std::exception& error) {
    EXPECT_THAT(failure_text(error),
                AllOf(HasSubstr("2x3 and 4x5"), Not(HasSubstr("frame")), Not(HasSubstr("\n"))));
  }
}

TEST(FailureText, OfTorchScriptIsTheLineWithTheError) {
  const std::runtime_error error(
      "The following operation failed in the TorchScript interpreter.\n"
      "Traceback of TorchScript, serialized code (most recent call last):\n"
      "  File \"code/__torch__.py\", line 4, in forward\n    return torch.mm(x, y)\n           ~~~~~~~~ <--- "
      "HERE\n"
      "RuntimeError: the sizes do not fit\nException raised from mm at x.cpp:3\nframe #0: somewhere\n");
  EXPECT_EQ(failure_text(error), "RuntimeError: the sizes do not fit");
}

TEST(FailureText, OfAnythingElseIsItsFirstLine) {
  EXPECT_EQ(failure_text(std::runtime_error("\n  first: line\nsecond")), "first: line");
  EXPECT_EQ(failure_text(std::runtime_error("")), "an error without a message");
}

}  // namespace
}  // namespace headroom::torch_runner
