// SPDX-License-Identifier: Apache-2.0
#include "headroom/record/samples_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "full_record.h"
#include "headroom/base/files.h"
#include "headroom/record/codec.h"

namespace headroom {
namespace {

TEST(FastRecords, AreWhatWasWritten) {
  Record with_gaps = full_record();
  with_gaps.samples[0].values[1] = std::numeric_limits<double>::quiet_NaN();
  const std::string text = to_json_text({full_record(), Record{}, with_gaps});
  const auto records = fast_records_from_json(PaddedText(text), "file");
  ASSERT_TRUE(records);
  EXPECT_EQ(to_json_text(*records), text);
  EXPECT_TRUE(std::isnan((*records)[2].samples[0].values[1]));
  EXPECT_EQ((*records)[0].environment, (*records)[0].environment);
}

TEST(FastRecords, ReadTheExampleOfTheDocumentation) {
  const std::string text = read_file(std::string(HEADROOM_TEST_DATA) + "/record_example.json");
  const auto records = fast_records_from_json(PaddedText(text), "file");
  ASSERT_TRUE(records);
  EXPECT_EQ(to_json_text(*records), to_json_text(records_from_json_text(text, "file")));
}

TEST(FastRecords, LeaveTheUnusualToTheStrictReader) {
  const std::string text = to_json_text({full_record()});
  const auto fast_reads = [&text](const std::string& from, const std::string& to) {
    std::string changed = text;
    const std::size_t at = changed.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    changed.replace(at, from.size(), to);
    return fast_records_from_json(PaddedText(changed), "file").has_value();
  };
  EXPECT_TRUE(fast_reads("\"pid\":4711", "\"pid\":  4711"));
  EXPECT_FALSE(fast_reads("\"pid\":4711", "\"pid\":47.5"));
  EXPECT_FALSE(fast_reads("\"warmup\":1", "\"warmup\":100"));
  EXPECT_FALSE(fast_reads("\"rounds\":[0,1,3]", "\"rounds\":[0,1]"));
  EXPECT_FALSE(fast_reads("\"values\":[", "\"values\":[\"x\","));
  EXPECT_FALSE(fast_reads("\"pid\":4711", "\"other\":4711"));
  EXPECT_FALSE(fast_reads("\"headroom\"", "\"headrooms\""));
}

}  // namespace
}  // namespace headroom
