// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <gmock/gmock.h>
#include <linux/perf_event.h>
#include <sys/socket.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <new>
#include <thread>

#include "../error_message.h"
#include "headroom/base/json.h"
#include "headroom/experiment/process_counters.h"
#include "headroom/experiment/registry.h"
#include "headroom/experiment/state.h"
#include "headroom/process/channel.h"
#include "headroom/runner/protocol.h"
#include "headroom/runner/serve.h"

namespace headroom {
namespace {

using std::chrono::milliseconds;
using namespace testing;

struct Living {
  static inline std::atomic<int> count = 0;
  Living() { ++count; }
  ~Living() { --count; }
};

void behave(State& state) {
  const Living living;
  const std::string how = state.text("how");
  if (how == "throws") throw std::runtime_error("boom in prepare");
  if (how == "silent throw") throw std::runtime_error("");
  if (how == "throws a number") throw 7;
  if (how == "no memory") throw std::bad_alloc();
  if (how == "skips") state.skip("not today");
  if (how == "wrong") throw WrongAnswer{"wrong at 3"};
  if (how == "no measure") return;
  state.work({.flops = 8, .dtype = "f32"});
  int calls = 0;
  state.measure_batches([&](std::uint64_t iterations) -> double {
    ++calls;
    if (how == "throws in sample" && calls == 2) throw std::runtime_error("boom in sample");
    if (how == "silent throw in sample") throw std::runtime_error("");
    if (how == "no memory in sample") throw std::bad_alloc();
    return static_cast<double>(iterations) * 100 + calls;
  });
  if (how == "throws after") throw std::runtime_error("too late to matter");
  if (how == "measures again") state.measure([] {});
}

CaseSpec behaving(const std::string& how) {
  CaseSpec spec;
  spec.experiment = "behave";
  spec.axes = {{"how", how}};
  return spec;
}

Json prepare_request(int id, const std::string& how) {
  return {{"do", "prepare"}, {"case", id}, {"spec", to_json(behaving(how))}};
}

Json sample_request(int id, std::uint64_t iterations, const char* what = "sample", int lead_in = 0) {
  return {{"do", what}, {"case", id}, {"iterations", iterations}, {"lead_in", lead_in}};
}

Registry sample_registry() {
  Registry made;
  made.add("behave", behave).summary("as told").axis("how", {"well"});
  return made;
}

class Served : public testing::Test {
 protected:
  Served() : Served(Channel::pair()) {}
  explicit Served(std::pair<Channel, Channel> ends)
      : registry_(sample_registry()),
        ours_(std::move(ends.first)),
        runner_([this, theirs = std::move(ends.second)]() mutable {
          serve(std::move(theirs), registry_, "sample");
        }) {
    hello_ = hello_from_json(next());
  }
  ~Served() override {
    hang_up();
    if (runner_.joinable()) runner_.join();
    EXPECT_EQ(Living::count, 0);
  }

  Json next() {
    std::string line;
    EXPECT_EQ(ours_.read_line(line, std::chrono::milliseconds(10'000)), Channel::Status::kLine);
    return parse_json(line, "reply");
  }
  Json said(const std::string& line) {
    EXPECT_TRUE(ours_.write_line(line));
    return next();
  }
  Json ask(const Json& request) { return said(dump_json(request)); }
  Json prepare(int id, const std::string& how) { return ask(prepare_request(id, how)); }
  Json sample(int id, std::uint64_t iterations) { return ask(sample_request(id, iterations)); }
  bool has_ended() {
    std::string line;
    return ours_.read_line(line, std::chrono::milliseconds(10'000)) == Channel::Status::kClosed;
  }
  void hang_up() { ours_ = Channel(-1); }
  std::string error_of(const std::string& line) { return json_string(said(line), "error", "reply"); }

  Registry registry_;
  Channel ours_;
  Hello hello_;
  std::thread runner_;
};

TEST_F(Served, GreetsAndDescribes) {
  EXPECT_EQ(hello_.name, "sample");
  EXPECT_EQ(hello_.protocol, kProtocolVersion);
  const Json reply = ask({{"do", "describe"}});
  ASSERT_EQ(reply.at("experiments").size(), 1U);
  EXPECT_EQ(description_from_json(reply.at("experiments")[0]).summary, "as told");
}

TEST(Conversation, RunsWorkOfCasesOnTheServingThread) {
  const std::thread::id own = std::this_thread::get_id();
  int here = 0;
  const auto look = [&] { here += std::this_thread::get_id() == own; };
  Registry registry;
  registry.add("here", [&](State& state) {
    EXPECT_NE(std::this_thread::get_id(), own);
    state.on_server(look);
    EXPECT_THROW(state.on_server([] { throw std::out_of_range("told"); }), std::out_of_range);
    state.measure_batches_on_server([&](std::uint64_t iterations) {
      look();
      if (iterations == 7) throw std::runtime_error("boom");
      return 1.0;
    });
    state.on_server(look);  // released
  });
  RegistryServer server(registry);
  const Json spec = to_json(CaseSpec{"here", {}});
  for (const int id : {1, 2}) server.answer({{"do", "prepare"}, {"case", id}, {"spec", spec}});
  EXPECT_EQ(here, 2);
  const auto sample = [&](int id, int iterations) {
    return dump_json(server.answer(sample_request(id, iterations)));
  };
  sample(2, 1);
  sample(1, 1);
  EXPECT_EQ(here, 4);
  server.answer({{"do", "release"}, {"case", 1}, {"conclude", true}});
  EXPECT_EQ(here, 5);
  EXPECT_THAT(sample(2, 7), HasSubstr("boom"));
  EXPECT_EQ(here, 6);
}

TEST(Conversation, LooksUpWhileItWaitsAndWithholdsReplies) {
  auto [ours, theirs] = Channel::pair();
  Registry registry = sample_registry();
  std::atomic<int> looks = 0, asked = 0;
  std::thread runner([&, channel = std::move(theirs)]() mutable {
    serve_connection(std::move(channel), registry, "sample", {},
                     {[&] { ++looks; }, [&] { return ++asked > 1; }});
  });
  std::string line;
  ASSERT_EQ(ours.read_line(line, milliseconds(10'000)), Channel::Status::kLine);
  while (looks == 0) std::this_thread::sleep_for(milliseconds(10));
  ASSERT_TRUE(ours.write_line(R"({"do":"describe","id":1})"));
  ASSERT_TRUE(ours.write_line(R"({"do":"describe","id":2})"));
  ASSERT_EQ(ours.read_line(line, milliseconds(10'000)), Channel::Status::kLine);
  EXPECT_EQ(parse_json(line, "reply").at("id"), 2);
  ours = Channel(-1);
  runner.join();
}

TEST_F(Served, TellsOfDevicesWhereItHasAny) {
  EXPECT_FALSE(ask({{"do", "describe"}}).contains("devices"));
  registry_.describe_devices_with([] {
    std::vector<DeviceDescription> devices(2);
    devices[1].name = "NVIDIA H200";
    return devices;
  });
  const Json reply = ask({{"do", "describe"}});
  ASSERT_EQ(reply.at("devices").size(), 2U);
  EXPECT_EQ(reply.at("devices")[1].at("name"), "NVIDIA H200");
}

TEST_F(Served, PreparesSamplesAndReleasesSeveralCases) {
  EXPECT_EQ(prepare_reply_from_json(prepare(1, "well")).info.work.flops, 8);
  prepare(2, "well");
  EXPECT_EQ(sample_reply_from_json(sample(1, 4)).sample.elapsed_ns, 401);
  EXPECT_EQ(sample_reply_from_json(sample(2, 7)).sample.elapsed_ns, 701);
  EXPECT_EQ(sample_reply_from_json(sample(1, 4)).sample.elapsed_ns, 402);
  EXPECT_EQ(ask({{"do", "release"}, {"case", 1}}).at("released"), 1);
  EXPECT_EQ(Living::count, 1);
  EXPECT_THAT(json_string(sample(1, 1), "error", ""), HasSubstr("not prepared"));
  EXPECT_EQ(sample_reply_from_json(sample(2, 1)).sample.elapsed_ns, 102);
}

TEST_F(Served, PreparingANumberAgainReplacesItsCase) {
  prepare(1, "well");
  sample(1, 1);
  prepare(1, "well");
  EXPECT_EQ(Living::count, 1);
  EXPECT_EQ(sample_reply_from_json(sample(1, 1)).sample.elapsed_ns, 101);
}

TEST_F(Served, TellsHowACaseFailed) {
  EXPECT_EQ(prepare_reply_from_json(prepare(1, "skips")).outcome.kind, Outcome::Kind::kSkipped);
  EXPECT_EQ(prepare_reply_from_json(prepare(2, "throws")).outcome.reason, "boom in prepare");
  EXPECT_THAT(json_string(sample(2, 1), "error", ""), HasSubstr("not prepared"));
  prepare(3, "throws in sample");
  sample(3, 1);
  EXPECT_EQ(sample_reply_from_json(sample(3, 1)).failure, "boom in sample");
}

TEST_F(Served, AnswersWhatItDoesNotUnderstandAndGoesOn) {
  EXPECT_THAT(error_of("{nonsense"), HasSubstr("not JSON"));
  EXPECT_THAT(error_of("[1]"), HasSubstr("expected an object"));
  EXPECT_THAT(error_of("{}"), HasSubstr("request/do"));
  EXPECT_THAT(error_of(R"({"do": 3})"), Not(""));
  EXPECT_THAT(error_of(R"({"do": "dance"})"), HasSubstr("unknown request 'dance'"));
  EXPECT_THAT(error_of(R"({"do": "prepare", "case": 1})"), HasSubstr("spec"));
  EXPECT_THAT(error_of(R"({"do": "sample", "case": 9, "iterations": 1, "lead_in": 0})"),
              HasSubstr("not prepared"));
  CaseSpec unknown = behaving("well");
  unknown.experiment = "missing";
  EXPECT_THAT(error_of(dump_json({{"do", "prepare"}, {"case", 1}, {"spec", to_json(unknown)}})),
              HasSubstr("no experiment 'missing'"));
  prepare(1, "well");
  for (const char* iterations : {"0", "-1", "1.5", "1e30", "\"x\"", "null"}) {
    EXPECT_THAT(error_of(std::string(R"({"do": "sample", "case": 1, "lead_in": 0, "iterations": )") +
                         iterations + "}"),
                HasSubstr("iterations"));
  }
  EXPECT_EQ(sample_reply_from_json(sample(1, 1)).sample.elapsed_ns, 101);
}

TEST_F(Served, ARunnerThatCannotTraceSaysSo) {
  EXPECT_FALSE(hello_.traces);
  prepare(1, "well");
  EXPECT_THAT(json_string(ask({{"do", "trace"}, {"case", 1}, {"file", "/x.json"}}), "untraced", ""),
              HasSubstr("cannot record"));
  EXPECT_EQ(sample_reply_from_json(sample(1, 1)).sample.elapsed_ns, 101);
}

std::vector<Json> conversation(Registry& registry, const std::vector<std::string>& arguments,
                               const std::vector<Json>& requests) {
  auto [ours, theirs] = Channel::pair();
  std::thread runner([&registry, &arguments, channel = std::move(theirs)]() mutable {
    serve(std::move(channel), registry, "sample", arguments);
  });
  std::vector<Json> replies;
  std::string line;
  while (ours.read_line(line, milliseconds(10'000)) == Channel::Status::kLine) {
    replies.push_back(parse_json(line, "reply"));
    if (replies.size() > requests.size()) break;
    ours.write_line(dump_json(requests[replies.size() - 1]));
  }
  ours = Channel(-1);
  runner.join();
  return replies;
}

TEST(ServeTraces, OneCallIsRecordedAndTheCaseGoesOn) {
  Registry registry = sample_registry();
  std::vector<std::string> recorded;
  registry.trace_with([&](const std::string& file, const std::function<void()>& run) {
    if (file == "/full/disk") throw Error("no space left");
    run();
    recorded.push_back(file);
  });
  const auto trace = [](int id, const char* file) {
    return Json{{"do", "trace"}, {"case", id}, {"file", file}};
  };
  const auto said = conversation(registry, {},
                                 {prepare_request(1, "well"), trace(1, "/a.json"), trace(1, "/full/disk"),
                                  sample_request(1, 1), trace(2, "/b.json")});
  ASSERT_EQ(said.size(), 6U);
  EXPECT_TRUE(hello_from_json(said[0]).traces);
  EXPECT_EQ(said[2].at("traced"), "/a.json");
  EXPECT_EQ(said[3].at("untraced"), "no space left");
  EXPECT_EQ(sample_reply_from_json(said[4]).sample.elapsed_ns, 102) << "the second call: one was recorded";
  EXPECT_THAT(json_string(said[5], "error", ""), HasSubstr("not prepared"));
  EXPECT_THAT(recorded, ElementsAre("/a.json"));
}

TEST(ServeTraces, ACallThatThrowsWhileItIsRecordedIsNotRecorded) {
  Registry registry = sample_registry();
  bool written = false;
  registry.trace_with([&](const std::string&, const std::function<void()>& run) {
    run();
    written = true;
  });
  const auto said = conversation(registry, {},
                                 {prepare_request(1, "throws in sample"),
                                  sample_request(1, 1),
                                  {{"do", "trace"}, {"case", 1}, {"file", "/a.json"}}});
  ASSERT_EQ(said.size(), 4U);
  EXPECT_EQ(said[3].at("untraced"), "boom in sample");
  EXPECT_FALSE(written);
}

constexpr std::array<CounterEvent, 3> kSoftware{{
    {"task_clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK},
    {"page_faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS},
    {"context_switches", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES},
}};

TEST(ServeCounts, IterationsOfACaseAreCountedOnItsOwnThreadAndItGoesOn) {
  const ProcessCounters counters(linux_counters(), kSoftware, {});
  if (!counters.any()) GTEST_SKIP() << "the kernel counts nothing here: " << counters.text();
  Registry registry = sample_registry();
  std::uint64_t calls = 0;
  registry.add("spin", [&](State& state) {
    state.measure([&] {
      ++calls;
      const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(200);
      while (std::chrono::steady_clock::now() < end) {
      }
    });
  });
  RegistryServer server(registry, counters);
  CaseSpec spec;
  spec.experiment = "spin";
  server.answer({{"do", "prepare"}, {"case", 1}, {"spec", to_json(spec)}});
  const CountReply counted = count_reply_from_json(server.answer(sample_request(1, 10, "count", 2)));
  EXPECT_EQ(counted.failure, "");
  EXPECT_EQ(calls, 12U) << "the lead-in comes first";
  ASSERT_TRUE(counted.counts.instructions);
  // CPU time, which excludes other processes.
  EXPECT_GT(*counted.counts.instructions, 0.2e6) << "ns of task clock";
  EXPECT_LT(*counted.counts.instructions, 100e6);
  EXPECT_GT(sample_reply_from_json(server.answer(sample_request(1, 1))).sample.elapsed_ns, 2e5);
}

TEST(ServeCounts, WhatCannotBeCountedIsSaid) {
  Registry registry = sample_registry();
  RegistryServer server(registry, ProcessCounters(linux_counters(), {}, {}));
  EXPECT_FALSE(server.counts());
  server.answer(prepare_request(1, "throws in sample"));
  EXPECT_EQ(count_reply_from_json(server.answer(sample_request(1, 1, "count", 1))).failure, "boom in sample");
  EXPECT_THROW(server.answer(sample_request(1, 0, "count")), Error);
  EXPECT_THROW(server.answer(sample_request(9, 1, "count")), Error);
}

TEST(ServeArguments, AreTakenBeforeTheGreeting) {
  Registry registry = sample_registry();
  registry.take_arguments_with([](Registry& to, const std::vector<std::string>& arguments) {
    to.add(arguments.at(0), [](State& state) { state.measure([] {}); });
  });
  const auto said = conversation(registry, {"more"}, {{{"do", "describe"}}});
  ASSERT_EQ(said.size(), 2U);
  EXPECT_EQ(said[1].at("experiments").size(), 2U);
}

TEST(ServeArguments, WhatCannotBeTakenIsSaidInPlaceOfTheGreeting) {
  Registry none = sample_registry();
  auto said = conversation(none, {"--module", "x.pt"}, {});
  ASSERT_EQ(said.size(), 1U);
  EXPECT_THAT(json_string(said[0], "error", ""),
              AllOf(HasSubstr("no arguments"), HasSubstr("--module x.pt")));
  Registry refusing = sample_registry();
  refusing.take_arguments_with(
      [](Registry&, const std::vector<std::string>&) { throw Error("x.pt is broken"); });
  said = conversation(refusing, {"--module", "x.pt"}, {});
  ASSERT_EQ(said.size(), 1U);
  EXPECT_EQ(json_string(said[0], "error", ""), "x.pt is broken");
}

TEST_F(Served, EndsWhenToldTo) {
  prepare(1, "well");
  EXPECT_TRUE(ours_.write_line(R"({"do": "quit"})"));
  runner_.join();
  EXPECT_TRUE(has_ended());
}

TEST_F(Served, EndsWhenTheOtherSideIsGone) {
  prepare(1, "well");
  hang_up();
  runner_.join();
  EXPECT_EQ(Living::count, 0);
}

std::string inherited_error(const char* value) {
  setenv(kSocketVariable, value, 1);
  const std::string text = test::message_of([] { inherited_channel(); });
  unsetenv(kSocketVariable);
  return text;
}

TEST(InheritedChannel, IsTakenOutOfTheEnvironment) {
  unsetenv(kSocketVariable);
  EXPECT_FALSE(inherited_channel());
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  Channel other(ends[1]);
  setenv(kSocketVariable, std::to_string(ends[0]).c_str(), 1);
  auto channel = inherited_channel();
  ASSERT_TRUE(channel);
  EXPECT_EQ(getenv(kSocketVariable), nullptr);
  EXPECT_NE(fcntl(channel->fd(), F_GETFD) & FD_CLOEXEC, 0);
  ASSERT_TRUE(channel->write_line("here"));
  std::string line;
  EXPECT_EQ(other.read_line(line, milliseconds(1000)), Channel::Status::kLine);
  EXPECT_EQ(line, "here");
}

TEST(InheritedChannel, WhatIsNotADescriptorIsRefusedByName) {
  for (const char* value : {"", "x", "-1", "987", "4294967296", "3 "}) {
    EXPECT_THAT(inherited_error(value), AllOf(HasSubstr("HEADROOM_FD="), HasSubstr("unset it"))) << value;
  }
}

TEST_F(Served, EndsWhereAFailureLeavesTheProcessLost) {
  bool is_lost = false;
  registry_.end_where_lost_with([&] { return is_lost ? "the device is gone" : ""; });
  prepare(1, "throws in sample");
  prepare(2, "well");
  sample(1, 1);
  EXPECT_EQ(sample_reply_from_json(sample(1, 1)).failure, "boom in sample") << "what the process survives";
  is_lost = true;
  EXPECT_TRUE(sample_reply_from_json(sample(2, 1)).failure.empty()) << "asked after failures only";
  prepare(3, "skips");
  EXPECT_THAT(json_string(sample(1, 1), "error", ""),
              AllOf(HasSubstr("boom in sample"), HasSubstr("is gone")));
  EXPECT_TRUE(has_ended());
}

TEST_F(Served, EndsWhereACaseIsLostInPreparing) {
  registry_.end_where_lost_with([] { return "the device is gone"; });
  EXPECT_THAT(json_string(prepare(1, "throws"), "error", ""),
              AllOf(HasSubstr("boom in prepare"), HasSubstr("is gone")));
  EXPECT_TRUE(has_ended());
}

class CaseThreads : public testing::Test {
 protected:
  std::unique_ptr<CaseThread> started(const std::string& how) {
    return std::make_unique<CaseThread>(experiment, behaving(how), shared);
  }
  ~CaseThreads() override { EXPECT_EQ(Living::count, 0) << "a case outlived its thread"; }

  Experiment experiment{"behave", behave};
  SharedObjects shared;
};

TEST_F(CaseThreads, SamplesComeFromTheExperiment) {
  const auto one = started("well");
  EXPECT_EQ(one->prepared().outcome.kind, Outcome::Kind::kMeasured);
  EXPECT_EQ(one->prepared().info.work.flops, 8);
  EXPECT_EQ(one->sample({3, 0}).sample.elapsed_ns, 301);
  const SampleReply second = one->sample({5, 0});
  EXPECT_EQ(second.sample.elapsed_ns, 502);
  EXPECT_EQ(second.sample.iterations, 5U);
}

TEST_F(CaseThreads, SayTheirLastWordsWhereTheyAreAskedForThem) {
  bool asked = false;
  const Experiment tells("tells", [&](State& state) {
    state.note("early", "1");
    int samples = 0;
    state.measure([&] { ++samples; });
    asked = state.is_concluding();
    if (!asked) return;
    state.note("samples", std::to_string(samples));
    state.series({"depth", "1", {1, 2}, {{"of", "it"}}});
    if (samples > 1) state.wrong_answer("too many");
  });
  const auto concluded = [&](int samples) {
    CaseThread made(tells, behaving("well"), shared);
    EXPECT_EQ(made.prepared().info.notes.count("early"), 1U);
    for (int i = 0; i < samples; ++i) made.sample({1, 0});
    return made.conclude();
  };
  const Conclusion told = concluded(1);
  EXPECT_EQ(told.failure, "");
  EXPECT_EQ(told.notes, (StringMap{{"samples", "1"}}));
  ASSERT_EQ(told.series.size(), 1U);
  EXPECT_EQ(told.series[0].info.at("of"), "it");
  EXPECT_EQ(concluded(2).failure, "too many");
  { CaseThread released(tells, behaving("well"), shared); }
  EXPECT_FALSE(asked);
}

TEST_F(CaseThreads, AreInterleaved) {
  std::vector<std::unique_ptr<CaseThread>> cases;
  for (int i = 0; i < 5; ++i) cases.push_back(started("well"));
  EXPECT_EQ(Living::count, 5);
  for (int round = 1; round <= 20; ++round) {
    for (std::size_t i = 0; i < cases.size(); ++i) {
      const std::size_t which = (i * 3 + static_cast<std::size_t>(round)) % cases.size();
      EXPECT_EQ(cases[which]->sample({which + 1, 0}).sample.elapsed_ns,
                static_cast<double>(which + 1) * 100 + round);
    }
  }
  cases.erase(cases.begin() + 2);
  EXPECT_EQ(Living::count, 4);
  EXPECT_EQ(cases[2]->sample({1, 0}).sample.elapsed_ns, 121);
}

TEST_F(CaseThreads, WhatHappensInPreparingIsTheOutcome) {
  struct Expected {
    const char* how;
    Outcome::Kind kind;
    const char* reason;
  };
  for (const Expected& expected : std::initializer_list<Expected>{
           {"throws", Outcome::Kind::kFailed, "boom in prepare"},
           {"silent throw", Outcome::Kind::kFailed, "threw an exception without a message"},
           {"throws a number", Outcome::Kind::kFailed, "threw something that is not a std::exception"},
           {"no memory", Outcome::Kind::kFailed, "out of memory"},
           {"skips", Outcome::Kind::kSkipped, "not today"},
           {"wrong", Outcome::Kind::kFailed, "wrong at 3"},
           {"no measure", Outcome::Kind::kFailed, "the experiment never called measure()"}}) {
    const auto one = started(expected.how);
    EXPECT_EQ(one->prepared().outcome.kind, expected.kind) << expected.how;
    EXPECT_EQ(one->prepared().outcome.reason, expected.reason);
    EXPECT_EQ(one->sample({1, 0}).failure, expected.reason);
  }
}

TEST_F(CaseThreads, AnExceptionInASampleFailsItAndAllLaterOnes) {
  const auto one = started("throws in sample");
  EXPECT_EQ(one->sample({1, 0}).failure, "");
  EXPECT_EQ(one->sample({1, 0}).failure, "boom in sample");
  EXPECT_EQ(one->sample({1, 0}).failure, "boom in sample");
  EXPECT_EQ(one->prepared().outcome.kind, Outcome::Kind::kMeasured);
}

TEST_F(CaseThreads, AFailureNeverReadsAsASample) {
  EXPECT_EQ(started("silent throw in sample")->sample({1, 0}).failure,
            "threw an exception without a message");
  EXPECT_EQ(started("no memory in sample")->sample({1, 0}).failure, "out of memory");
}

TEST_F(CaseThreads, AreReleasedWhileTheyWait) {
  started("well");
  EXPECT_EQ(Living::count, 0);
  const auto sampled = started("well");
  sampled->sample({1, 0});
}

TEST_F(CaseThreads, WhatThrowsAfterTheReleaseEndsQuietly) {
  started("throws after");
  started("measures again");
}

TEST_F(CaseThreads, ShareObjectsOneAfterTheOther) {
  Experiment sharing{"sharing", [](State& state) {
                       const auto pool = state.shared<int>("pool", [] { return std::make_shared<int>(0); });
                       const int before = ++*pool;
                       state.value("users", before, "1", Direction::kHigherIsBetter);
                       state.measure([&] { ++*pool; });
                     }};
  const CaseThread first(sharing, {}, shared);
  CaseThread second(sharing, {}, shared);
  EXPECT_EQ(second.prepared().info.metrics.at(0).amount, 2);
  EXPECT_EQ(second.sample({3, 0}).failure, "");
  const CaseThread third(sharing, {}, shared);
  EXPECT_EQ(third.prepared().info.metrics.at(0).amount, 6);
}

}  // namespace
}  // namespace headroom
