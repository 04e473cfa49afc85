// SPDX-License-Identifier: Apache-2.0
// tests/data/gpt_fast holds rows and the files that PyTorch's benchmarks/gpt_fast/benchmark.py made from
// them.
#include <gtest/gtest.h>

#include "headroom/base/files.h"
#include "headroom/base/json.h"
#include "headroom/base/text.h"
#include "headroom/record/formats/seed_csv.h"
#include "headroom/record/formats/seed_jsonl.h"

namespace headroom {
namespace {

std::string data(const std::string& name) {
  return read_file(HEADROOM_TEST_DATA "/gpt_fast/" + name);
}

SeedNumber number(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number_integer()) return value.get<std::int64_t>();
  return value.get<double>();
}

std::vector<SeedRow> rows(std::size_t count) {
  std::vector<SeedRow> all;
  for (const Json& json : parse_json(data("rows.json"), "rows.json")) {
    if (all.size() == count) break;
    SeedRow row;
    row.name = json_string(json, "name", "rows.json");
    row.metric = json_string(json, "metric", "rows.json");
    row.target = number(json["target"]);
    row.actual = number(json["actual"]);
    row.dtype = json_string(json, "dtype", "rows.json");
    row.device = json_string(json, "device", "rows.json");
    row.arch = json_string(json, "arch", "rows.json");
    row.is_model = json_bool(json, "is_model", "rows.json");
    all.push_back(row);
  }
  return all;
}

/// The one difference between the benchmark's JSON and ours.
Json with_numbers(Json value) {
  if (value.is_array()) {
    for (Json& element : value) element = with_numbers(element);
  } else if (value.is_object()) {
    const Json texts = value;
    for (const auto& [key, member] : texts.items()) value[key] = with_numbers(member);
  } else if (value.is_string()) {
    const std::string text = value.get<std::string>();
    if (const auto integer = to_integer(text)) return *integer;
    if (const auto parsed = to_number(text)) return *parsed;
  }
  return value;
}

std::vector<std::string> lines(const std::string& text) {
  std::vector<std::string> all = split(text, '\n');
  EXPECT_EQ(all.back(), "");
  all.pop_back();
  return all;
}

TEST(SeedCsvParity, AFreshFile) {
  EXPECT_EQ(seed_csv_text(rows(99), "", "t"), data("fresh.expected.csv"));
}

TEST(SeedCsvParity, AShorterHeaderIsReplacedAndShortLinesAreFilledUp) {
  EXPECT_EQ(seed_csv_text(rows(2), data("append_to_short.before.csv"), "t"),
            data("append_to_short.expected.csv"));
}

TEST(SeedCsvParity, ALongerHeaderIsKept) {
  EXPECT_EQ(seed_csv_text(rows(2), data("append_to_long.before.csv"), "t"),
            data("append_to_long.expected.csv"));
}

TEST(SeedCsvParity, RowByRowGivesTheSameFile) {
  std::string text;
  for (const SeedRow& row : rows(99)) text = seed_csv_text({&row, 1}, text, "t");
  EXPECT_EQ(text, data("fresh.expected.csv"));
}

TEST(SeedCsv, WritesDoublesWithSixDecimalsAndAnUnknownTargetAsNothing) {
  SeedRow row;
  row.name = "n";
  row.target = std::monostate{};
  row.actual = 1.5;
  EXPECT_EQ(seed_csv_text({&row, 1}, "", "t"),
            "name,metric,target,actual,dtype,device,arch,is_model\nn,,,1.500000,,,,False\n");
}

TEST(SeedCsv, WithoutRowsNothingChanges) {
  EXPECT_EQ(seed_csv_text({}, "a,b\n1,2\n", "t"), "a,b\n1,2\n");
  EXPECT_EQ(seed_csv_text({}, "", "t"), "name,metric,target,actual,dtype,device,arch,is_model\n");
}

TEST(SeedJsonParity, LinesAreEqualOnceTextsOfNumbersAreNumbers) {
  const std::vector<std::string> ours = lines(seed_jsonl_text(rows(99), ""));
  const std::vector<std::string> theirs = lines(data("fresh.expected.json"));
  ASSERT_EQ(ours.size(), theirs.size());
  for (std::size_t i = 0; i < ours.size(); ++i) {
    const Json our_json = parse_json(ours[i], "ours"), their_json = parse_json(theirs[i], "theirs");
    EXPECT_EQ(our_json, with_numbers(their_json)) << ours[i];
    EXPECT_TRUE(our_json["metric"]["benchmark_values"][0].is_number()) << ours[i];
    EXPECT_TRUE(our_json["metric"]["target_value"].is_number()) << ours[i];
    // The text around the numbers is the same to the byte.
    EXPECT_EQ(ours[i].substr(0, ours[i].find("benchmark_values")),
              theirs[i].substr(0, theirs[i].find("benchmark_values")));
  }
}

TEST(SeedJson, LinesAreAppended) {
  const std::string one = seed_jsonl_text(rows(1), "");
  EXPECT_EQ(seed_jsonl_text(rows(1), one), one + one);
  EXPECT_EQ(seed_jsonl_text(rows(1), "{\"cut\": 1}"), "{\"cut\": 1}\n" + one);
  EXPECT_EQ(seed_jsonl_text({}, "x"), "x");
}

TEST(SeedJson, EscapesAsPythonDoes) {
  SeedRow row;
  row.name = "µ\"";
  row.target = std::monostate{};
  const std::string text = seed_jsonl_text({&row, 1}, "");
  EXPECT_NE(text.find(R"("name": "\u00b5\"")"), std::string::npos) << text;
  EXPECT_TRUE(parse_json(text, "t")["metric"]["target_value"].is_null());
}

TEST(SeedJson, StandsBesideTheCsv) {
  EXPECT_EQ(seed_jsonl_path("out/results.csv"), "out/results.json");
  EXPECT_EQ(seed_jsonl_path("out.d/results"), "out.d/results.json");
}

}  // namespace
}  // namespace headroom
