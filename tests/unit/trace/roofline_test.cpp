// SPDX-License-Identifier: Apache-2.0
#include <deque>
#include <filesystem>
#include <set>

#include "analysis_run.h"
#include "headroom/base/error.h"
#include "headroom_trace/analysis.h"
#include "headroom_trace/cost/roofline.h"
#include "headroom_trace/readers/read.h"

namespace headroom::trace {
namespace {

namespace fs = std::filesystem;

/// `types`: separated by ", ".
OpCall op_call(const char* name, const char* dims, const std::string& types, const char* values = "") {
  static std::deque<std::string> lists;  // the arguments view them
  std::string& list = lists.emplace_back("[\"" + types + "\"]");
  for (std::size_t at = 0; (at = list.find(", ", at)) != list.npos; at += 4) list.replace(at, 2, "\", \"");
  return {name, tensor_arguments(dims, types.empty() ? "[]" : std::string_view(list)), text_list(values)};
}
std::optional<OpCost> cost(const char* name, const char* dims, const std::string& types,
                           const char* values = "") {
  return op_cost(op_call(name, dims, types, values), nullptr);
}

using enum MathType;
constexpr bool kProduct = true;

void expect_cost(const std::optional<OpCost>& found, double flops, double bytes, MathType math,
                 bool is_product = false) {
  ASSERT_TRUE(found);
  EXPECT_EQ(std::tuple(found->flops, found->bytes, found->math, found->is_product),
            std::tuple(flops, bytes, math, is_product));
}

TEST(OpCost, ProductsOfMatrices) {
  // (3, 5) x (5, 7): 2 * 105 FLOPs; 15 + 35 read, 21 written
  expect_cost(cost("aten::mm", "[[3, 5], [5, 7]]", "float, float"), 210, 71 * 4, kF32, kProduct);
  expect_cost(cost("aten::mm", "[[3, 5], [5, 7], [3, 7]]", "c10::Half, c10::Half, c10::Half"), 210, 71 * 2,
              kF16, kProduct);
  expect_cost(cost("aten::addmm", "[[7], [3, 5], [5, 7], [], []]",
                   "c10::BFloat16, c10::BFloat16, c10::BFloat16, Scalar, Scalar"),
              210, 78 * 2, kBf16, kProduct);
  expect_cost(cost("aten::bmm", "[[2, 3, 5], [2, 5, 7]]", "double, double"), 420, 142 * 8, kF64, kProduct);
  expect_cost(cost("aten::linear", "[[2, 3, 5], [7, 5], [7]]", "float, float, float"), 420,
              (30 + 35 + 7 + 42) * 4, kF32, kProduct);
  expect_cost(cost("aten::mv", "[[3, 5], [5]]", "float, float"), 30, 23 * 4, kF32, kProduct);
  expect_cost(cost("aten::_int_mm", "[[3, 5], [5, 7]]", "signed char, signed char"), 210, 50 + 21 * 4, kI8,
              kProduct);
}

TEST(OpCost, ProductsThatDoNotFitAreNotGuessed) {
  EXPECT_FALSE(cost("aten::mm", "[[3, 5], [6, 7]]", "float, float"));
  EXPECT_FALSE(cost("aten::mm", "[[3, 5]]", "float"));
  EXPECT_FALSE(cost("aten::mm", "[[3, 5], [5, 7]]", ""));
  EXPECT_FALSE(cost("aten::mm", "[[3, -5], [-5, 7]]", "float, float"));
  EXPECT_FALSE(cost("aten::bmm", "[[2, 3, 5], [4, 5, 7]]", "float, float"));
  EXPECT_FALSE(cost("vllm::moe_forward", "[[3, 5], [5, 7]]", "float, float"));
  EXPECT_FALSE(cost("aten::cat", "[[[3], [4]], []]", "TensorList, Scalar"));
}

TEST(OpCost, Convolutions) {
  // 2 x 3 x 8 x 8, 4 filters of 3 x 3, padding 1, stride 2: output 2 x 4 x 4 x 4 = 128
  const char* types = "float, float, float";
  const char* dims = "[[2, 3, 8, 8], [4, 3, 3, 3], [4], [], [], [], [], [], []]";
  const double flops = 2 * 128 * 27, bytes = (384 + 108 + 4 + 128) * 4;
  expect_cost(cost("aten::convolution", dims, types,
                   R"(["", "", "", "[2, 2]", "[1, 1]", "[1, 1]", "False", "[0, 0]", "1"])"),
              flops, bytes, kF32, kProduct);
  expect_cost(cost("aten::miopen_convolution", dims, types,
                   R"(["", "", "", "[1, 1]", "[2, 2]", "[1, 1]", "1", "False", "False"])"),
              flops, bytes, kF32, kProduct);
  expect_cost(
      cost("aten::cudnn_convolution", "[[2, 3, 8, 8], [4, 3, 3, 3], [], [], [], [], [], [], []]",
           "float, float", R"(["", "", "[1, 1]", "[2, 2]", "[1, 1]", "1", "False", "False", "True"])"),
      flops, bytes - 16, kF32, kProduct);
  // The weight shows groups: 4 filters of one channel.
  expect_cost(cost("aten::cudnn_convolution", "[[2, 4, 8, 8], [4, 1, 3, 3], [], [], []]", "float, float",
                   R"(["", "", "[1, 1]", "[1, 1]", "[1, 1]", "4"])"),
              2 * 512 * 9, (512 + 36 + 512) * 4, kF32, kProduct);
  EXPECT_FALSE(cost("aten::convolution", dims, types));  // no strides in the trace
  EXPECT_FALSE(cost("aten::convolution", dims, types,
                    R"(["", "", "", "[2, 2]", "[1, 1]", "[1, 1]", "True", "[0, 0]", "1"])"));
}

TEST(OpCost, GradientsOfConvolutions) {
  const char* dims = "[[2, 4, 4, 4], [2, 3, 8, 8], [4, 3, 3, 3], [], [], [], [], [], [], [], []]";
  const char* types = "float, float, float";
  const auto with_mask = [&](const char* mask) {
    static std::string values;
    values = R"(["", "", "", "[0]", "[2, 2]", "[1, 1]", "[1, 1]", "False", "[0, 0]", "1", ")" +
             std::string(mask) + "\"]";
    return cost("aten::convolution_backward", dims, types, values.c_str());
  };
  const double each = 2 * 128 * 27;
  expect_cost(with_mask("[True, True, False]"), 2 * each, (128 + 2 * (384 + 108)) * 4, kF32, kProduct);
  expect_cost(with_mask("[False, True, False]"), each, (128 + 384 + 108) * 4, kF32, kProduct);
  EXPECT_FALSE(cost("aten::convolution_backward", dims, types));

  const OpCall parent =
      op_call("aten::cudnn_convolution_backward", "[[2, 3, 8, 8], [2, 4, 4, 4], [4, 3, 3, 3]]", types);
  for (const char* part :
       {"aten::cudnn_convolution_backward_input", "aten::cudnn_convolution_backward_weight"}) {
    expect_cost(op_cost(op_call(part, "[]", ""), &parent), each, (384 + 128 + 108) * 4, kF32, kProduct);
    EXPECT_FALSE(op_cost(op_call(part, "[]", ""), nullptr));
  }
}

TEST(OpCost, Attention) {
  // batch 2, length 6, heads 4, size 8: 2 * 4 * 36 pairs * 2 * (8 + 8)
  const char* types = "c10::BFloat16, c10::BFloat16, c10::BFloat16";
  const char* dims = "[[2, 6, 4, 8], [2, 6, 4, 8], [2, 6, 4, 8], [], [], [], [], [], []]";
  const double one = 384 * 2, statistics = 48 * 4;
  expect_cost(
      cost("aten::_flash_attention_forward", dims, types, R"(["", "", "", "", "", "6", "6", "0.", "False"])"),
      2 * 8 * 36 * 16, 4 * one + statistics, kBf16, kProduct);
  expect_cost(
      cost("aten::_flash_attention_forward", dims, types, R"(["", "", "", "", "", "6", "6", "0.", "True"])"),
      2 * 8 * 21 * 16, 4 * one + statistics, kBf16, kProduct);
  expect_cost(
      cost("aten::_scaled_dot_product_flash_attention", "[[2, 4, 6, 8], [2, 4, 6, 8], [2, 4, 6, 8], [], []]",
           types, R"(["", "", "", "0.", "False"])"),
      2 * 8 * 36 * 16, 4 * one + statistics, kBf16, kProduct);
  EXPECT_FALSE(cost("aten::_flash_attention_forward", dims, types));  // unknown mask
  EXPECT_FALSE(cost("aten::_flash_attention_forward",
                    "[[2, 6, 4, 8], [2, 6, 4, 8], [2, 6, 4, 8], [3], [3], [], [], [], []]",
                    "c10::BFloat16, c10::BFloat16, c10::BFloat16, int, int",
                    R"(["", "", "", "", "", "6", "6", "0.", "False"])"));
}

TEST(OpCost, ElementwiseBroadcastsAndPromotes) {
  expect_cost(cost("aten::add", "[[4, 5], [5], []]", "float, float, Scalar"), 20, (20 + 5 + 20) * 4, kF32);
  // Half and float give float; numbers without dimensions do not count.
  expect_cost(cost("aten::mul", "[[4, 5], [4, 5]]", "c10::Half, float"), 20, 20 * (2 + 4 + 4), kF32);
  expect_cost(cost("aten::mul", "[[4, 5], []]", "c10::BFloat16, double"), 20, 20 * 4 + 8, kF32);
  expect_cost(cost("aten::mul", "[[4, 5], []]", "long int, double"), 20, 20 * (8 + 4) + 8, kF32);
  expect_cost(cost("aten::add", "[[4, 5], [4, 5], []]", "c10::Half, c10::BFloat16, Scalar"), 20,
              20 * (2 + 2 + 4), kF32);
  // In place the result has the first type.
  expect_cost(cost("aten::add_", "[[4, 5], [4, 5], []]", "c10::Half, float, Scalar"), 20, 20 * (2 + 4 + 2),
              kF32);
  expect_cost(cost("aten::eq", "[[4, 5], []]", "long int, Scalar"), 20, 20 * 9, kF32);
  expect_cost(cost("aten::div", "[[4, 5], []]", "long int, Scalar"), 20, 20 * 12, kF32);
  expect_cost(cost("aten::where", "[[4, 5], [4, 5], []]", "bool, double, double"), 20, 20 * 17 + 8, kF32);
  expect_cost(cost("aten::sigmoid", "[[6]]", "double"), 6, 96, kF64);
  expect_cost(cost("aten::clamp_min", "[[6], [], [6]]", "float, Scalar, float"), 6, 48, kF32);
  EXPECT_FALSE(cost("aten::add", "[[4, 5], [3], []]", "float, float, Scalar"));
  EXPECT_FALSE(cost("aten::add", "[[4, 5], [4, 5], []]", "float, , Scalar"));
}

TEST(OpCost, WhatMovesMemory) {
  expect_cost(cost("aten::copy_", "[[10], [10], []]", "float, c10::Half, Scalar"), 0, 60, kF32);
  expect_cost(cost("aten::fill_", "[[10], []]", "double, Scalar"), 0, 80, kF32);
  expect_cost(cost("aten::embedding", "[[100, 8], [3, 2]]", "float, long int"), 0, 6 * 8 + 2 * 6 * 8 * 4,
              kF32);
  expect_cost(
      cost("aten::index_select", "[[100, 8], [], [6]]", "float, Scalar, long int", R"(["", "0", ""])"), 0,
      6 * 8 + 2 * 6 * 8 * 4, kF32);
  EXPECT_FALSE(cost("aten::index_select", "[[100, 8], [], [6]]", "float, Scalar, long int"));
}

TEST(OpCost, SoftmaxAndNormalisation) {
  expect_cost(
      cost("aten::_softmax", "[[4, 5], [], []]", "c10::Half, Scalar, Scalar", R"(["", "-1", "False"])"), 100,
      80, kF32);
  expect_cost(
      cost("aten::_softmax", "[[4, 5], [], []]", "c10::Half, Scalar, Scalar", R"(["", "-1", "True"])"), 100,
      120, kF32);
  EXPECT_FALSE(cost("aten::_softmax", "[[4, 5], [], []]", "c10::Half, Scalar, Scalar"));
  expect_cost(cost("aten::_softmax_backward_data", "[[4, 5], [4, 5], [], []]", "float, float, Scalar, Scalar",
                   R"(["", "", "-1", "5"])"),
              80, 20 * (4 + 4 + 2), kF32);
  expect_cost(cost("aten::native_layer_norm", "[[4, 5], [], [5], [5], []]",
                   "float, ScalarList, float, float, Scalar"),
              160, (40 + 10) * 4, kF32);
  expect_cost(cost("aten::native_layer_norm_backward", "[[4, 5], [4, 5], [], [4, 1], [4, 1], [5], [5], []]",
                   "float, float, , float, float, float, float, "),
              220, (60 + 8 + 10) * 4, kF32);
}

TEST(DevicePeaks, FindsTheModelInTheNameOfATrace) {
  const auto name_of = [](const char* name, double memory = 0) {
    const DevicePeaks* peaks = find_device_peaks(name, memory);
    return peaks == nullptr ? std::string() : std::string(peaks->name);
  };
  EXPECT_EQ(name_of("NVIDIA H100 80GB HBM3"), "H100 SXM");
  EXPECT_EQ(name_of("NVIDIA H100 PCIe"), "H100 PCIe");
  EXPECT_EQ(name_of("NVIDIA H200"), "H200");
  EXPECT_EQ(name_of("NVIDIA GH200 480GB"), "GH200");
  EXPECT_EQ(name_of("NVIDIA B200"), "B200");
  EXPECT_EQ(name_of("NVIDIA A100-PG509-200", 42e9), "A100 40 GB");
  EXPECT_EQ(name_of("NVIDIA A100-SXM4-80GB"), "A100 80 GB");
  EXPECT_EQ(name_of("NVIDIA A100 80GB PCIe", 85e9), "A100 80 GB PCIe");
  EXPECT_EQ(name_of("Tesla V100-SXM2-32GB"), "V100");
  EXPECT_EQ(name_of("NVIDIA GeForce RTX 2080 Ti"), "RTX 2080 Ti");
  EXPECT_EQ(name_of("AMD Instinct MI300X"), "MI300X");
  EXPECT_EQ(name_of("AMD Instinct MI210"), "MI210");
  EXPECT_EQ(name_of("h100"), "H100 SXM");
  for (const char* other : {"", "AMD Radeon Graphics", "NVIDIA RTX A1000", "NVIDIA RTX A4000",
                            "NVIDIA GeForce RTX 4090 Laptop GPU", "NVIDIA A100-SXM4-40GB MIG 3g.20gb"})
    EXPECT_EQ(name_of(other), "") << other;
}

TEST(DevicePeaks, ProductsHaveTheMatrixUnitsAndAllElseTheVectorUnits) {
  const DevicePeaks& h100 = *find_device_peaks("H100", 0);
  EXPECT_DOUBLE_EQ(h100.flops_per_second(MathType::kBf16, true), 989.4e12);
  EXPECT_DOUBLE_EQ(h100.flops_per_second(MathType::kBf16, false), 67e12);
  EXPECT_DOUBLE_EQ(h100.flops_per_second(MathType::kF64, true), 67e12);
  EXPECT_DOUBLE_EQ(h100.flops_per_second(MathType::kF64, false), 34e12);
  EXPECT_DOUBLE_EQ(h100.bytes_per_second, 3350e9);
}

void set_arguments(TraceBuilder& builder, OpDetail& op, const char* dims, const char* types) {
  op.dims = builder.trace.names.intern(dims);
  op.types = builder.trace.names.intern(types);
}

/// 64 x 64 floats: 524,288 FLOPs and 49,152 bytes; a kernel of 1000 ns.
void add_product(TraceBuilder& builder, std::int64_t at_ns, std::int64_t correlation,
                 const char* kernel = "sgemm") {
  set_arguments(builder, builder.op("aten::mm", at_ns, 50), "[[64, 64], [64, 64]]", R"(["float", "float"])");
  builder.launch(at_ns + 10, 5, kernel, at_ns + 100, 1000, correlation);
}

double covered(const Roofline& found, Coverage kind) {
  return found.covered_ns[static_cast<std::size_t>(kind)];
}

TEST(Roofline, HoldsEachOperatorAgainstItsBound) {
  TraceBuilder builder;
  add_product(builder, 0, 1);
  add_product(builder, 2000, 2);
  DevicePeaks peaks;
  peaks.f32 = 1e15;
  peaks.bytes_per_second = 1e12;
  const Roofline found = roofline(builder.trace, peaks);
  ASSERT_EQ(found.rows.size(), 1U);
  const RooflineRow& row = found.rows.front();
  EXPECT_EQ(std::tuple(row.calls, row.device_ns, row.flops, row.bytes),
            std::tuple(2, 2000, 2 * 524'288.0, 2 * 49'152.0));
  EXPECT_NEAR(row.compute_ns, 2 * 0.524288, 1e-12);
  EXPECT_NEAR(row.memory_ns, 2 * 49.152, 1e-9);
  EXPECT_NEAR(row.roof_ns, 2 * 49.152, 1e-9);
}

TEST(Roofline, KeepsStridesApart) {
  TraceBuilder builder;
  std::int64_t at_ns = 0, correlation = 0;
  const auto add = [&](const char* name, const char* dims, const char* strides, const char* values) {
    OpDetail& op = builder.op(name, at_ns, 50);
    set_arguments(builder, op, dims, R"(["float", "float"])");
    op.strides = builder.trace.names.intern(strides);
    op.values = builder.trace.names.intern(values);
    builder.runtime("cudaLaunchKernel", at_ns + 10, 5, ++correlation);
    builder.kernel("sgemm", at_ns + 100, 1000, correlation);
    at_ns += 2000;
  };
  const char* const square = "[[64, 64], [64, 64]]";
  add("aten::mm", square, "[[64, 1], [64, 1]]", "");
  add("aten::mm", square, "[[64, 1], [1, 64]]", "");  // the second transposed
  add("aten::mm", square, "[[64, 1], [64, 1]]", "");
  const char* const image = "[[1, 8, 32, 32], [8, 8, 3, 3], [], [], [], [], [], [], []]";
  const char* const one = R"(["", "", "", "[1, 1]", "[1, 1]", "[1, 1]", "False", "[0, 0]", "1"])";
  const char* const two = R"(["", "", "", "[2, 2]", "[1, 1]", "[1, 1]", "False", "[0, 0]", "1"])";
  add("aten::convolution", image, "", one);
  add("aten::convolution", image, "", two);
  const Roofline found = roofline(builder.trace, {});
  ASSERT_EQ(found.rows.size(), 4U);
  const AnalysisResult result = run_analysis("roofline", builder.trace);
  const DataTable& table = result.tables.front();
  expect_row(table, 0, {{"strides", "[[64, 1], [64, 1]]"}, {"calls", 2}});
  EXPECT_EQ(text(table, row_with(table, "strides", "[[64, 1], [1, 64]]"), "op"), "aten::mm");
  std::set<std::string> arguments;
  for (std::size_t row = 0; row < 4; ++row) {
    if (text(table, row, "op") == "aten::convolution") arguments.insert(text(table, row, "arguments"));
  }
  EXPECT_EQ(arguments.size(), 2U);
}

TEST(Roofline, KernelsThatRoundToTf32AreHeldAgainstThatPeak) {
  TraceBuilder builder;
  add_product(builder, 0, 1, "cutlass_80_tensorop_s1688gemm_128x128");
  add_product(builder, 2000, 2, "ampere_sgemm_128x64_nn");
  const Roofline found = roofline(builder.trace, {});
  ASSERT_EQ(found.rows.size(), 2U);
  EXPECT_NE(found.rows[0].math, found.rows[1].math);
}

TEST(Roofline, AnOuterOperatorDoesNotCountWhatInnerOnesDid) {
  TraceBuilder builder;
  // linear calls addmm, which is known, and an unknown helper, no second product.
  set_arguments(builder, builder.op("aten::linear", 0, 1000), "[[64, 64], [64, 64], []]",
                R"(["float", "float", ""])");
  set_arguments(builder, builder.op("aten::mm", 100, 100), "[[64, 64], [64, 64]]", R"(["float", "float"])");
  builder.launch(110, 5, "sgemm", 2000, 1000, 1);
  builder.op("custom::helper", 300, 100);
  builder.launch(310, 5, "helper_kernel", 3000, 10, 2);
  const Roofline found = roofline(builder.trace, {});
  ASSERT_EQ(found.rows.size(), 1U);
  EXPECT_EQ(builder.trace.names[found.rows[0].op], "aten::mm");
  EXPECT_EQ(covered(found, Coverage::kKnown), 1000);
  EXPECT_EQ(covered(found, Coverage::kUnknown), 10);
  ASSERT_EQ(found.unknown.size(), 1U);
  EXPECT_EQ(builder.trace.names[found.unknown[0].op], "custom::helper");
}

TEST(Roofline, AnOuterOperatorStandsForInnerOnesThatAreNotKnown) {
  TraceBuilder builder;
  set_arguments(builder, builder.op("aten::linear", 0, 1000), "[[64, 64], [64, 64], []]",
                R"(["float", "float", ""])");
  builder.op("custom::product", 100, 100);
  builder.launch(110, 5, "sgemm", 2000, 1000, 1);
  const Roofline found = roofline(builder.trace, {});
  ASSERT_EQ(found.rows.size(), 1U);
  EXPECT_EQ(builder.trace.names[found.rows[0].op], "aten::linear");
}

TEST(Roofline, EveryPieceOfWorkIsCountedOnce) {
  TraceBuilder builder;
  add_product(builder, 0, 1);
  builder.kernel("nobody's", 5000, 7);
  builder.kernel("ncclDevKernel_AllReduce", 6000, 11);
  builder.copy(7000, 13);
  builder.op("custom::op", 8000, 100);
  builder.launch(8010, 5, "custom_kernel", 8100, 17, 2);
  const Roofline found = roofline(builder.trace, {});
  EXPECT_EQ(covered(found, Coverage::kKnown), 1000);
  EXPECT_EQ(covered(found, Coverage::kNoOp), 7);
  EXPECT_EQ(covered(found, Coverage::kCommunication), 11);
  EXPECT_EQ(covered(found, Coverage::kHostCopy), 13);
  EXPECT_EQ(covered(found, Coverage::kUnknown), 17);
}

TEST(RooflineAnalysis, TakesThePeaksOfTheDeviceOrOfTheOptions) {
  TraceBuilder builder;
  add_product(builder, 0, 1);
  EXPECT_EQ(run_analysis("roofline", builder.trace).headlines.size(),
            1U);  // no device, no roof
  const AnalysisResult given =
      run_analysis("roofline", builder.trace, {{"peak-flops", "1e12"}, {"peak-bandwidth", "1e12"}});
  EXPECT_NEAR(given.headlines[1].value, 0.524288, 1e-12);
  EXPECT_EQ(std::get<std::string>(given.tables[0].rows[0][9]), "compute");
  builder.device(0, "NVIDIA H100 80GB HBM3");
  const AnalysisResult known = run_analysis("roofline", builder.trace);
  EXPECT_NEAR(known.headlines[1].value, 49'152 / 3350e9 * 1e9 / 1000, 1e-9);
  EXPECT_EQ(std::get<std::string>(known.tables[0].rows[0][9]), "memory");
  std::map<std::string, std::string> other;
  other["peaks-of"] = "MI300X";
  EXPECT_NEAR(run_analysis("roofline", builder.trace, other).headlines[1].value, 49'152 / 5300e9 * 1e9 / 1000,
              1e-9);
  other["peaks-of"] = "abacus";
  EXPECT_THROW(run_analysis("roofline", builder.trace, other), Error);
  other = {};
  other["peak-flops"] = "-1";
  EXPECT_THROW(run_analysis("roofline", builder.trace, other), Error);
}

TEST(RooflineAnalysis, SaysThatTheTraceHasNoShapes) {
  TraceBuilder builder;
  builder.op("aten::mm", 0, 50);
  builder.launch(10, 5, "sgemm", 100, 1000, 1);
  const AnalysisResult result = run_analysis("roofline", builder.trace);
  EXPECT_NE(result.notes.back().find("record_shapes"), std::string::npos);
  EXPECT_EQ(result.headlines[0].value, 0);
  EXPECT_FALSE(run_analysis("roofline", TraceBuilder().trace).notes.empty());
}

TEST(RooflineRealFiles, CoverageSumsToTheDeviceTime) {
  const fs::path folder = fs::path(HEADROOM_SHARED) / "traces";
  if (!fs::exists(folder)) GTEST_SKIP() << "the real traces are not beside this repository";
  for (const char* name :
       {"tracelens__torch_compile_triton_trace.json.gz", "tracelens__mi300_resnet_act_checkpoint.json.gz",
        "tracelens__h100_Qwen_Qwen1.5-0.5B-Chat__1016005.json.gz", "hta__trace_filter_sampled_rank-0.json.gz",
        "tracelens__mi210_gpu_only_trace_gpu_only_trace.json.gz"}) {
    const Trace trace = read(folder / name, only(needs_of(*find_analysis("roofline"), {})));
    const Roofline found = roofline(trace, *find_device_peaks("MI300X", 0));
    double total = 0, parts = 0, rows = 0, unknown = 0;
    for (const GpuDetail& work : trace.gpu)
      total += static_cast<double>(trace.events.duration_ns[work.event]);
    for (const double part : found.covered_ns) parts += part;
    for (const RooflineRow& row : found.rows) {
      rows += row.device_ns;
      EXPECT_GE(row.roof_ns, 0) << name;
      EXPECT_GT(row.bytes, 0) << name;
    }
    for (const Roofline::Unknown& one : found.unknown) unknown += one.device_ns;
    EXPECT_EQ(parts, total) << name;
    EXPECT_EQ(rows, covered(found, Coverage::kKnown)) << name;
    EXPECT_EQ(unknown, covered(found, Coverage::kUnknown)) << name;
  }
}

}  // namespace
}  // namespace headroom::trace
