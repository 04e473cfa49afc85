// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <random>

#include "../error_message.h"
#include "headroom/runner/protocol.h"

namespace headroom {
namespace {

using test::message_of;
using namespace testing;

class Generator {
 public:
  explicit Generator(std::uint64_t seed) : random_(seed) {}

  std::uint64_t below(std::uint64_t end) {
    return std::uniform_int_distribution<std::uint64_t>(0, end - 1)(random_);
  }
  bool coin() { return below(2) == 1; }
  double number() { return std::ldexp(static_cast<double>(random_()), static_cast<int>(below(80)) - 60); }
  /// A possible sample value.
  double some() { return std::ldexp(static_cast<double>(random_()), static_cast<int>(below(40)) - 60); }
  std::string text() {
    static const std::vector<std::string> kTexts{"",   "gemv", "a \"quoted\" one", "µs\n\ttab", "back\\slash",
                                                 "{}", "1"};
    return kTexts[below(kTexts.size())] + (coin() ? std::to_string(below(1000)) : "");
  }
  std::vector<std::string> texts(std::size_t least) {
    std::vector<std::string> made(least + below(3));
    for (std::string& one : made) one = text();
    return made;
  }
  StringMap map() { return {{text(), text()}, {text(), text()}}; }
  std::uint64_t any() { return random_(); }

 private:
  std::mt19937_64 random_;
};

Json sent(const Json& message) {
  return parse_json(dump_json(message), "line");
}

constexpr int kRuns = 100;

TEST(Protocol, HelloComesBack) {
  for (int seed = 0; seed < kRuns; ++seed) {
    Generator make(seed);
    const Hello hello{make.text(), make.text(), static_cast<int>(make.below(1000)),
                      make.coin(), make.coin(), make.coin()};
    const Hello back = hello_from_json(sent(to_json(hello)));
    EXPECT_EQ(std::tie(back.name, back.version, back.protocol, back.traces, back.ids, back.counts),
              std::tie(hello.name, hello.version, hello.protocol, hello.traces, hello.ids, hello.counts));
  }
}

TEST(Protocol, DescriptionComesBack) {
  for (int seed = 0; seed < kRuns; ++seed) {
    Generator make(seed);
    ExperimentDescription description{make.text(),   make.text(), make.text(), make.text(),   {},
                                      make.texts(1), make.coin(), {},          make.texts(0), make.text(),
                                      make.coin()};
    for (std::uint64_t i = make.below(3); i > 0; --i) {
      constexpr Axis::Kind kKinds[] = {Axis::Kind::kInteger, Axis::Kind::kText, Axis::Kind::kFree,
                                       Axis::Kind::kWhole, Axis::Kind::kReal};
      description.axes.push_back(
          {std::to_string(i) + make.text(), kKinds[make.below(std::size(kKinds))], make.texts(0)});
      if (make.coin()) description.axes.back().types = {AxisType::kText, AxisType::kReal};
    }
    if (make.coin()) description.variants = {{make.text(), make.texts(0)}, {"native", make.texts(1)}};
    const ExperimentDescription back = description_from_json(sent(to_json(description)));
    EXPECT_EQ(back.variants, description.variants);
    EXPECT_EQ(dump_json(to_json(back)), dump_json(to_json(description)));
    EXPECT_EQ(std::tie(back.name, back.summary, back.metric, back.device),
              std::tie(description.name, description.summary, description.metric, description.device));
    EXPECT_EQ(std::tie(back.backends, back.is_limit, back.also_metrics),
              std::tie(description.backends, description.is_limit, description.also_metrics));
    EXPECT_EQ(std::tie(back.model, back.is_on_request),
              std::tie(description.model, description.is_on_request));
    ASSERT_EQ(back.axes.size(), description.axes.size());
    for (std::size_t i = 0; i < back.axes.size(); ++i) {
      EXPECT_EQ(std::tie(back.axes[i].name, back.axes[i].kind, back.axes[i].values),
                std::tie(description.axes[i].name, description.axes[i].kind, description.axes[i].values));
      EXPECT_EQ(back.axes[i].types, description.axes[i].types);
    }
  }
}

TEST(Protocol, CaseSpecComesBackWithTheOrderOfItsAxes) {
  for (int seed = 0; seed < kRuns; ++seed) {
    Generator make(seed);
    CaseSpec spec;
    spec.experiment = make.text();
    spec.axes = {{"z" + make.text(), make.text()}, {"a" + make.text(), make.text()}};
    spec.backend = make.text();
    spec.threads = 1 + static_cast<int>(make.below(512));
    spec.caches = make.coin() ? Caches::kCold : Caches::kHot;
    spec.seed = make.any();
    if (make.coin()) spec.variant = make.text();
    spec.keep_wrong = make.coin();
    spec.most_bytes = make.coin() ? 0 : make.any();
    if (make.coin()) spec.types = {AxisType::kAsWritten, AxisType::kReal};
    const CaseSpec back = case_spec_from_json(sent(to_json(spec)));
    EXPECT_EQ(std::tie(back.experiment, back.axes, back.types, back.backend, back.threads, back.caches),
              std::tie(spec.experiment, spec.axes, spec.types, spec.backend, spec.threads, spec.caches));
    EXPECT_EQ(std::tie(back.seed, back.variant, back.keep_wrong, back.most_bytes),
              std::tie(spec.seed, spec.variant, spec.keep_wrong, spec.most_bytes));
  }
}

TEST(Protocol, CaseInfoComesBack) {
  for (int seed = 0; seed < kRuns; ++seed) {
    Generator make(seed);
    CaseInfo info{
        {make.number(), make.number(), make.number(), make.text()},
        1 + make.below(100),
        make.coin(),
        make.number(),
        make.number(),
        {{make.text(), make.text(), make.coin() ? Direction::kLowerIsBetter : Direction::kHigherIsBetter,
          make.coin() ? ReportedMetric::Kind::kRate : ReportedMetric::Kind::kColumn, make.number()}},
        make.map(),
        make.map()};
    info.work.bytes_written = info.work.bytes * 0.25;
    info.max_error = info.tolerance * 0.5;
    if (make.coin()) info.sums_in = make.coin() ? Precision::kBf16 : Precision::kF64;
    if (make.coin()) info.wrong = make.text();
    const PrepareReply back = prepare_reply_from_json(sent(to_json(PrepareReply{{}, info})));
    EXPECT_EQ(back.outcome.kind, Outcome::Kind::kMeasured);
    EXPECT_EQ(std::tie(back.info.work.flops, back.info.work.bytes, back.info.work.bytes_written),
              std::tie(info.work.flops, info.work.bytes, info.work.bytes_written));
    EXPECT_EQ(std::tie(back.info.work.dtype, back.info.copies, back.info.verified, back.info.max_error),
              std::tie(info.work.dtype, info.copies, info.verified, info.max_error));
    EXPECT_EQ(std::tie(back.info.tolerance, back.info.sums_in, back.info.wrong, back.info.inputs),
              std::tie(info.tolerance, info.sums_in, info.wrong, info.inputs));
    EXPECT_EQ(back.info.notes, info.notes);
    ASSERT_EQ(back.info.metrics.size(), 1U);
    EXPECT_EQ(back.info.metrics[0].name, info.metrics[0].name);
    EXPECT_EQ(back.info.metrics[0].unit, info.metrics[0].unit);
    EXPECT_EQ(back.info.metrics[0].direction, info.metrics[0].direction);
    EXPECT_EQ(back.info.metrics[0].amount, info.metrics[0].amount);
    EXPECT_EQ(back.info.metrics[0].kind, info.metrics[0].kind);
  }
}

TEST(Protocol, WhatNoRunnerCanHonestlySayIsRefused) {
  const auto refused = [](const std::function<void(CaseInfo&)>& change) {
    CaseInfo info;
    change(info);
    return message_of([&] { prepare_reply_from_json(sent(to_json(PrepareReply{{}, info}))); });
  };
  EXPECT_THAT(refused([](CaseInfo& info) { info.work.flops = -1; }), HasSubstr("work of -1 FLOPs"));
  EXPECT_THAT(refused([](CaseInfo& info) { info.work.bytes = 1e101; }), HasSubstr("1e+101 bytes"));
  EXPECT_THAT(refused([](CaseInfo& info) { info.work.bytes_written = 1; }), HasSubstr("writes 1 bytes of 0"));
  EXPECT_THAT(refused([](CaseInfo& info) { info.copies = 1'000'000'000'001; }), HasSubstr("copies"));
  EXPECT_THAT(refused([](CaseInfo& info) {
                info.verified = true;
                info.max_error = 2;
                info.tolerance = 1;
              }),
              HasSubstr("a verified result with an error of 2 (tolerance 1)"));
  EXPECT_THAT(refused([](CaseInfo& info) {
                info.metrics = {{"m", "u", Direction::kLowerIsBetter, ReportedMetric::Kind::kRate, -1e101}};
              }),
              HasSubstr("reports m = -1e+101"));
  const auto refused_sample = [](const std::function<void(Sample&)>& change) {
    SampleReply reply;
    reply.sample.elapsed_ns = 1e18;
    change(reply.sample);
    return message_of([&] { sample_reply_from_json(sent(to_json(reply))); });
  };
  EXPECT_EQ(refused_sample([](Sample&) {}), "nothing was thrown");
  EXPECT_THAT(refused_sample([](Sample& sample) { sample.elapsed_ns = 1.1e18; }),
              HasSubstr("a time of 1.1e+18"));
  EXPECT_THAT(refused_sample([](Sample& sample) { sample.elapsed_ns = -1; }), HasSubstr("a time of -1"));
  EXPECT_THAT(refused_sample([](Sample& sample) { sample.noise.steal_ms = 2e18; }), HasSubstr("ms stolen"));
  EXPECT_THAT(refused_sample([](Sample& sample) { sample.device.temperature_c = -301; }), HasSubstr("°C"));
  EXPECT_THAT(refused_sample([](Sample& sample) { sample.columns = {1, 1e101}; }), HasSubstr("in a column"));
}

TEST(Protocol, WhatWasCountedComesBack) {
  const auto back = [](const CountReply& reply) { return count_reply_from_json(sent(to_json(reply))); };
  const WorkCounts some{.instructions = 12, .cache_misses = 0, .memory_bytes = 1e9, .share = 0.25};
  EXPECT_EQ(back({some, ""}).counts, some);
  EXPECT_EQ(back({{}, ""}).counts, WorkCounts{});
  EXPECT_EQ(back({{}, "taken"}).failure, "taken");
  const auto refused = [&](const WorkCounts& counts) { return message_of([&] { back({counts, ""}); }); };
  EXPECT_THAT(refused({.instructions = -1}), HasSubstr("counted -1 instructions"));
  EXPECT_THAT(refused({.memory_bytes = 1e101}), HasSubstr("counted 1e+101 bytes"));
  EXPECT_THAT(refused({.share = 1.5}), HasSubstr("in 1.5 of the time"));
  EXPECT_THROW(count_reply_from_json(Json::object()), Error);
  EXPECT_THROW(count_reply_from_json({{"counts", 5}}), Error);
}

TEST(Protocol, DescriptionsHaveBounds) {
  const Json one = to_json(ExperimentDescription{"e", "s", "", "cpu", {}, {"b"}, false});
  const auto refused = [](Json experiments) {
    return message_of([&] { descriptions_from_json({{"experiments", std::move(experiments)}}); });
  };
  const auto described = [&](int experiments) {
    Json list = Json::array();
    for (int i = 0; i < experiments; ++i) {
      list.push_back(one);
      list[list.size() - 1]["name"] = "e" + std::to_string(i);
    }
    return list;
  };
  EXPECT_EQ(refused(described(kMaxExperiments)), "nothing was thrown");
  EXPECT_THAT(refused(described(kMaxExperiments + 1)), HasSubstr("10001 experiments, more than 10000"));
  Json twice = Json::array();
  twice.push_back(one);
  twice.push_back(one);
  EXPECT_THAT(refused(twice), HasSubstr("'e' appears twice"));
  const auto with_axes = [&](const std::vector<std::pair<std::string, int>>& axes) {
    ExperimentDescription description{"e", "s", "", "cpu", {}, {"b"}, false};
    for (const auto& [name, values] : axes)
      description.axes.push_back({name, Axis::Kind::kText, std::vector<std::string>(values, "v")});
    return message_of([&] { description_from_json(to_json(description)); });
  };
  EXPECT_EQ(with_axes({{"a", 1000}, {"b", 1000}}), "nothing was thrown");
  EXPECT_THAT(with_axes({{"a", 1000}, {"b", 1001}}), HasSubstr("1e+06 points in all"));
  EXPECT_THAT(with_axes({{"a", 1}, {"a", 1}}), HasSubstr("'a' twice"));
}

TEST(Protocol, APrecisionThatIsNotKnownIsRefusedByName) {
  Json reply = to_json(PrepareReply{{}, CaseInfo{}});
  reply["info"]["sums_in"] = "fp4";
  EXPECT_THAT(
      message_of([&] { prepare_reply_from_json(reply); }),
      AllOf(HasSubstr("/info/sums_in"), HasSubstr("'fp4'"), HasSubstr("'bf16', 'f16', 'f32', 'f64'")));
}

TEST(Protocol, ABlasComesBackAndNoneIsNone) {
  const BlasLibrary blas{"OpenBLAS", "0.3.21", "/usr/lib/libopenblas.so.0"};
  EXPECT_EQ(blas_of_json(sent({{"blas", to_json(blas)}})), blas);
  EXPECT_EQ(blas_of_json(Json::object()), std::nullopt);
}

TEST(Protocol, OutcomesComeBackWithTheirReason) {
  for (const auto kind : {Outcome::Kind::kSkipped, Outcome::Kind::kFailed}) {
    const PrepareReply back = prepare_reply_from_json(sent(to_json(PrepareReply{{kind, "no AMX"}, {}})));
    EXPECT_EQ(back.outcome.kind, kind);
    EXPECT_EQ(back.outcome.reason, "no AMX");
  }
}

TEST(Protocol, SampleReplyComesBack) {
  for (int seed = 0; seed < kRuns; ++seed) {
    Generator make(seed);
    SampleReply reply;
    reply.sample = {make.some(), 1 + make.below(std::uint64_t{1} << 53), {}};
    reply.sample.noise.steal_ms = make.some();
    reply.sample.noise.involuntary_switches = static_cast<std::uint32_t>(make.any());
    reply.sample.noise.page_faults = static_cast<std::uint32_t>(make.any());
    reply.sample.noise.frequency_mhz = make.some();
    if (seed % 2 == 0) {
      reply.sample.device = {make.some(), make.some(), make.some(), make.some(),
                             static_cast<std::uint32_t>(make.any())};
    }
    const SampleReply back = sample_reply_from_json(sent(to_json(reply)));
    EXPECT_EQ(back.failure, "");
    EXPECT_EQ(std::tie(back.sample.elapsed_ns, back.sample.iterations, back.sample.noise.steal_ms),
              std::tie(reply.sample.elapsed_ns, reply.sample.iterations, reply.sample.noise.steal_ms));
    EXPECT_EQ(std::tie(back.sample.noise.involuntary_switches, back.sample.noise.page_faults),
              std::tie(reply.sample.noise.involuntary_switches, reply.sample.noise.page_faults));
    EXPECT_EQ(std::tie(back.sample.noise.frequency_mhz, back.sample.device),
              std::tie(reply.sample.noise.frequency_mhz, reply.sample.device));
  }
  EXPECT_EQ(sample_reply_from_json(sent(to_json(SampleReply{{}, "fell over"}))).failure, "fell over");
}

/// The decoder must name each member that is missing or has another type.
void expect_members_named(const Json& message, const std::function<void(const Json&)>& decode) {
  for (const auto& [key, value] : message.items()) {
    Json without = message, odd = message;
    without.erase(key);
    odd[key] = value.is_null() || value.is_array() ? Json(true) : Json::array({Json::array()});
    for (const Json& broken : {without, odd}) {
      try {
        decode(broken);
        ADD_FAILURE() << "accepted " << dump_json(broken);
      } catch (const Error& error) {
        EXPECT_THAT(error.what(), HasSubstr("/" + key));
      }
    }
  }
}

TEST(Protocol, ConclusionComesBack) {
  const Conclusion told{"",
                        {{"loss", "6.9"}},
                        {{"bucket 0 launched", "us", {1.5, 2}, {{"of", "it"}}, {{"bytes", 4096}}}},
                        "a wrong answer",
                        {"the signal mask"}};
  const Conclusion back = conclusion_from_json({{"released", 1}, {"conclusion", to_json(told)}});
  EXPECT_EQ(back.notes, told.notes);
  ASSERT_EQ(back.series.size(), 1U);
  EXPECT_EQ(back.series[0].name, "bucket 0 launched");
  EXPECT_EQ(back.series[0].values, told.series[0].values);
  EXPECT_EQ(back.series[0].info, told.series[0].info);
  EXPECT_EQ(back.series[0].numbers, told.series[0].numbers);
  EXPECT_EQ(back.wrong, "a wrong answer");
  EXPECT_THAT(back.changed, ElementsAre("the signal mask"));
  EXPECT_EQ(conclusion_from_json({{"conclusion", to_json(Conclusion{"boom"})}}).failure, "boom");
  EXPECT_TRUE(conclusion_from_json({{"released", 1}}).series.empty());
}

TEST(Protocol, DecodersNameTheMemberThatIsWrong) {
  expect_members_named(to_json(Hello{"native", "1", 1}), [](const Json& json) { hello_from_json(json); });
  const ExperimentDescription description{"e",        "s",  "m", "cpu", {{"D", Axis::Kind::kInteger, {"1"}}},
                                          {"native"}, false};
  expect_members_named(to_json(description), [](const Json& json) { description_from_json(json); });
  expect_members_named(to_json(description)["axes"][0], [&](const Json& axis) {
    Json json = to_json(description);
    json["axes"][0] = axis;
    description_from_json(json);
  });
  expect_members_named(to_json(CaseSpec{}), [](const Json& json) { case_spec_from_json(json); });
  const Json ready = to_json(PrepareReply{{}, {}});
  expect_members_named(ready, [](const Json& json) { prepare_reply_from_json(json); });
  expect_members_named(ready["info"], [&](const Json& info) {
    prepare_reply_from_json({{"outcome", "ready"}, {"info", info}});
  });
  const Json sampled = to_json(SampleReply{});
  expect_members_named(sampled, [](const Json& json) { sample_reply_from_json(json); });
  expect_members_named(sampled["noise"], [&](const Json& noise) {
    Json json = sampled;
    json["noise"] = noise;
    sample_reply_from_json(json);
  });
}

TEST(Protocol, NumbersThatDoNotFitAreRefused) {
  const auto refused = [](const char* key, const Json& value) {
    Json json = to_json(CaseSpec{});
    json[key] = value;
    EXPECT_THROW(case_spec_from_json(json), Error) << key << " = " << dump_json(value);
  };
  refused("threads", 0);
  refused("threads", 1.5);
  refused("threads", 1e300);
  refused("threads", std::int64_t{1} << 40);
  refused("seed", -1);
  refused("axes", "D=1");
  refused("axes", {{"D", 1}});
  refused("variant", 4);
  Json sample = to_json(SampleReply{});
  sample["iterations"] = 0;
  EXPECT_THROW(sample_reply_from_json(sample), Error);
  sample = to_json(SampleReply{});
  sample["elapsed_ns"] = parse_json(dump_json(std::numeric_limits<double>::quiet_NaN()), "nan");
  EXPECT_THROW(sample_reply_from_json(sample), Error);
}

TEST(Protocol, RunnersThatKnowNoVariantsAreUnderstood) {
  const Json old_description = to_json(ExperimentDescription{"e", "", "", "cpu", {}, {"native"}, false});
  EXPECT_FALSE(old_description.contains("variants"));
  EXPECT_TRUE(description_from_json(old_description).variants.empty());
  EXPECT_FALSE(to_json(CaseSpec{}).contains("variant")) << "an old runner is asked what it knows";
  Json json = old_description;
  json["variants"] = Json::array();
  EXPECT_THROW(description_from_json(json), Error);
  json["variants"] = {{"native", "4 rows"}};
  EXPECT_THROW(description_from_json(json), Error);
}

TEST(Protocol, WhatIsNotAnObjectIsRefused) {
  for (const Json& json : {Json(nullptr), Json(1), Json("x"), Json::array()}) {
    EXPECT_THROW(hello_from_json(json), Error);
    EXPECT_THROW(description_from_json(json), Error);
    EXPECT_THROW(case_spec_from_json(json), Error);
    EXPECT_THROW(prepare_reply_from_json(json), Error);
    EXPECT_THROW(sample_reply_from_json(json), Error);
  }
  EXPECT_THROW(prepare_reply_from_json({{"outcome", "odd"}, {"reason", ""}}), Error);
}

TEST(DeviceProtocol, EveryFieldComesBack) {
  const DeviceDescription device{"NVIDIA H200", "GPU-0c1b", "00000000:01:00.0",
                                 "580.95.05",   "13.0",     "9.0",
                                 1LL << 37,     60 << 20,   132,
                                 6144,          1980.5,     3201,
                                 700,           "on",       "off"};
  const Json sent = to_json(device);
  EXPECT_EQ(sent.size(), 15U);
  EXPECT_EQ(to_json(device_from_json(parse_json(dump_json(sent), "t"))), sent);
}

TEST(DeviceProtocol, WhatIsNotToldIsLeftOutAndWhatIsOfAnotherTypeIsNamed) {
  EXPECT_EQ(dump_json(to_json(DeviceDescription{})), "{}");
  EXPECT_EQ(device_from_json(Json::object()).memory_bytes, 0);
  const auto refusal = [](const char* text) {
    return test::message_of([&] { device_from_json(parse_json(text, "t")); });
  };
  EXPECT_THAT(refusal(R"({"name": 3})"), HasSubstr("/devices/name"));
  EXPECT_THAT(refusal(R"({"memory_bytes": -1})"), HasSubstr("/devices/memory_bytes"));
  EXPECT_THAT(refusal(R"({"max_sm_mhz": "fast"})"), HasSubstr("/devices/max_sm_mhz"));
  EXPECT_THAT(refusal("[]"), HasSubstr("/devices: expected an object"));
}

}  // namespace
}  // namespace headroom
