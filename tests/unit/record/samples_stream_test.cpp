// SPDX-License-Identifier: Apache-2.0
#include "headroom/record/samples_stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "full_record.h"
#include "headroom/record/codec.h"
#include "headroom/record/formats.h"

namespace headroom {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<ProcessSamples> samples_of(std::string_view text) {
  const PaddedText padded(text);
  JsonStream stream(padded, "file");
  auto samples = record_json::read_samples(stream, JsonPath("file: /records/0"));
  stream.finish();
  return samples;
}

std::string stream_refusal(std::string_view text) {
  return message_of([&] { samples_of(text); });
}

TEST(SamplesStream, ReadsColumnsHoweverTheyAreLaidOut) {
  const auto samples = samples_of(R"([ {"noise": {"page_faults" :[ 1,2 , 3], "steal_ms":[0.5,null,-1e-3],
      "of_tomorrow": [1]}, "values": [1.5,2, 3.25e2], "note": {"a": [1, "x"]}, "rounds":[0, 7,4294967295],
      "warmup": 1, "iterations": 18446744073709551615, "pid": -3},
      {"values": [], "rounds": null, "noise": null, "pid": null}])");
  ASSERT_EQ(samples.size(), 2U);
  EXPECT_THAT(samples[0].values, ElementsAre(1.5, 2, 325));
  EXPECT_THAT(samples[0].rounds, ElementsAre(0, 7, 4294967295U));
  EXPECT_EQ(samples[0].pid, -3);
  EXPECT_EQ(samples[0].iterations, 18446744073709551615U);
  ASSERT_EQ(samples[0].noise.size(), 3U);
  EXPECT_EQ(samples[0].noise[2].page_faults, 3U);
  EXPECT_TRUE(std::isnan(samples[0].noise[1].steal_ms));
  EXPECT_EQ(samples[0].noise[2].steal_ms, -1e-3);
  EXPECT_EQ(samples[0].noise[2].frequency_mhz, 0);
  EXPECT_THAT(samples[1].values, IsEmpty());
  EXPECT_THAT(samples[1].noise, IsEmpty());
  EXPECT_THAT(samples[0].device, IsEmpty());
}

TEST(SamplesStream, ReadsWhatADriverSaid) {
  const auto samples =
      samples_of(R"([{"values": [1, 2], "device": {"throttle": [0, 4], "sm_mhz": [1980, 1200.5],
      "memory_mhz": null, "of_tomorrow": [1], "power_w": [1.5, null]}}, {"values": [1], "device": null}])");
  ASSERT_EQ(samples.at(0).device.size(), 2U);
  EXPECT_EQ(samples[0].device[1].throttle, 4U);
  EXPECT_EQ(samples[0].device[1].sm_mhz, 1200.5);
  EXPECT_EQ(samples[0].device[1].memory_mhz, 0);
  EXPECT_TRUE(std::isnan(samples[0].device[1].power_w));
  EXPECT_THAT(samples.at(1).device, IsEmpty());
  EXPECT_THAT(stream_refusal(R"([{"values": [1], "device": {"throttle": [1, 2]}}])"),
              HasSubstr("/samples/0/device/throttle: has 2 values where the samples are 1"));
  EXPECT_THAT(stream_refusal(R"([{"values": [1], "device": {"throttle": [-1]}}])"),
              HasSubstr("/device/throttle: expected a whole number"));
}

TEST(SamplesStream, NamesWhatIsWrong) {
  EXPECT_THAT(stream_refusal("{}"), HasSubstr("file: /records/0/samples: expected an array"));
  EXPECT_THAT(stream_refusal("[3]"), HasSubstr("/samples/0: expected an object"));
  EXPECT_THAT(stream_refusal(R"([{"pid": 1}])"), HasSubstr("/samples/0/values: missing"));
  EXPECT_THAT(stream_refusal(R"([{"values": [1]}, {"values": [1, "2"]}])"),
              HasSubstr("/samples/1/values: expected a number"));
  EXPECT_THAT(stream_refusal(R"([{"values": [1, 01]}])"), HasSubstr("not JSON at byte 17"));
  EXPECT_THAT(stream_refusal(R"([{"values": [1, 2.]}])"), HasSubstr("not JSON at byte 16"));
  EXPECT_THAT(stream_refusal(R"([{"values": [1], "rounds": [1.5]}])"),
              HasSubstr("/rounds: expected a whole number"));
  EXPECT_THAT(stream_refusal(R"([{"values": [1], "rounds": [4294967296]}])"), HasSubstr("up to 4294967295"));
  EXPECT_THAT(stream_refusal(R"([{"values": [1], "rounds": [null]}])"),
              HasSubstr("/rounds: expected a whole number"));
  EXPECT_THAT(stream_refusal(R"([{"values": [1], "noise": {"steal_ms": [1, 2]}}])"),
              HasSubstr("/samples/0/noise/steal_ms: has 2 values where the samples are 1"));
  EXPECT_THAT(stream_refusal(R"([{"values": [1], "noise": 5}])"), HasSubstr("/noise: expected an object"));
  EXPECT_THAT(stream_refusal(R"([{"values": [1,)"), HasSubstr("not JSON at byte 15"));
  for (const char* text : {"[1,]", "[,1]", "[1 2]", "[1,, 2]", "[1, ]", "[1}", "[1", "[1]2"})
    EXPECT_THAT(stream_refusal(R"([{"values": )" + std::string(text) + "}]"), HasSubstr("not JSON at byte"))
        << text;
}

TEST(SamplesStream, ReadsNumbersThatAreTheSameInTheSameWords) {
  const auto samples =
      samples_of(R"([{"values": [2.5,2.5, 2.5 ,2.5,2.50,2,25,2,2.5 ], "rounds": [1,1,11,1,1,1,1,1,1]}])");
  EXPECT_THAT(samples.at(0).values, ElementsAre(2.5, 2.5, 2.5, 2.5, 2.5, 2, 25, 2, 2.5));
  EXPECT_THAT(samples[0].rounds, ElementsAre(1, 1, 11, 1, 1, 1, 1, 1, 1));
}

std::size_t peak_bytes() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::size_t>(usage.ru_maxrss) * 1024;
}

TEST(SamplesStream, ALargeFileTakesLittleMoreThanItsSamples) {
  const auto path =
      std::filesystem::temp_directory_path() / ("headroom-samples-" + std::to_string(::getpid()) + ".json");
  constexpr std::size_t kCount = 1'000'000;
  {
    std::ofstream file(path);
    file << R"({"headroom": {"schema": 1}, "records": [{"benchmark": {"name": "b"}, "model": {"name": "m"},)"
         << R"("metric": {"name": "latency", "unit": "s", "direction": "lower", "value": 1},)"
         << R"("outcome": {"kind": "measured"}, "samples": [{"values": [)";
    for (std::size_t i = 0; i < kCount; ++i) file << (i == 0 ? "" : ",") << "1.0000000" << 100000 + i % 9999;
    file << R"(]}]}]})";
  }
  const auto bytes = static_cast<std::size_t>(std::filesystem::file_size(path));
  const std::size_t before = peak_bytes();
  const std::vector<Record> records = read_records(path);
  const std::size_t grown = peak_bytes() - before;
  std::filesystem::remove(path);
  ASSERT_EQ(records.at(0).samples.at(0).values.size(), kCount);
  EXPECT_EQ(records[0].samples[0].values[1], 1.0000000100001);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  EXPECT_LT(grown, 3 * bytes);
#endif
}

}  // namespace
}  // namespace headroom
