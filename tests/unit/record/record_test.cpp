// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <cmath>

#include "headroom/base/blas_library.h"
#include "headroom/record/environment.h"
#include "headroom/record/metrics.h"
#include "headroom/record/noise.h"
#include "headroom/record/record.h"
#include "sample_records.h"

namespace headroom {
namespace {

TEST(CaseName, IsTheExperimentAndItsAxes) {
  EXPECT_EQ(case_name(full_record()), "gemv D=1024 a=x dtype=int8");
}

TEST(Identity, LeavesOutWhatMayDifferBetweenTwoRuns) {
  const Record a = full_record();
  Record b = a;
  b.runner = "/opt/other";
  b.metric.value = 1;
  b.samples.clear();
  b.environment = nullptr;
  b.outcome = {};
  EXPECT_EQ(identity(a), identity(b));
}

/// Each differs from `record` in one quantity.
std::vector<Record> others_of(const Record& record) {
  std::vector<Record> others(10, record);
  others[0].benchmark.name += "x";
  others[1].model.name += "x";
  others[2].model.backend = "reference";
  others[3].axes[0].second = "2048";
  others[4].benchmark.dtype = "bfloat16";
  others[5].device = "cuda";
  others[6].caches = "hot";
  others[7].threads = 1;
  others[8].metric.name = "latency";
  others[9].benchmark.mode = "training";
  return others;
}

TEST(Identity, TellsEachQuantityApart) {
  const Record a = full_record();
  for (const Record& other : others_of(a)) EXPECT_NE(identity(a), identity(other)) << identity(other);
}

TEST(Identity, KnowsACaseByAnyOrderOfItsAxesAndAnyNameOfItsDtype) {
  const Record a = measured("gemv", "1024", "bf16", 0);
  Record b = measured("gemv", "1024", "bfloat16", 0);
  std::swap(b.axes[0], b.axes[1]);
  EXPECT_EQ(identity(a), identity(b));
  b.axes[0].second = "float16";
  EXPECT_NE(identity(a), identity(b));
  EXPECT_EQ(a.axes[0].first, "D");
}

TEST(Architecture, DependsOnTheDevice) {
  Record record = full_record();
  EXPECT_EQ(architecture(record), "x86_64");
  record.device = "cuda";
  EXPECT_EQ(architecture(record), "A GPU");
  record.benchmark.extra_info["arch"] = "said";
  EXPECT_EQ(architecture(record), "said");
  EXPECT_EQ(architecture(Record{}), "");
}

TEST(TorchDtype, KnowsTheShortNames) {
  EXPECT_EQ(torch_dtype("bf16"), "bfloat16");
  EXPECT_EQ(torch_dtype("f32"), "float32");
  EXPECT_EQ(torch_dtype("int8"), "int8");
}

void expect_agreement(const Record& a, const Record& b) {
  const bool same = identity(a) == identity(b);
  EXPECT_EQ(same_identity(a, b), same) << identity(a) << " " << identity(b);
  if (same) EXPECT_EQ(identity_hash(a), identity_hash(b)) << identity(a);
  EXPECT_EQ(identity_hash(a) == identity_hash(b), same) << "of these few, no two share a hash by accident";
  Record first = a, second = b;
  first.metric.name.clear();
  second.metric.name.clear();
  const bool same_but_metric = identity(first) == identity(second);
  EXPECT_EQ(same_case(a, b), same_but_metric);
  if (same_but_metric) EXPECT_EQ(case_hash(a), case_hash(b));
}

TEST(IdentityHash, SaysWhatTheTextDoes) {
  const Record a = measured("gemv", "1024", "bf16", 0);
  std::vector<Record> all = others_of(a);
  all.resize(16, a);
  std::swap(all[10].axes[0], all[10].axes[1]);
  all[11].axes[1].second = "bfloat16";
  all[12].axes[0].second = AxisValue::Size{1024};
  all[13].axes.pop_back();
  all[14].runner = "/opt/other";
  for (const Record& one : all)
    for (const Record& other : all) expect_agreement(one, other);
}

TEST(IdentityHash, DoesNotMixUpItsParts) {
  Record a = measured("gemv", "1", "x", 0), b = a;
  a.device = "ab";
  a.caches = "c";
  b.device = "a";
  b.caches = "bc";
  EXPECT_NE(identity(a), identity(b));
  expect_agreement(a, b);
}

TEST(IdentityHash, RatesOfIntegersHaveTwoNames) {
  Record a = measured("limit.peak", "1", "int8", 0), b = a;
  a.metric.name = "GFLOP/s";
  b.metric.name = "GOP/s";
  EXPECT_TRUE(same_identity(a, b)) << "records said GFLOP/s before";
  EXPECT_EQ(identity(a), identity(b));
  EXPECT_EQ(identity_hash(a), identity_hash(b));
  b.metric.name = "latency";
  expect_agreement(a, b);
}

TEST(OperationRate, IsNamedByTheDtype) {
  for (const char* dtype : {"int8", "s8", "u8", "i32", "uint8", "int4"})
    EXPECT_STREQ(operation_rate(dtype), "GOP/s") << dtype;
  for (const char* dtype : {"", "f32", "bf16", "float8", "i", "int8_g32", "u"})
    EXPECT_STREQ(operation_rate(dtype), "GFLOP/s") << dtype;
}

TEST(IdentityHash, TakesBytesThatAreNoTextAsIdentityDoes) {
  Record a = measured("gemv\xff", "1", "x", 0), b = measured("gemv\xfe", "1", "x", 0);
  EXPECT_EQ(identity(a), identity(b));
  expect_agreement(a, b);
  expect_agreement(a, measured("g\u00e9mv", "1", "x", 0));
}

TEST(AxisValue, IsANumberWhereTheTextIsItsOwnShortestForm) {
  EXPECT_EQ(AxisValue("4096").integer(), 4096);
  EXPECT_EQ(AxisValue("-3").integer(), -3);
  EXPECT_EQ(AxisValue("0.25").number(), 0.25);
  EXPECT_EQ(AxisValue("4096").number(), 4096);
  for (const char* text : {"int8", "007", "1e3", "0x10", "+4", "1.50", "", " 4", "nan", "inf", "4096x128",
                           "99999999999999999999"}) {
    EXPECT_FALSE(AxisValue(text).number()) << text;
    EXPECT_EQ(AxisValue(text).text(), text);
  }
}

TEST(AxisValue, TheTextOfEachIsTheTextThatItWasMadeOf) {
  for (const char* text : {"4096", "-3", "0.25", "1e+30", "bf16", "a=b c"})
    EXPECT_EQ(AxisValue(text).text(), text);
}

TEST(AxisValue, ABooleanIsNeitherTextNorNumber) {
  const AxisValue yes = true, no = false;
  EXPECT_EQ(yes.text(), "True");
  EXPECT_EQ(no.text(), "False");
  EXPECT_EQ(no.boolean(), false);
  EXPECT_FALSE(yes.number());
  EXPECT_EQ(AxisValue("True"), yes) << "as users and schemas before 5 write it";
  EXPECT_EQ(AxisValue("true").boolean(), std::nullopt);
  EXPECT_NE(AxisValue("True", AxisType::kText), yes);
  EXPECT_NE(AxisValue("1"), yes);
  EXPECT_TRUE(is_neutral_setting(no));
  EXPECT_FALSE(is_neutral_setting(yes));
}

TEST(AxisValue, ADeclaredTypeHolds) {
  const AxisValue text("0", AxisType::kText), real("2", AxisType::kReal), word("much", AxisType::kReal);
  EXPECT_EQ(text.text(), "0");
  EXPECT_FALSE(text.number());
  EXPECT_NE(text, AxisValue("0"));
  EXPECT_TRUE(text.is_ambiguous_text());
  EXPECT_FALSE(AxisValue("bf16", AxisType::kText).is_ambiguous_text());
  EXPECT_EQ(real.text(), "2");
  EXPECT_FALSE(real.integer());
  EXPECT_EQ(real, AxisValue("2")) << "2.0 is 2";
  EXPECT_EQ(word.text(), "much");
}

TEST(IdentityHash, TellsTypesOfAxesApart) {
  const Record a = measured("gemv", "1", "x", 0);
  std::vector<Record> all(7, a);
  all[1].axes[0].second = true;
  all[2].axes[0].second = AxisValue("True", AxisType::kText);
  all[3].axes[0].second = AxisValue("1", AxisType::kText);
  all[4].axes[0].second = AxisValue("1", AxisType::kReal);
  all[5].axes[0].second = "9007199254740993";
  all[6].axes[0].second = AxisValue("9007199254740992", AxisType::kReal);
  for (const Record& one : all)
    for (const Record& other : all) expect_agreement(one, other);
  EXPECT_FALSE(same_identity(all[1], all[2]));
  EXPECT_FALSE(same_identity(a, all[3]));
  EXPECT_TRUE(same_identity(a, all[4]));
  EXPECT_THAT(identity(all[1]), testing::HasSubstr("D=True")) << "series of older headrooms go on";
}

TEST(AxisValue, SizesAreShownExactly) {
  EXPECT_EQ(AxisValue(AxisValue::Size{25 << 20}).text(), "25 MiB");
  EXPECT_EQ(AxisValue(AxisValue::Size{1363148}).text(), "1363148 B") << "1.3 MB of --bucket-size";
  EXPECT_EQ(AxisValue(AxisValue::Size{1363148}).integer(), 1363148);
  EXPECT_NE(AxisValue(AxisValue::Size{1049624}), AxisValue(AxisValue::Size{1050673})) << "1.001 and 1.002 MB";
  EXPECT_NE(AxisValue(AxisValue::Size{1049624}).text(), AxisValue(AxisValue::Size{1050673}).text());
}

TEST(BusFactor, IsThatOfNcclTests) {
  EXPECT_DOUBLE_EQ(bus_factor("all_reduce", 8).value(), 2 * 7.0 / 8);
  for (const char* collective : {"reduce_scatter", "all_gather", "all_to_all"})
    EXPECT_DOUBLE_EQ(bus_factor(collective, 4).value(), 3.0 / 4) << collective;
  EXPECT_DOUBLE_EQ(bus_factor("broadcast", 4).value(), 1);
  EXPECT_DOUBLE_EQ(bus_factor("reduce", 4).value(), 1);
  EXPECT_FALSE(bus_factor("send_recv", 2));
  EXPECT_FALSE(bus_factor("all_reduce", 1));
  EXPECT_FALSE(bus_factor("all_reduce", -1));
}

const BlasLibrary kNetlib{kReferenceBlas, "3.11.0", "/usr/lib/blas/libblas.so.3.11.0"};
const BlasLibrary kOpenBlas{"OpenBLAS", "0.3.21", "/usr/lib/libopenblasp-r0.3.21.so"};

std::vector<Record> records_of(const Environment& environment, const std::string& runner) {
  Record record;
  record.runner = runner;
  record.environment = std::make_shared<Environment>(environment);
  return {record, record};
}

TEST(BlasDependency, NamesTheLibraryItsFileAndWhoComputesWithIt) {
  Environment environment;
  add_blas(environment, kOpenBlas, "torch");
  const Environment::Dependency& blas = environment.dependencies.at("BLAS");
  EXPECT_EQ(blas.version, "0.3.21");
  EXPECT_EQ(blas.extra_info.at("name"), "OpenBLAS");
  EXPECT_EQ(blas.extra_info.at("file"), kOpenBlas.file);
  EXPECT_EQ(blas.extra_info.at("runner"), "torch");
  add_blas(environment, kNetlib, "old/headroom-torch");
  EXPECT_EQ(environment.dependencies.at("BLAS of old/headroom-torch").version, "3.11.0");
  EXPECT_EQ(environment.dependencies.at("BLAS").version, "0.3.21") << "the first stays";
}

TEST(BlasDependency, OneLineSaysThatNetlibsIsSlowAndWhatToDo) {
  Environment environment;
  add_blas(environment, kNetlib, "torch");
  EXPECT_EQ(
      reference_blas_text(records_of(environment, "torch")),
      "torch uses netlib's reference BLAS (/usr/lib/blas/libblas.so.3.11.0), which is many times slower than "
      "others: apt-get install libopenblas0-openmp\n");
}

TEST(BlasDependency, NothingIsSaidOfAnotherBlasOrARunnerThatMeasuredNothing) {
  Environment environment;
  EXPECT_EQ(reference_blas_text(records_of(environment, "torch")), "");
  add_blas(environment, kOpenBlas, "torch");
  EXPECT_EQ(reference_blas_text(records_of(environment, "torch")), "");
  add_blas(environment, kNetlib, "other");
  EXPECT_EQ(reference_blas_text(records_of(environment, "torch")), "");
  EXPECT_EQ(reference_blas_text(std::vector<Record>{Record{}}), "") << "without an environment";
}

std::vector<double> frequencies(const NoiseSeries& noise) {
  std::vector<double> column;
  for (std::size_t i = 0; i < noise.size(); ++i) column.push_back(noise[i].frequency_mhz);
  return column;
}

TEST(NoiseSeries, HoldsWhatIsTheSameAndWhatIsNot) {
  NoiseSeries noise;
  EXPECT_TRUE(noise.empty());
  for (std::uint32_t i = 0; i < 3; ++i) noise.push_back({0.5, 7, i, 2600, 0});
  ASSERT_EQ(noise.size(), 3U);
  EXPECT_EQ(noise[2].steal_ms, 0.5);
  EXPECT_EQ(noise[2].involuntary_switches, 7U);
  EXPECT_EQ(noise[1].page_faults, 1U);
  EXPECT_EQ(noise.value(2, &SampleNoise::page_faults), 2U);
  EXPECT_EQ(noise.count_positive(&SampleNoise::steal_ms), 3U);
  EXPECT_EQ(noise.count_positive(&SampleNoise::page_faults), 2U);
  EXPECT_EQ(noise.count_positive(&SampleNoise::placement_ns), 0U);
  noise.set(1, {.frequency_mhz = 1200});
  EXPECT_EQ(frequencies(noise), (std::vector<double>{2600, 1200, 2600}));
  EXPECT_EQ(noise[1].involuntary_switches, 0U);
  EXPECT_EQ(noise[0].involuntary_switches, 7U);
}

TEST(NoiseSeries, GrowsByZeroesAndByOthers) {
  NoiseSeries noise;
  noise.resize(2);
  EXPECT_EQ(noise[1].frequency_mhz, 0);
  noise.set(0, {.frequency_mhz = 5});
  noise.resize(3);
  EXPECT_EQ(frequencies(noise), (std::vector<double>{5, 0, 0}));
  NoiseSeries same;
  same.push_back({.frequency_mhz = 8});
  same.resize(3);
  EXPECT_EQ(frequencies(same), (std::vector<double>{8, 0, 0}))
      << "what is added is zero, whatever the others are";
  same.append(noise);
  same.append(same);
  EXPECT_EQ(same.size(), 12U);
  EXPECT_EQ(frequencies(same)[9], 5);
  same.resize(1);
  EXPECT_EQ(frequencies(same), std::vector<double>{8});
  same.resize(0);
  same.push_back({.frequency_mhz = 3});
  EXPECT_EQ(frequencies(same), std::vector<double>{3});
}

TEST(NoiseSeries, CopiesAreTheirOwn) {
  NoiseSeries noise;
  noise.push_back({.frequency_mhz = 1});
  noise.push_back({.frequency_mhz = 2});
  NoiseSeries copy = noise;
  copy.set(1, {.frequency_mhz = 3});
  EXPECT_EQ(frequencies(noise), (std::vector<double>{1, 2}));
  const NoiseSeries moved = std::move(copy);
  EXPECT_EQ(frequencies(moved), (std::vector<double>{1, 3}));
  copy = {};
  EXPECT_TRUE(copy.empty());
  copy.resize(1);
  EXPECT_EQ(frequencies(copy), std::vector<double>{0});
}

TEST(NoiseSeries, TakesColumns) {
  NoiseSeries noise;
  std::vector<double> same(4, 2600), differing{1, 2, 3, 4};
  noise.set_column(&SampleNoise::frequency_mhz, std::move(same));
  EXPECT_EQ(noise.size(), 4U);
  EXPECT_EQ(frequencies(noise), std::vector<double>(4, 2600));
  noise.set_column(&SampleNoise::frequency_mhz, std::move(differing));
  EXPECT_EQ(frequencies(noise), (std::vector<double>{1, 2, 3, 4}));
  noise.set_column(&SampleNoise::page_faults, std::vector<std::uint32_t>{9});
  EXPECT_EQ(noise[0].page_faults, 9U);
  EXPECT_EQ(noise[1].page_faults, 0U) << "the rest of a column that is too short";
  noise.set_column(&SampleNoise::frequency_mhz, std::vector<double>(4, 7));
  EXPECT_EQ(frequencies(noise), std::vector<double>(4, 7));
}

TEST(NoiseSeries, KeepsEveryBit) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  NoiseSeries noise;
  noise.set_column(&SampleNoise::steal_ms, std::vector<double>{0.0, -0.0});
  noise.set_column(&SampleNoise::placement_ns, std::vector<double>{nan, nan});
  EXPECT_FALSE(std::signbit(noise[0].steal_ms));
  EXPECT_TRUE(std::signbit(noise[1].steal_ms));
  EXPECT_TRUE(std::isnan(noise[1].placement_ns));
  EXPECT_EQ(noise.count_positive(&SampleNoise::placement_ns), 0U);
  const std::vector<double> many(300'000, 4);
  std::vector<double> buffer = many;
  buffer.back() = 5;
  noise = {};
  noise.set_column(&SampleNoise::frequency_mhz, std::move(buffer));
  EXPECT_EQ(noise[299'998].frequency_mhz, 4);
  EXPECT_EQ(noise[299'999].frequency_mhz, 5);
}

}  // namespace
}  // namespace headroom
