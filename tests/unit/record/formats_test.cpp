// SPDX-License-Identifier: Apache-2.0
// PyTorch's benchmarks/gpt_fast/benchmark.py made tests/data/gpt_fast.

#include <gmock/gmock.h>

#include <cmath>

#include "headroom/base/files.h"
#include "headroom/base/json.h"
#include "headroom/base/text.h"
#include "headroom/record/formats.h"
#include "headroom/record/formats/seed_rows.h"
#include "headroom/record/formats/tool_files.h"
#include "sample_records.h"

namespace headroom {
namespace {

namespace fs = std::filesystem;
using namespace testing;

class FormatFiles : public testing::Test {
 protected:
  const TemporaryFolder temporary_;
  const fs::path folder_ = temporary_.path();
};

TEST(Formats, AnImportSaysWhichToolItIsOfAndOurRowsWhichInstrument) {
  const auto read = [](const std::string& text) { return records_from_text(PaddedText(text), "file").at(0); };
  const Record hyperfine = read(R"({"results": [{"command": "x", "times": [1, 2]}]})");
  EXPECT_EQ(std::tie(hyperfine.instrument, hyperfine.tool),
            std::tuple(Instrument::kImport, std::string("hyperfine")));
  Record made = full_record();
  made.outcome = {};
  made.benchmark = {"headroom", "", "", {}};
  made.model.type = "command";
  made.instrument = Instrument::kCommands;
  made.look = Look::kLast;
  made.ratio = RatioToOther{2, {}, 5, "native@native", "native", "native"};
  const Record row = read(format_named("oss-v3").write({made}, "", "rows.json"));
  EXPECT_EQ(std::tie(row.instrument, row.tool), std::tuple(Instrument::kCommands, std::string()));
  EXPECT_EQ(row.look, Look::kLast);
  ASSERT_TRUE(row.ratio);
  EXPECT_EQ(std::tie(row.ratio->backend, row.ratio->runner), std::tuple("native", "native"));
}

TEST(Formats, HaveDifferentNamesAndCanDoSomething) {
  std::set<std::string> names;
  for (const Format& format : all_formats()) {
    EXPECT_TRUE(names.insert(format.name).second) << format.name;
    EXPECT_TRUE(format.write != nullptr || format.read != nullptr) << format.name;
    EXPECT_EQ(format.read == nullptr, format.recognises == nullptr) << format.name;
  }
}

TEST(Formats, AreFoundByName) {
  EXPECT_STREQ(format_named("oss-v3").name, "oss-v3");
  EXPECT_THAT(message_of([] { format_named("seed-cvs"); }),
              AllOf(HasSubstr("did you mean 'seed-csv'"), HasSubstr("headroom-json")));
}

TEST(Formats, AreFoundByTheLongestEnding) {
  EXPECT_STREQ(format_of_file_name("a/b.csv")->name, "seed-csv");
  EXPECT_STREQ(format_of_file_name("b.json")->name, "headroom-json");
  EXPECT_STREQ(format_of_file_name("b.oss.json")->name, "oss-v3");
  EXPECT_STREQ(format_of_file_name("b.jsonl")->name, "seed-jsonl");
  EXPECT_EQ(format_of_file_name("b.csv/c.txt"), nullptr);
}

TEST_F(FormatFiles, WriteAndReadBack) {
  write_records(folder_ / "r.json", format_named("headroom-json"), {full_record(), Record{}});
  const std::vector<Record> records = read_records(folder_ / "r.json");
  ASSERT_EQ(records.size(), 2U);
  EXPECT_EQ(identity(records[0]), identity(full_record()));
}

TEST_F(FormatFiles, HeadroomJsonIsReplacedAndTheCsvGrows) {
  const std::vector<Record> records{measured("gemv", "1024", "int8", 10)};
  for (int i = 0; i < 2; ++i) {
    write_records(folder_ / "r.json", format_named("headroom-json"), records);
    write_records(folder_ / "r.csv", format_named("seed-csv"), records);
    write_records(folder_ / "r.jsonl", format_named("seed-jsonl"), records);
  }
  EXPECT_EQ(read_records(folder_ / "r.json").size(), 1U);
  EXPECT_EQ(read_file(folder_ / "r.csv"),
            "name,metric,target,actual,dtype,device,arch,is_model\n"
            "gemv,memory_bandwidth(GB/s),,10.000000,int8,cpu,,False\n"
            "gemv,memory_bandwidth(GB/s),,10.000000,int8,cpu,,False\n");
  const std::string lines = read_file(folder_ / "r.jsonl");
  EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), 2);
}

TEST_F(FormatFiles, ABrokenCsvIsNotOverwritten) {
  write_file_atomically(folder_ / "r.csv", "a,\"b\n");
  EXPECT_THAT(message_of([&] {
                write_records(folder_ / "r.csv", format_named("seed-csv"),
                              {measured("gemv", "1", "int8", 1)});
              }),
              HasSubstr("line 1"));
  EXPECT_EQ(read_file(folder_ / "r.csv"), "a,\"b\n");
}

TEST_F(FormatFiles, AnUnknownFileIsRefused) {
  write_file_atomically(folder_ / "x", "{\"other\": 1}");
  EXPECT_THAT(message_of([&] { read_records(folder_ / "x"); }), HasSubstr("headroom reads: headroom-json"));
}

Json written(const std::vector<Record>& records) {
  return parse_json(format_named("oss-v3").write(records, "", "t"), "t");
}

Record measured_record() {
  Record record = full_record();
  record.outcome = {};
  return record;
}

TEST(OssV3, WritesTheFieldsOfTheSchema) {
  const Json json = written({measured_record()}).at(0);
  EXPECT_EQ(json["timestamp"], 1790000000);
  EXPECT_EQ(json["schema_version"], "v3");
  EXPECT_EQ(json["repo"], "example/project");
  EXPECT_EQ(json["head_branch"], "main");
  EXPECT_EQ(json["head_sha"], "c0ffee");
  EXPECT_EQ(json["runners"][0]["cpu_count"], 2);
  EXPECT_EQ(json["runners"][0]["type"], "x86_64");
  EXPECT_EQ(json["dependencies"]["torch"]["version"], "2.5");
  EXPECT_EQ(json["benchmark"]["name"], "my benchmark");
  EXPECT_EQ(json["benchmark"]["dtype"], "int8");
  EXPECT_EQ(json["benchmark"]["extra_info"]["device"], "cpu");
  EXPECT_EQ(json["benchmark"]["extra_info"]["arch"], "x86_64");
  EXPECT_EQ(json["benchmark"]["extra_info"]["D"], "1024");
  EXPECT_EQ(json["model"]["backend"], "native");
  EXPECT_EQ(json["model"]["origins"], Json::array({"pytorch", "ours"}));
  EXPECT_EQ(json["metric"]["name"], "memory_bandwidth(GB/s)");
  EXPECT_EQ(json["metric"]["target_value"], 14.5);
}

TEST(OssV3, HasOneValueAndTheSamplesAsStrings) {
  const Json metric = written({measured_record()}).at(0)["metric"];
  EXPECT_EQ(metric["benchmark_values"], Json::array({12.25}));
  EXPECT_EQ(metric["extra_info"]["samples"], "[[12.0,12.25,0.1],[12.5]]");
  EXPECT_EQ(metric["extra_info"]["unit"], "GB/s");
  EXPECT_EQ(metric["extra_info"]["interval_low"], "12.0");
  for (const auto& [key, value] : metric["extra_info"].items()) EXPECT_TRUE(value.is_string()) << key;
}

TEST(OssV3, GivesTimesInNanoseconds) {
  Record record = measured_record();
  record.metric = {"latency", "us", Direction::kLowerIsBetter, 0.004, 0.002, {}};
  record.samples = {{1, 1, 0, {0.004}, {0}, {}}};
  record.interval = Interval{0.003, 0.005, 0.95};
  const Json metric = written({record}).at(0)["metric"];
  EXPECT_DOUBLE_EQ(metric["benchmark_values"][0].get<double>(), 4);
  EXPECT_DOUBLE_EQ(metric["target_value"].get<double>(), 2);
  EXPECT_EQ(metric["extra_info"]["unit"], "ns");
  EXPECT_EQ(metric["extra_info"]["samples"], "[[4.0]]");
  EXPECT_EQ(metric["extra_info"]["interval_high"], "5.0");
}

TEST(OssV3, KeepsAUnitThatTheNameFixes) {
  Record record = measured_record();
  record.metric = {"compilation_time(s)", "s", Direction::kLowerIsBetter, 12.5, {}, {}};
  const Json metric = written({record}).at(0)["metric"];
  EXPECT_EQ(metric["benchmark_values"][0], 12.5);
  EXPECT_FALSE(metric.contains("target_value"));
}

TEST(OssV3, LeavesOutWhatWasNotMeasured) {
  Record failed = full_record(), skipped = full_record(), nan = measured_record();
  skipped.outcome.kind = Outcome::Kind::kSkipped;
  nan.metric.value = std::nan("");
  EXPECT_EQ(written({failed, measured_record(), skipped, nan}).size(), 1U);
  EXPECT_EQ(written({failed}).size(), 0U);
}

TEST(OssV3, NeverWritesAnEmptyUploadFieldAndNeverHidesTheDevice) {
  Record record = measured("gemv", "1024", "bf16", 5);
  record.axes.emplace_back("device", "other");
  auto environment = std::make_shared<Environment>();
  environment->timestamp = 5;
  record.environment = environment;
  const Json json = written({record}).at(0);
  for (const char* key : {"repo", "head_branch", "head_sha", "runners", "dependencies"}) {
    EXPECT_FALSE(json.contains(key)) << key;
  }
  EXPECT_EQ(json["benchmark"]["extra_info"]["device"], "cpu");
  EXPECT_EQ(json["benchmark"]["extra_info"]["axis_device"], "other");
  EXPECT_EQ(json["benchmark"]["dtype"], "bfloat16");
}

TEST(OssV3, OurMachineIsTheSameOneAgainAndOthersAreToldApart) {
  const Json ours = written({measured_record()}).at(0);
  EXPECT_EQ(read_text(dump_json(ours))[0].environment->fingerprint, full_record().environment->fingerprint);
  const auto of_runner = [](const std::string& name) {
    return read_text(R"({"benchmark": {"name": "b"}, "model": {"name": "m"}, "metric": {"name": "latency",)"
                     R"("benchmark_values": [1]}, "runners": [{"name": ")" +
                     name + R"("}]})")[0]
        .environment->fingerprint;
  };
  EXPECT_NE(of_runner("linux.a"), of_runner("linux.b"));
  EXPECT_TRUE(of_runner("linux.a").starts_with("linux-a-"));
}

Record with_values(const std::string& metric, const std::string& unit, std::vector<double> values) {
  Record record = tool_record("headroom", "sort {n}", metric, unit);
  record.axes = {{"n", "4"}};
  record.model.extra_info["title"] = "sort 4";
  set_samples(record, std::move(values));
  return record;
}

TEST(HyperfineJson, HoldsWhatHyperfineWrites) {
  std::vector<Record> records{
      with_values("latency", "ms", {3, 1, 2}), with_values("user_time", "s", {0.001, 0.003}),
      with_values("peak_memory", "B", {4096, 8192, 4096}), with_values("exit_code", "1", {0, 3, -9})};
  records[0].samples[0].warmup = 1;
  const Json file = parse_json(hyperfine_json(records, "out.json"), "out.json");
  ASSERT_EQ(file.at("results").size(), 1U);
  const Json& result = file["results"][0];
  EXPECT_EQ(result["command"], "sort 4");
  EXPECT_EQ(result["times"], Json::array({0.003, 0.001, 0.002})) << "warm-up included";
  EXPECT_DOUBLE_EQ(result["mean"].get<double>(), 0.002);
  EXPECT_DOUBLE_EQ(result["median"].get<double>(), 0.002);
  EXPECT_DOUBLE_EQ(result["stddev"].get<double>(), 0.001);
  EXPECT_DOUBLE_EQ(result["min"].get<double>(), 0.001);
  EXPECT_DOUBLE_EQ(result["max"].get<double>(), 0.003);
  EXPECT_DOUBLE_EQ(result["user"].get<double>(), 0.002);
  EXPECT_EQ(result["system"], 0);
  EXPECT_EQ(result["memory_usage_byte"], Json::array({4096, 8192, 4096}));
  EXPECT_EQ(result["exit_codes"], Json::array({0, 3, nullptr}));
  EXPECT_EQ(result["parameters"]["n"], "4");
}

TEST(HyperfineJson, ComesBackThroughTheReader) {
  const std::vector<Record> records =
      read_text(hyperfine_json({with_values("latency", "us", {3000, 1000, 2000})}, "x"));
  EXPECT_THAT(records.at(0).samples.at(0).values, ElementsAre(0.003, 0.001, 0.002));
  EXPECT_EQ(case_name(records[0]), "sort {n} n=4") << "the record's own name";
}

TEST(HyperfineJson, WithoutATimeThereIsNothingToWrite) {
  const std::vector<Record> records{with_values("token_per_sec", "tokens/s", {5}),
                                    with_values("latency", "s", {})};
  EXPECT_THAT(message_of([&] { hyperfine_json(records, "out.json"); }),
              HasSubstr("out.json: no times to write"));
}

TEST(SeedRows, AreMeansOverTheShapes) {
  std::vector<Record> records{measured("gemv", "1024", "int8", 10), measured("gemv", "1024", "bf16", 5),
                              measured("gemv", "4096", "int8", 20)};
  for (Record& record : records) record.environment = full_environment();
  const std::vector<SeedRow> rows = seed_rows(records);
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].name, "gemv");
  EXPECT_EQ(rows[0].metric, "memory_bandwidth(GB/s)");
  EXPECT_EQ(std::get<double>(rows[0].actual), 15);
  EXPECT_EQ(rows[0].shapes, 2U);
  EXPECT_EQ(rows[0].dtype, "int8");
  EXPECT_EQ(rows[0].arch, "x86_64");
  EXPECT_FALSE(rows[0].is_model);
  EXPECT_EQ(rows[1].dtype, "bfloat16");
  EXPECT_EQ(rows[1].shapes, 1U);
}

TEST(SeedRows, TakeTheHeadlineOnly) {
  Record latency = measured("gemv", "1024", "int8", 3);
  latency.metric.name = "latency";
  latency.metric.headline = false;
  EXPECT_EQ(seed_rows({latency, measured("gemv", "1024", "int8", 10)}).size(), 1U);
}

TEST(SeedRows, LeaveOutAndCountWhatWasNotMeasured) {
  std::vector<Record> records{measured("gemv", "1", "int8", 10), measured("gemv", "2", "int8", 99),
                              measured("gemv", "3", "int8", std::nan("")), measured("mlp", "1", "bf16", 1)};
  records[1].outcome = {Outcome::Kind::kSkipped, "no memory"};
  records[3].outcome = {Outcome::Kind::kFailed, "killed"};
  const std::vector<SeedRow> rows = seed_rows(records);
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(std::get<double>(rows[0].actual), 10);
  EXPECT_EQ(rows[0].shapes, 1U);
  EXPECT_EQ(rows[0].left_out, 2U);
}

TEST(SeedRows, GiveAGroupToEachBackendAndRunner) {
  std::vector<Record> records(3, measured("gemv", "1024", "int8", 10));
  records[1].model.backend = "reference";
  records[2].runner = "/opt/b";
  const std::vector<SeedRow> rows = seed_rows(records);
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[0].name, "gemv");
  EXPECT_EQ(rows[1].name, "gemv (reference)");
  EXPECT_EQ(rows[2].name, "gemv (/opt/b)");
}

TEST(SeedRows, HaveATargetOnlyWhereEachCaseHasOne) {
  std::vector<Record> records{measured("gemv", "1", "int8", 10), measured("gemv", "2", "int8", 20)};
  records[0].metric.target = 870;
  EXPECT_TRUE(std::holds_alternative<std::monostate>(seed_rows(records)[0].target));
  records[1].metric.target = 870;
  EXPECT_EQ(std::get<std::int64_t>(seed_rows(records)[0].target), 870);
  records[1].metric.target = 871;
  EXPECT_EQ(std::get<double>(seed_rows(records)[0].target), 870.5);
}

TEST(SeedRows, KnowAModel) {
  Record record = measured("Llama-2-7b-chat-hf", "1", "bf16", 100);
  record.model.type = "OSS model";
  EXPECT_TRUE(seed_rows({record})[0].is_model);
  EXPECT_EQ(seed_rows({record})[0].name, "Llama-2-7b-chat-hf");
  record.model.name = "llama2_7b_bf16";
  record.model.extra_info["model"] = "Llama-2-7b-chat-hf";
  EXPECT_EQ(seed_rows({record})[0].name, "Llama-2-7b-chat-hf") << "as the benchmark calls it";
  EXPECT_EQ(seed_rows({record})[0].experiment, "llama2_7b_bf16");
}

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

/// The only difference between the benchmark's JSON and ours.
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

TEST(SeedCsvParity, AFreshFileAShorterHeaderThatIsReplacedAndALongerOneThatIsKept) {
  EXPECT_EQ(seed_csv_text(rows(99), "", "t"), data("fresh.expected.csv"));
  for (const std::string header : {"append_to_short", "append_to_long"})
    EXPECT_EQ(seed_csv_text(rows(2), data(header + ".before.csv"), "t"), data(header + ".expected.csv"));
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
