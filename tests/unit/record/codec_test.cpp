// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sys/resource.h>

#include <cctype>
#include <cmath>
#include <filesystem>
#include <fstream>

#include "headroom/base/files.h"
#include "headroom/base/json.h"
#include "headroom/record/formats.h"
#include "headroom/record/record_json.h"
#include "sample_records.h"

namespace headroom {
namespace {

using namespace testing;

Record round_trip(const Record& record) {
  std::vector<Record> records = records_from_json_text(to_json_text({record}), "t");
  EXPECT_EQ(records.size(), 1U);
  return records.at(0);
}

void expect_equal(const std::optional<Interval>& a, const std::optional<Interval>& b) {
  ASSERT_EQ(a.has_value(), b.has_value());
  if (!a) return;
  EXPECT_EQ(a->low, b->low);
  EXPECT_EQ(a->high, b->high);
  EXPECT_EQ(a->confidence, b->confidence);
}

void expect_equal(const ProcessSamples& a, const ProcessSamples& b) {
  EXPECT_EQ(std::tie(a.pid, a.iterations, a.warmup, a.values, a.rounds),
            std::tie(b.pid, b.iterations, b.warmup, b.values, b.rounds));
  ASSERT_EQ(a.noise.size(), b.noise.size());
  for (std::size_t i = 0; i < a.noise.size(); ++i) {
    EXPECT_EQ(a.noise[i].steal_ms, b.noise[i].steal_ms);
    EXPECT_EQ(a.noise[i].involuntary_switches, b.noise[i].involuntary_switches);
    EXPECT_EQ(a.noise[i].page_faults, b.noise[i].page_faults);
    EXPECT_EQ(a.noise[i].frequency_mhz, b.noise[i].frequency_mhz);
    EXPECT_EQ(a.noise[i].placement_ns, b.noise[i].placement_ns);
  }
  EXPECT_EQ(a.device, b.device);
}

void expect_equal(const Environment& a, const Environment& b) {
  EXPECT_EQ(std::tie(a.timestamp, a.fingerprint, a.governor, a.headroom_version, a.git_sha, a.git_branch),
            std::tie(b.timestamp, b.fingerprint, b.governor, b.headroom_version, b.git_sha, b.git_branch));
  EXPECT_EQ(std::tie(a.git_repo, a.command, a.extra_info), std::tie(b.git_repo, b.command, b.extra_info));
  ASSERT_EQ(a.machines.size(), b.machines.size());
  for (std::size_t i = 0; i < a.machines.size(); ++i) {
    const Environment::Runner &m = a.machines[i], &n = b.machines[i];
    EXPECT_EQ(std::tie(m.name, m.type, m.cpu_info, m.cpu_count, m.mem_info, m.avail_mem_in_gb),
              std::tie(n.name, n.type, n.cpu_info, n.cpu_count, n.mem_info, n.avail_mem_in_gb));
    EXPECT_EQ(std::tie(m.gpu_info, m.gpu_count, m.gpu_mem_info, m.avail_gpu_mem_in_gb, m.extra_info),
              std::tie(n.gpu_info, n.gpu_count, n.gpu_mem_info, n.avail_gpu_mem_in_gb, n.extra_info));
  }
  ASSERT_EQ(a.dependencies.size(), b.dependencies.size());
  for (const auto& [name, m] : a.dependencies) {
    const Environment::Dependency& n = b.dependencies.at(name);
    EXPECT_EQ(std::tie(m.repo, m.branch, m.sha, m.version, m.extra_info),
              std::tie(n.repo, n.branch, n.sha, n.version, n.extra_info));
  }
}

void put(Json& document, const std::string& pointer, const Json& value) {
  const std::size_t last = pointer.rfind('/');
  Json& parent = const_cast<Json&>(*json_at(document, pointer.substr(0, last)));
  const std::string key = pointer.substr(last + 1);
  if (parent.is_array()) {
    parent.at(std::stoul(key)) = value;
  } else {
    parent[key] = value;
  }
}

TEST(Codec, EveryFieldComesBack) {
  const Record a = full_record(), b = round_trip(a);
  EXPECT_EQ(std::tie(a.benchmark.name, a.benchmark.mode, a.benchmark.dtype, a.benchmark.extra_info),
            std::tie(b.benchmark.name, b.benchmark.mode, b.benchmark.dtype, b.benchmark.extra_info));
  EXPECT_EQ(std::tie(a.model.name, a.model.type, a.model.backend, a.model.origins, a.model.extra_info),
            std::tie(b.model.name, b.model.type, b.model.backend, b.model.origins, b.model.extra_info));
  EXPECT_EQ(std::tie(a.metric.name, a.metric.unit, a.metric.direction, a.metric.value, a.metric.target),
            std::tie(b.metric.name, b.metric.unit, b.metric.direction, b.metric.value, b.metric.target));
  EXPECT_EQ(a.metric.extra_info, b.metric.extra_info);
  EXPECT_EQ(
      std::tie(a.axes, a.device, a.runner, a.caches, a.threads, a.stop, a.max_error, a.verified, a.notes),
      std::tie(b.axes, b.device, b.runner, b.caches, b.threads, b.stop, b.max_error, b.verified, b.notes));
  EXPECT_EQ(std::tie(a.error_bound, a.sums_in, a.kept_wrong),
            std::tie(b.error_bound, b.sums_in, b.kept_wrong));
  EXPECT_EQ(std::tie(a.instrument, a.tool, a.look, a.huge_pages),
            std::tie(b.instrument, b.tool, b.look, b.huge_pages));
  ASSERT_TRUE(b.slowest);
  EXPECT_EQ(std::tie(a.slowest->rank, a.slowest->share), std::tie(b.slowest->rank, b.slowest->share));
  EXPECT_EQ(std::tie(a.outcome.kind, a.outcome.reason), std::tie(b.outcome.kind, b.outcome.reason));
  expect_equal(a.interval, b.interval);
  ASSERT_TRUE(b.limit);
  EXPECT_EQ(std::tie(a.limit->parts, a.limit->value, a.limit->fraction, a.limit->unstable),
            std::tie(b.limit->parts, b.limit->value, b.limit->fraction, b.limit->unstable));
  expect_equal(a.limit->interval, b.limit->interval);
  ASSERT_EQ(a.samples.size(), b.samples.size());
  for (std::size_t i = 0; i < a.samples.size(); ++i) expect_equal(a.samples[i], b.samples[i]);
  ASSERT_TRUE(b.environment);
  EXPECT_EQ(a.environment->options, b.environment->options);
  EXPECT_EQ(a.environment->machines[0].cache_bytes, b.environment->machines[0].cache_bytes);
  EXPECT_EQ(a.environment->machines[0].gpu_l2_bytes, b.environment->machines[0].gpu_l2_bytes);
  expect_equal(*a.environment, *b.environment);
  EXPECT_EQ(to_json_text({a}), to_json_text({b}));
}

TEST(Codec, DefaultsComeBack) {
  const Record record = round_trip(Record{});
  EXPECT_EQ(to_json_text({record}), to_json_text({Record{}}));
  EXPECT_FALSE(record.environment);
  EXPECT_FALSE(record.interval);
  EXPECT_FALSE(record.limit);
  EXPECT_FALSE(record.metric.target);
}

TEST(Codec, EveryChoiceComesBack) {
  std::set<std::string> names;
  for (const StopReason reason :
       {StopReason::kNone, StopReason::kPrecision, StopReason::kMaxTime, StopReason::kMaxSamples,
        StopReason::kInterrupted, StopReason::kRunnerLost}) {
    Record record;
    record.stop = reason;
    EXPECT_EQ(round_trip(record).stop, reason);
    names.insert(to_string(reason));
  }
  EXPECT_EQ(names.size(), 6U);
  for (const auto kind : {Outcome::Kind::kMeasured, Outcome::Kind::kSkipped, Outcome::Kind::kFailed}) {
    Record record;
    record.outcome.kind = kind;
    EXPECT_EQ(round_trip(record).outcome.kind, kind);
  }
}

TEST(Codec, WritesEachEnvironmentOnce) {
  Record a = full_record(), b = full_record(), c = a;
  b.environment = full_environment();
  const std::string text = to_json_text({a, b, c, Record{}});
  EXPECT_EQ(parse_json(text, "t")["environments"].size(), 2U);
  const std::vector<Record> back = records_from_json_text(text, "t");
  EXPECT_EQ(back[0].environment, back[2].environment);
  EXPECT_NE(back[0].environment, back[1].environment);
  EXPECT_FALSE(back[3].environment);
}

TEST(Codec, PiecesAreTheWholeText) {
  for (const std::size_t runs : {0U, 1U, 3U}) {
    std::vector<std::vector<Record>> made;
    std::vector<Record> all;
    for (std::size_t run = 0; run < runs; ++run) {
      made.push_back(std::vector<Record>(run + 1, full_record()));
      const auto environment = full_environment();
      for (Record& record : made.back()) record.environment = environment;
      all.insert(all.end(), made.back().begin(), made.back().end());
    }
    std::string pieces;
    write_json_text(
        runs, [&](std::size_t run) { return *made[run].front().environment; },
        [&](std::size_t run) { return made[run]; }, [&](std::string_view text) { pieces += text; });
    EXPECT_EQ(pieces, to_json_text(all));
  }
}

TEST(Codec, NumbersThatJsonCannotHoldBecomeNotANumber) {
  Record record;
  record.metric.value = std::nan("");
  record.samples = {{1, 1, 0, {1.0, std::numeric_limits<double>::infinity()}, {}, {}}};
  const Record back = round_trip(record);
  EXPECT_TRUE(std::isnan(back.metric.value));
  EXPECT_EQ(back.samples[0].values[0], 1.0);
  EXPECT_TRUE(std::isnan(back.samples[0].values[1]));
}

TEST(Codec, KeepsExtremeIntegersAndAwkwardText) {
  Record record;
  record.samples = {{-1, std::numeric_limits<std::uint64_t>::max(), 0, {1}, {4294967295U}, {}}};
  record.notes = {"quote \" backslash \\ newline \n µ \x01"};
  record.axes = {{"z", "1"}, {"a/b", "2"}};
  const Record back = round_trip(record);
  EXPECT_EQ(back.samples[0].pid, -1);
  EXPECT_EQ(back.samples[0].iterations, std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(back.samples[0].rounds[0], 4294967295U);
  EXPECT_EQ(back.notes, record.notes);
  EXPECT_EQ(back.axes, record.axes);
}

TEST(Codec, HundredThousandSamplesAreFine) {
  Record record = full_record();
  ProcessSamples& process = record.samples[0];
  process = {1, 10, 0, {}, {}, {}};
  for (std::uint32_t i = 0; i < 100000; ++i) {
    process.values.push_back(1.0 / (i + 1));
    process.rounds.push_back(i);
    process.noise.push_back({0, i, 0, 2600, 0});
  }
  const Record back = round_trip(record);
  EXPECT_EQ(back.samples[0].values, process.values);
  EXPECT_EQ(back.samples[0].noise[99999].involuntary_switches, 99999U);
}

TEST(Codec, RefusesANewerSchemaAndSaysWhatToDo) {
  const std::string message = message_of([] {
    records_from_json_text(R"({"headroom": {"schema": 99, "version": "7.0"}, "records": []})", "new.json");
  });
  EXPECT_EQ(
      message,
      "new.json: written in schema 99 by headroom 7.0; this headroom reads schemas up to 5; use a newer one");
}

TEST(Codec, RefusesWhatIsNotAHeadroomFile) {
  const auto message = [](const char* text) {
    return message_of([&] { records_from_json_text(text, "x.json"); });
  };
  EXPECT_THAT(message("[1, 2"), HasSubstr("x.json: not JSON at byte"));
  EXPECT_THAT(message("[]"), HasSubstr("not a headroom file"));
  EXPECT_THAT(message(R"({"headroom": {}})"), HasSubstr("x.json: /headroom/schema: missing"));
  EXPECT_THAT(message(R"({"headroom": {"schema": "1"}})"),
              HasSubstr("/headroom/schema: expected a whole number"));
  EXPECT_THAT(message(R"({"headroom": {"schema": 0}})"), HasSubstr("not a schema"));
  EXPECT_THAT(message(R"({"headroom": {"schema": 1}})"), HasSubstr("x.json: /records: missing"));
}

struct Damage {
  const char* pointer;
  Json value;
  const char* message;
};

TEST(Codec, OfAnOlderSchemaNoPrecisionIsKnown) {
  const std::string text =
      R"({"headroom": {"schema": 2}, "records": [{"benchmark": {"name": "b"}, "model": {"name": "m"},)"
      R"("metric": {"name": "latency", "direction": "lower", "value": 1}, "outcome": {"kind": "measured"},)"
      R"("verified": true, "max_error": 0.001}]})";
  const Record record = records_from_json_text(text, "old.json").at(0);
  EXPECT_FALSE(record.sums_in);
  EXPECT_EQ(record.error_bound, 0);
  EXPECT_FALSE(record.kept_wrong);
  EXPECT_EQ(record.max_error, 0.001);
}

TEST(Codec, NamesThePathOfEachWrongField) {
  const Json good = parse_json(to_json_text({full_record()}), "t");
  const std::vector<Damage> damages{
      {"/records/0/metric/name", 5, "/records/0/metric/name: expected a string, found a number"},
      {"/records/0/metric/value", "x", "/records/0/metric/value: expected a number"},
      {"/records/0/metric/direction", "up", "/records/0/metric/direction: expected one of 'lower', 'higher'"},
      {"/records/0/metric/extra_info/headline", true,
       "/records/0/metric/extra_info/headline: expected a string"},
      {"/records/0/axes", Json::array(), "/records/0/axes: expected an object"},
      {"/records/0/axes/D", Json::array(),
       "/records/0/axes/D: expected true, false, a number, a string, or a"},
      {"/records/0/text_axes", "D", "/records/0/text_axes: expected an array"},
      {"/records/0/threads", 2.5, "/records/0/threads: expected a whole number"},
      {"/records/0/outcome/kind", "lost", "/records/0/outcome/kind: expected one of 'measured'"},
      {"/records/0/samples/1/values", 3, "/records/0/samples/1/values: expected an array"},
      {"/records/0/samples/0/values/0", "1", "/records/0/samples/0/values: expected a number"},
      {"/records/0/samples/0/iterations", -1,
       "/records/0/samples/0/iterations: expected a whole number from 0"},
      {"/records/0/samples/0/warmup", 9, "/records/0/samples/0/warmup: exceeds the number of samples"},
      {"/records/0/samples/0/rounds", Json::array({1}), "/rounds: has 1 values for 3 samples"},
      {"/records/0/samples/0/noise/steal_ms", Json::array({1}), "/noise/steal_ms: has 1 values"},
      {"/records/0/interval/low", nullptr, "/records/0/interval/low: expected a number, found null"},
      {"/records/0/limit/unstable", "no", "/records/0/limit/unstable: expected a boolean"},
      {"/records/0/notes", Json::array({1}), "/records/0/notes/0: expected a string"},
      {"/records/0/sums_in", "fp4", "/records/0/sums_in: expected one of 'bf16', 'f16', 'f32', 'f64'"},
      {"/records/0/kept_wrong", 1, "/records/0/kept_wrong: expected a boolean"},
      {"/records/0/stop", "tired", "/records/0/stop: expected one of"},
      {"/records/0/environment", 4, "/records/0/environment: is 4, but the file has 1 environments"},
      {"/environments/0/machines/0/cpu_count", -2,
       "/environments/0/machines/0/cpu_count: expected a whole number"},
      {"/environments/0/dependencies/torch", 1, "/environments/0/dependencies/torch: expected an object"},
  };
  for (const Damage& damage : damages) {
    Json bad = good;
    put(bad, damage.pointer, damage.value);
    EXPECT_THAT(message_of([&] { records_from_json_text(dump_json(bad), "r.json"); }),
                HasSubstr(damage.message))
        << damage.pointer;
  }
}

/// Escapes take another path in the reader.
std::string with_escapes(const std::string& text) {
  std::string escaped;
  for (std::size_t i = 0; i < text.size(); ++i) {
    escaped += text[i];
    const bool begins = text[i] == '"' && i + 1 < text.size() && std::isalpha(text[i + 1]) != 0;
    if (begins) escaped += fmt::format("\\u{:04x}", static_cast<unsigned>(text[++i]));
  }
  return escaped;
}

TEST(Codec, RecordsReadTheSameHoweverTheyAreWritten) {
  Record record = full_record();
  record.axes.emplace_back("share", "0.25");
  record.axes.emplace_back("size", AxisValue::Size{1 << 20});
  record.axes.emplace_back("flag", true);
  record.axes.emplace_back("whole", AxisValue("2", AxisType::kReal));
  record.axes.emplace_back("mode", AxisValue("0", AxisType::kText));
  record.metric.value = std::numeric_limits<double>::quiet_NaN();
  record.ratio = RatioToOther{1.25, Interval{1.2, 1.3, 0.95}, 30, "native@native"};
  record.modes = {{{10, 0.4}, {14, 0.6}}, 3, true};
  record.limit->rounds = Limit::Rounds{5, 0.5, 0.75};
  const std::string plain = to_json_text({record, full_record(), Record()});
  EXPECT_EQ(to_json_text(records_from_json_text(plain, "t")), plain);
  EXPECT_EQ(to_json_text(records_from_json_text(with_escapes(plain), "t")), plain);
  EXPECT_EQ(to_json_text(records_from_json_text(dump_json_pretty(parse_json(plain, "t")), "t")), plain);
  const TemporaryFolder folder;
  const auto path = folder.path() / "many.json";
  std::vector<Record> many(500, record);
  write_file_atomically(path, to_json_text(many));
  EXPECT_EQ(to_json_text(records_from_json_file(path)), to_json_text(many));
}

TEST(Codec, AxesKeepTheirTypes) {
  Record record = full_record();
  const auto text = [](const char* written) { return AxisValue(written, AxisType::kText); };
  record.axes = {{"flag", true},       {"off", false},  {"like", text("True")},
                 {"digit", text("0")}, {"n", "-7"},     {"whole", AxisValue("2", AxisType::kReal)},
                 {"share", "0.25"},    {"word", "bf16"}};
  const Json json = parse_json(to_json_text({record}), "t");
  EXPECT_EQ(
      dump_json(json["records"][0]["axes"]),
      R"({"flag":true,"off":false,"like":"True","digit":"0","n":-7,"whole":2.0,"share":0.25,"word":"bf16"})");
  EXPECT_EQ(dump_json(json["records"][0]["text_axes"]), R"(["like","digit"])");
  for (const std::string& written : {dump_json(json), with_escapes(dump_json(json))}) {
    const Record back = records_from_json_text(written, "t").at(0);
    ASSERT_EQ(back.axes.size(), record.axes.size());
    for (std::size_t i = 0; i < back.axes.size(); ++i)
      EXPECT_EQ(back.axes[i].second.value(), record.axes[i].second.value()) << back.axes[i].first;
  }
}

TEST(Codec, ReadsSchema4) {
  const std::string text = read_file(HEADROOM_TEST_DATA "/record_schema4.json");
  EXPECT_THAT(text, HasSubstr("\"schema\":4,"));
  EXPECT_THAT(text, HasSubstr("\"shuffle\":\"True\""));
  const std::vector<Record> records = records_from_json_text(text, "record_schema4.json");
  ASSERT_EQ(records.size(), 2U);
  Record now = records[0];
  now.axes = {{"shuffle", true},
              {"n", "0"},
              {"share", AxisValue("1", AxisType::kReal)},
              {"text", AxisValue("x", AxisType::kText)}};
  EXPECT_TRUE(same_identity(records[0], now)) << "the same case as this headroom records it";
  EXPECT_EQ(identity(records[0]), identity(now));
  EXPECT_EQ(axis(records[1], "shuffle")->boolean(), false);
  now.axes[0].second = AxisValue("True", AxisType::kText);
  EXPECT_FALSE(same_identity(records[0], now));
}

TEST(Codec, OfAMemberThatIsThereTwiceTheLastCounts) {
  const auto read = [](const std::string& members) {
    return records_from_json_text(
               R"({"headroom": {"schema": 3}, "environments": [{}], "records": [{"benchmark":
      {"name": "b"}, "model": {"name": "m", "type": "t", "type": null}, "metric": {"name": "n", "direction": "lower",
      "value": 1}, "outcome": {"kind": "measured"}, )" +
                   members + "}]}",
               "t")
        .at(0);
  };
  EXPECT_EQ(read(R"("device": "a", "device": "b")").device, "b");
  EXPECT_EQ(read(R"("device": "a", "device": null)").device, "");
  EXPECT_EQ(read(R"("device": 5, "device": "b")").device, "b");
  EXPECT_EQ(read(R"("device": "a", "device": "\u0062")").device, "b");
  EXPECT_EQ(read(R"("device": "\u0061", "device": "b")").device, "b");
  EXPECT_THAT(message_of([&] { read(R"("device": "a", "device": 5)"); }),
              HasSubstr("t: /records/0/device: expected a string, found a number"));
  EXPECT_EQ(read(R"("device": "a")").model.type, "micro-benchmark");
  EXPECT_EQ(read(R"("metric": {"name": "x", "direction": "lower", "value": 2, "value": 3})").metric.value, 3);
  EXPECT_EQ(read(R"("axes": {"a": "1", "b": "2", "a": "3"})").axes, (AxisValues{{"a", "3"}, {"b", "2"}}));
  EXPECT_FALSE(read(R"("environment": 0, "environment": null)").environment);
  EXPECT_TRUE(read(R"("environment": "x", "environment": 0)").environment);
}

TEST(Codec, AMissingPartIsNamedAndUnknownOnesAreIgnored) {
  Json document = parse_json(to_json_text({full_record()}), "t");
  document["records"][0]["from_the_future"] = 1;
  EXPECT_EQ(records_from_json_text(dump_json(document), "t").size(), 1U);
  document["records"][0].erase("outcome");
  EXPECT_THAT(message_of([&] { records_from_json_text(dump_json(document), "r.json"); }),
              HasSubstr("r.json: /records/0/outcome: missing"));
}

TEST(Codec, ReadsSchema2WhoseNumbersWereTexts) {
  const std::string text = read_file(HEADROOM_TEST_DATA "/record_schema2.json");
  EXPECT_THAT(text, HasSubstr("\"schema\": 2,"));
  const std::vector<Record> records = records_from_json_text(text, "record_schema2.json");
  ASSERT_EQ(records.size(), 1U);
  const Record& record = records[0];
  EXPECT_TRUE(record.metric.headline);
  EXPECT_EQ(record.metric.target_share, 0.55);
  EXPECT_TRUE(record.metric.extra_info.empty()) << "each text has become a member";
  ASSERT_TRUE(record.ratio && record.ratio->interval);
  EXPECT_EQ(std::tie(record.ratio->ratio, record.ratio->pairs, record.ratio->other),
            std::tuple(1.31, 30U, std::string("native@native")));
  EXPECT_EQ(record.ratio->interval->high, 1.33);
  ASSERT_EQ(record.modes.groups.size(), 2U);
  EXPECT_EQ(record.modes.groups[1].median, 14);
  EXPECT_TRUE(record.modes.in_stretches);
  ASSERT_TRUE(record.limit && record.limit->rounds);
  EXPECT_EQ(record.limit->rounds->upper_quartile, 0.625);
  EXPECT_EQ(record.limit->parts, (std::vector<LimitPart>{{"read", 8996782, "linear", "", 2}}))
      << "as exact as the text was";
  EXPECT_EQ(whole_axis(record, "D"), 3000);
  EXPECT_EQ(axis(record, "share")->number(), 0.25);
  EXPECT_EQ(axis_text(record, "variant"), "007") << "no number: that would be written 7";
  EXPECT_EQ(record.samples.at(0).device.at(2).throttle, 4U);
}

TEST(Codec, ReadsSchema3WhoseNotesAndOptionsWereTexts) {
  const std::string text = read_file(HEADROOM_TEST_DATA "/record_schema3.json");
  EXPECT_THAT(text, HasSubstr("\"schema\":3,"));
  const std::vector<Record> records = records_from_json_text(text, "record_schema3.json");
  ASSERT_EQ(records.size(), 7U);
  const Record &command = records[1], &cache = records[2], &dispatch = records[5], &run = records[6];
  EXPECT_EQ(command.instrument, Instrument::kCommands);
  EXPECT_EQ(command.look, Look::kLast);
  EXPECT_FALSE(records[0].look) << "the others are compared with it";
  EXPECT_EQ(command.notes, (Notes{{NoteKind::kExactRounds}, {NoteKind::kBusy, {1.9, 2}, "while measuring"}}));
  EXPECT_EQ(command.environment->options.margin, 0.01);
  EXPECT_EQ(command.environment->options.counters, CounterScope::kNone);
  EXPECT_THAT(command.environment->options.no_counters, HasSubstr("this machine does not offer them"));
  EXPECT_EQ(cache.instrument, Instrument::kCache);
  EXPECT_EQ(cache.environment->options.cache_run["models"].size(), 1U);
  EXPECT_FALSE(cache.environment->extra_info.contains("cache_run"));
  EXPECT_EQ(dispatch.instrument, Instrument::kDispatch);
  EXPECT_TRUE(dispatch.environment->options.per_rank);
  ASSERT_EQ(dispatch.environment->options.expectations.size(), 1U);
  EXPECT_EQ(dispatch.environment->options.expectations[0].value_us, 5);
  EXPECT_EQ(run.instrument, Instrument::kRun);
  EXPECT_EQ(run.notes.at(0), Note(NoteKind::kSteal, {10, 911}));
  EXPECT_TRUE(has_note(run.notes, NoteKind::kLimitUnstable));
  EXPECT_TRUE(run.huge_pages.has_value());
  EXPECT_EQ(run.environment->machines.at(0).cache_bytes,
            (std::vector<std::int64_t>{32 << 10, 1 << 20, 32 << 20}));
  const Json json = parse_json(text, "file"), again = parse_json(to_json_text(records), "again");
  for (std::size_t i = 0; i < records.size(); ++i)
    EXPECT_EQ(again["records"][i]["notes"], json["records"][i]["notes"]) << "scripts read the sentences";
}

TEST(Codec, ReadsTheFirstFilesOfSchema4WhoseNumbersAndTracesWereTexts) {
  const auto read = [](const std::string& instrument, const std::string& about,
                       const std::string& environment) {
    const std::string text = R"({"headroom": {"schema": 4}, "environments": [)" + environment +
                             R"(], "records": [{"benchmark": {"name": "b"}, "model": {"name": "m"},
        "metric": {"name": "n", "direction": "lower", "value": 1, "extra_info": )" +
                             about +
                             R"(}, "outcome": {"kind": "measured"}, "environment": 0, "instrument": ")" +
                             instrument + R"("}]})";
    return records_from_json_text(text, "t").at(0);
  };
  const Record bucket = read("ddp", R"({"bytes": "4096", "tensors": "3"})", "{}");
  EXPECT_EQ(bucket.metric.numbers, (NumberMap{{"bytes", 4096}, {"tensors", 3}}));
  EXPECT_TRUE(bucket.metric.extra_info.empty());
  const Record cache = read("cache", R"({"saves": "0.25", "cache": "inductor.code"})", "{}");
  EXPECT_EQ(cache.metric.numbers, (NumberMap{{"saves", 0.25}}));
  EXPECT_EQ(cache.metric.extra_info, (StringMap{{"cache", "inductor.code"}}));
  EXPECT_TRUE(read("ddp", R"({"bytes": "many"})", "{}").metric.extra_info.contains("bytes")) << "kept";
  EXPECT_TRUE(read("import", R"({"bytes": "4096"})", "{}").metric.numbers.empty()) << "another tool's";
  const auto options_of = [&](const std::string& environment) {
    return read("trace", "{}", environment).environment->options;
  };
  const InstrumentOptions path = options_of(
      R"({"command": ["headroom", "trace", "critical_path", "--overlay", "o.json", "a.json"], "options": {}})");
  EXPECT_EQ(path.traces, std::vector<std::string>{"a.json"});
  EXPECT_TRUE(path.writes_file);
  EXPECT_FALSE(
      options_of(R"({"command": ["headroom", "trace", "ops", "a.json"], "options": {}})").writes_file);
  EXPECT_TRUE(
      options_of(R"({"command": ["headroom", "run", "trace", "--overlay"], "options": {}})").traces.empty());
  const InstrumentOptions ranks =
      options_of(R"({"extra_info": {"hardware_counters": "none: a reason"}, "options": {}})");
  EXPECT_EQ(ranks.counters, CounterScope::kNone);
  EXPECT_EQ(ranks.no_counters, "a reason");
}

TEST(Codec, OlderCacheSizesThatWereRoundedAreRead) {
  const auto read = [](const std::string& caches) {
    return records_from_json_text(
               R"({"headroom": {"schema": 3}, "environments": [{"machines": [{"extra_info": {"caches": ")" +
                   caches +
                   R"("}}]}], "records": [{"benchmark": {"name": "b"}, "model": {"name": "m"}, "metric": {"name": "n",
                   "direction": "lower", "value": 1}, "outcome": {"kind": "measured"}, "environment": 0}]})",
               "t")
        .at(0)
        .environment->machines.at(0)
        .cache_bytes;
  };
  EXPECT_EQ(read("48 KiB, 1.25 MiB, 35.8 MiB"), (std::vector<std::int64_t>{49152, 1310720, 37539021}));
  EXPECT_TRUE(read("").empty());
  EXPECT_TRUE(read("48 KiB, unknown").empty());
}

TEST(Codec, ANewerFileIsNotReadByItsTexts) {
  Record record = full_record();
  record.notes = {"quota: a sentence that somebody wrote", {NoteKind::kTimeCap}};
  auto environment = full_environment();
  environment->command = {"headroom", "ddp", "--per-rank"};
  environment->options = {};
  record.environment = environment;
  const Record back = round_trip(record);
  EXPECT_EQ(back.notes, record.notes);
  EXPECT_FALSE(back.environment->options.per_rank);
}

TEST(Codec, ReadsAFileOfTheFirstSchema) {
  const std::string text = read_file(HEADROOM_TEST_DATA "/record_schema1.json");
  EXPECT_THAT(text, HasSubstr("\"schema\": 1,"));
  const std::vector<Record> records = records_from_json_text(text, "record_schema1.json");
  ASSERT_EQ(records.size(), 2U);
  EXPECT_EQ(records[0].samples.at(0).noise[2].steal_ms, 10);
  EXPECT_TRUE(records[0].samples.at(0).device.empty());
  const std::vector<Record> again = records_from_json_text(to_json_text(records), "again");
  EXPECT_EQ(again.at(0).samples.at(0).values, records[0].samples[0].values);
}

TEST(RecordFormatDocument, QuotesTheExampleThatThisReaderReads) {
  const std::string example = read_file(HEADROOM_TEST_DATA "/record_example.json");
  const std::vector<Record> records = records_from_json_text(example, "record_example.json");
  ASSERT_EQ(records.size(), 2U);
  EXPECT_EQ(case_name(records[0]), "gemv D=4096 dtype=bf16");
  EXPECT_EQ(records[1].outcome.kind, Outcome::Kind::kSkipped);
  EXPECT_THAT(read_file(HEADROOM_TEST_DATA "/../../docs/reference/record-format.md"), HasSubstr(example));
}

std::vector<ProcessSamples> samples_of(std::string_view text) {
  const std::string terminated(text);
  JsonReader stream(terminated, "file");
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
              HasSubstr("/samples/0/device/throttle: has 2 values for 1 samples"));
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
              HasSubstr("/samples/0/noise/steal_ms: has 2 values for 1 samples"));
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
  const TemporaryFolder folder;
  const auto path = folder.path() / "large.json";
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
  ASSERT_EQ(records.at(0).samples.at(0).values.size(), kCount);
  EXPECT_EQ(records[0].samples[0].values[1], 1.0000000100001);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  EXPECT_LT(grown, 3 * bytes);
#endif
}

}  // namespace
}  // namespace headroom
